//! Values that a tool returned → JSON text, written once and in full.

use base64::Engine as _;
use serde_json::ser::{CompactFormatter, Formatter};
use wasmtime::component::Val;

use super::shape::{Field, Kind, Shape};

/// A value as JSON, and what of it JSON could not say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lifted {
    pub(crate) json: String,
    pub(crate) notes: Vec<String>,
}

/// The JSON of a value is longer than the output limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Writes a value of the shape as JSON of at most `limit` bytes.
///
/// # Errors
/// [`TooLarge`] as soon as the text passes the limit.
pub(crate) fn lift(shape: &Shape, value: &Val, limit: u64) -> Result<Lifted, TooLarge> {
    let mut writer = Writer {
        out: Vec::new(),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        not_finite: 0,
        repeated_keys: 0,
    };
    writer.value(shape, value)?;
    let mut notes = Vec::new();
    if writer.not_finite > 0 {
        notes.push(format!("{} of its numbers were not finite and are null", writer.not_finite));
    }
    if writer.repeated_keys > 0 {
        notes.push(format!("{} of its map keys were repeated; the last value of each is kept", writer.repeated_keys));
    }
    Ok(Lifted { json: text(writer.out), notes })
}

/// Writes arguments as the JSON object that they are for the tool.
pub(crate) fn lift_arguments(params: &[Field], values: &[Val]) -> String {
    let names = params.iter().map(|param| param.name.clone());
    let values: Vec<(String, Val)> = names.zip(values.iter().cloned()).collect();
    let mut writer = Writer { out: Vec::new(), limit: usize::MAX, not_finite: 0, repeated_keys: 0 };
    // Without a limit nothing is too large.
    let _ = writer.record(params, &values);
    text(writer.out)
}

/// What a writer wrote, which is text.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

struct Writer {
    out: Vec<u8>,
    limit: usize,
    not_finite: usize,
    repeated_keys: usize,
}

type Written = Result<(), TooLarge>;

impl Writer {
    fn value(&mut self, shape: &Shape, value: &Val) -> Written {
        match (&shape.kind, value) {
            (Kind::Option(inner), Val::Option(Some(value))) if inner.is_nullable() => {
                self.single("some", |w| w.value(inner, value))
            }
            (Kind::Option(inner), Val::Option(Some(value))) => self.value(inner, value),
            (Kind::Result(ok, _), Val::Result(Ok(value))) => {
                self.single("ok", |w| w.payload(ok.as_deref(), value.as_deref()))
            }
            (Kind::Result(_, err), Val::Result(Err(value))) => {
                self.single("err", |w| w.payload(err.as_deref(), value.as_deref()))
            }
            (Kind::Variant(cases), Val::Variant(name, value)) => match cases.iter().find(|case| case.name == *name) {
                Some(case) if case.payload.is_some() => {
                    self.single(name, |w| w.payload(case.payload.as_ref(), value.as_deref()))
                }
                _ => self.string(name),
            },
            (Kind::Record(fields), Val::Record(values)) => self.record(fields, values),
            (Kind::Map(key, value), Val::Map(pairs)) => self.map(key, value, pairs),
            (Kind::Bytes, Val::List(values)) => {
                let bytes: Vec<u8> =
                    values.iter().map(|value| if let Val::U8(byte) = value { *byte } else { 0 }).collect();
                self.string(&base64::engine::general_purpose::STANDARD.encode(bytes))
            }
            (Kind::List(element) | Kind::FixedList(element, _), Val::List(values) | Val::FixedLengthList(values)) => {
                self.array(values, |w, value| w.value(element, value))
            }
            (Kind::Tuple(shapes), Val::Tuple(values)) => {
                let mut shapes = shapes.iter();
                self.array(values, |w, value| match shapes.next() {
                    Some(shape) => w.value(shape, value),
                    None => w.push(b"null"),
                })
            }
            (_, Val::Flags(names)) => self.array(names, |w, name| w.string(name)),
            (_, value) => self.scalar(value),
        }
    }

    fn scalar(&mut self, value: &Val) -> Written {
        match value {
            Val::Bool(value) => self.push(if *value { b"true" } else { b"false" }),
            Val::U8(value) => self.push(value.to_string().as_bytes()),
            Val::U16(value) => self.push(value.to_string().as_bytes()),
            Val::U32(value) => self.push(value.to_string().as_bytes()),
            Val::U64(value) => self.push(value.to_string().as_bytes()),
            Val::S8(value) => self.push(value.to_string().as_bytes()),
            Val::S16(value) => self.push(value.to_string().as_bytes()),
            Val::S32(value) => self.push(value.to_string().as_bytes()),
            Val::S64(value) => self.push(value.to_string().as_bytes()),
            Val::Float32(value) => self.float(value.is_finite(), |out| CompactFormatter.write_f32(out, *value)),
            Val::Float64(value) => self.float(value.is_finite(), |out| CompactFormatter.write_f64(out, *value)),
            Val::Char(value) => self.string(value.encode_utf8(&mut [0; 4])),
            Val::String(value) | Val::Enum(value) => self.string(value),
            // Nothing else has a shape: resources, streams and the like are refused at load.
            _ => self.push(b"null"),
        }
    }

    fn float(&mut self, finite: bool, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Written {
        if !finite || write(&mut self.out).is_err() {
            self.not_finite += 1;
            return self.push(b"null");
        }
        self.check()
    }

    fn record(&mut self, fields: &[Field], values: &[(String, Val)]) -> Written {
        self.push(b"{")?;
        for (index, (field, (_, value))) in fields.iter().zip(values).enumerate() {
            if index > 0 {
                self.push(b",")?;
            }
            self.string(&field.name)?;
            self.push(b":")?;
            self.value(&field.shape, value)?;
        }
        self.push(b"}")
    }

    fn map(&mut self, key: &Shape, value: &Shape, pairs: &[(Val, Val)]) -> Written {
        // The last of repeated keys wins; it is written at the place of the first.
        let mut places = std::collections::HashMap::new();
        let mut kept: Vec<&(Val, Val)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match places.entry(scalar_key(&pair.0)) {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(kept.len());
                    kept.push(pair);
                }
                std::collections::hash_map::Entry::Occupied(entry) => {
                    kept[*entry.get()] = pair;
                    self.repeated_keys += 1;
                }
            }
        }
        if !matches!(key.kind, Kind::String) {
            return self.array(&kept, |w, pair| {
                w.push(b"[")?;
                w.value(key, &pair.0)?;
                w.push(b",")?;
                w.value(value, &pair.1)?;
                w.push(b"]")
            });
        }
        self.push(b"{")?;
        for (index, pair) in kept.iter().enumerate() {
            if index > 0 {
                self.push(b",")?;
            }
            self.value(key, &pair.0)?;
            self.push(b":")?;
            self.value(value, &pair.1)?;
        }
        self.push(b"}")
    }

    fn payload(&mut self, shape: Option<&Shape>, value: Option<&Val>) -> Written {
        match (shape, value) {
            (Some(shape), Some(value)) => self.value(shape, value),
            _ => self.push(b"null"),
        }
    }

    fn single(&mut self, key: &str, write: impl FnOnce(&mut Self) -> Written) -> Written {
        self.push(b"{")?;
        self.string(key)?;
        self.push(b":")?;
        write(self)?;
        self.push(b"}")
    }

    fn array<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T) -> Written) -> Written {
        self.push(b"[")?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(b",")?;
            }
            write(self, item)?;
        }
        self.push(b"]")
    }

    fn string(&mut self, text: &str) -> Written {
        if self.out.len() + text.len() > self.limit {
            return Err(TooLarge);
        }
        // Writing to memory does not fail, and a string is always JSON.
        serde_json::to_writer(&mut self.out, text).map_err(|_| TooLarge)?;
        self.check()
    }

    fn push(&mut self, bytes: &[u8]) -> Written {
        self.out.extend_from_slice(bytes);
        self.check()
    }

    fn check(&self) -> Written {
        if self.out.len() > self.limit { Err(TooLarge) } else { Ok(()) }
    }
}

/// A map's key as text that tells it from every other of its type; WIT allows scalars only.
pub(super) fn scalar_key(key: &Val) -> String {
    match key {
        Val::String(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
