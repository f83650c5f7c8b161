//! Arguments as JSON text → values of the tool's types: one pass that is both the check and the conversion.

use std::collections::HashSet;
use std::fmt;

use base64::Engine as _;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::lift::scalar_key;
use super::number::{MAX_NUMBER_CHARS, NotAnInteger, integer};
use super::shape::{Case, Field, Int, Kind, Label, Shape};

/// The most faults of one call that are told; a model that sent more will not get further by reading them.
const MAX_FAULTS: usize = 20;
/// What is quoted of a model's text in a fault, in characters.
const MAX_QUOTE: usize = 200;
/// The most names that a fault offers.
const MAX_NAMES: usize = 20;

/// One thing that is wrong with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// A JSON pointer (RFC 6901) into the arguments; empty for the arguments as a whole.
    pub(crate) pointer: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "arguments: {}", self.message)?,
            pointer => write!(f, "{pointer}: {}", self.message)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Reads the arguments of a call as the values of its parameters, in order.
///
/// # Errors
/// Everything that is wrong with them, at least one and at most twenty faults.
pub(crate) fn lower(params: &[Field], text: &str) -> Result<Vec<Val>, Vec<Fault>> {
    let mut cx = Cx::default();
    let mut values = Vec::with_capacity(params.len());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = ParamsSeed { params, values: &mut values, cx: &mut cx };
    let read = seed.deserialize(&mut deserializer).and_then(|()| {
        cx.path.clear();
        deserializer.end()
    });
    if let Err(error) = read {
        cx.unreadable(text, &error);
    }
    if cx.faults.is_empty() { Ok(values) } else { Err(cx.faults) }
}

/// Where the reader is, and what it has found wrong so far.
#[derive(Default)]
struct Cx {
    path: Vec<Step>,
    faults: Vec<Fault>,
}

enum Step {
    Name(String),
    Index(usize),
}

impl Cx {
    /// Notes a fault at the current place. Reading goes on with a value that is never used.
    fn fault(&mut self, message: impl Into<String>, hint: Option<String>) -> Val {
        if self.faults.len() < MAX_FAULTS {
            let pointer = self.pointer();
            self.faults.push(Fault { pointer, message: message.into(), hint });
        }
        Val::Bool(false)
    }

    fn expected(&mut self, what: impl fmt::Display, got: impl fmt::Display) -> Val {
        self.fault(format!("expected {what}, got {got}"), None)
    }

    fn unreadable(&mut self, text: &str, error: &serde_json::Error) {
        if !self.faults.is_empty() && !error.is_syntax() && !error.is_eof() {
            return;
        }
        let message = if text.trim().is_empty() {
            "expected a JSON object, got nothing".to_owned()
        } else {
            format!("not readable as JSON: {error}")
        };
        self.fault(message, Some("send the arguments as one JSON object".to_owned()));
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Name(name) => pointer.push_str(&quotable(name).replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// Reads at a step further in. The step is left only after a success, so that an error keeps its place.
    fn within<T, E>(&mut self, step: Step, read: impl FnOnce(&mut Cx) -> Result<T, E>) -> Result<T, E> {
        self.path.push(step);
        let value = read(self)?;
        self.path.pop();
        Ok(value)
    }

    /// Reading ends early once there are more faults than anyone reads.
    fn enough(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }
}

/// The arguments as a whole: an object with a key for each parameter.
struct ParamsSeed<'a> {
    params: &'a [Field],
    values: &'a mut Vec<Val>,
    cx: &'a mut Cx,
}

impl<'de> DeserializeSeed<'de> for ParamsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let wanted = Wanted::Fields(self.params);
        let read = deserializer.deserialize_any(ShapeVisitor { wanted, cx: self.cx })?;
        if let Val::Record(fields) = read {
            self.values.extend(fields.into_iter().map(|(_, value)| value));
        }
        Ok(())
    }
}

/// One value of a known type.
struct ShapeSeed<'a> {
    shape: &'a Shape,
    cx: &'a mut Cx,
}

impl<'de> DeserializeSeed<'de> for ShapeSeed<'_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        let ShapeSeed { shape, cx } = self;
        match &shape.kind {
            // Numbers are read from their text: a float in between would lose digits.
            Kind::Int(int) => {
                let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?;
                Ok(read_integer(*int, raw.get(), cx))
            }
            Kind::F32 | Kind::F64 => {
                let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?;
                Ok(read_float(&shape.kind, raw.get(), cx))
            }
            Kind::Option(inner) => deserializer.deserialize_option(OptionVisitor { inner, cx }),
            _ => deserializer.deserialize_any(ShapeVisitor { wanted: Wanted::Shape(shape), cx }),
        }
    }
}

fn read_integer(int: Int, text: &str, cx: &mut Cx) -> Val {
    let (min, max) = int.range();
    let what = format!("an integer from {min} to {max}");
    let Some(number) = number_text(&what, text, cx) else {
        return Val::Bool(false);
    };
    let value = match integer(number, (min, max)) {
        Ok(value) => value,
        Err(NotAnInteger::Fractional | NotAnInteger::OutOfRange) => {
            return cx.expected(what, quotable(number));
        }
    };
    // The range was checked, so that each of these casts keeps the value.
    match int {
        Int::U8 => Val::U8(value as u8),
        Int::U16 => Val::U16(value as u16),
        Int::U32 => Val::U32(value as u32),
        Int::U64 => Val::U64(value as u64),
        Int::S8 => Val::S8(value as i8),
        Int::S16 => Val::S16(value as i16),
        Int::S32 => Val::S32(value as i32),
        Int::S64 => Val::S64(value as i64),
    }
}

fn read_float(kind: &Kind, text: &str, cx: &mut Cx) -> Val {
    let Some(number) = number_text("a number", text, cx) else {
        return Val::Bool(false);
    };
    let value = match kind {
        Kind::F32 => number.parse::<f32>().map(|value| (value.is_finite(), Val::Float32(value))),
        _ => number.parse::<f64>().map(|value| (value.is_finite(), Val::Float64(value))),
    };
    match value {
        Ok((true, value)) => value,
        _ => {
            let bits = if matches!(kind, Kind::F32) { 32 } else { 64 };
            cx.expected(format!("a number that fits a {bits}-bit float"), quotable(number))
        }
    }
}

/// The text of a JSON number, or a fault for any other JSON value.
fn number_text<'t>(what: &str, text: &'t str, cx: &mut Cx) -> Option<&'t str> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        let quoted = text.trim_matches('"');
        let hint = (text.starts_with('"') && quoted.parse::<f64>().is_ok_and(f64::is_finite))
            .then(|| format!("write {} without quotes", quotable(quoted)));
        cx.fault(format!("expected {what}, got {}", describe_raw(text)), hint);
        return None;
    }
    if text.len() > MAX_NUMBER_CHARS {
        cx.fault(format!("a number of {} characters, at most {MAX_NUMBER_CHARS} are read", text.len()), None);
        return None;
    }
    Some(text)
}

struct OptionVisitor<'a> {
    inner: &'a Shape,
    cx: &'a mut Cx,
}

impl<'de> Visitor<'de> for OptionVisitor<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} or null", Wanted::Shape(self.inner))
    }

    fn visit_none<E>(self) -> Result<Val, E> {
        Ok(Val::Option(None))
    }

    fn visit_unit<E>(self) -> Result<Val, E> {
        Ok(Val::Option(None))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        let OptionVisitor { inner, cx } = self;
        let value = if inner.is_nullable() {
            deserializer.deserialize_any(ShapeVisitor { wanted: Wanted::Some(inner), cx })?
        } else {
            ShapeSeed { shape: inner, cx }.deserialize(deserializer)?
        };
        Ok(Val::Option(Some(Box::new(value))))
    }
}

/// What a visitor is to make of the JSON value that it meets.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Shape(&'a Shape),
    /// An object with these keys.
    Fields(&'a [Field]),
    /// `{"some": …}` around a type that may itself be null.
    Some(&'a Shape),
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self {
            Wanted::Fields(_) => return f.write_str("an object"),
            Wanted::Some(_) => return f.write_str("an object with the key \"some\""),
            Wanted::Shape(shape) => shape,
        };
        match &shape.kind {
            Kind::Bool => f.write_str("true or false"),
            Kind::Int(int) => {
                let (min, max) = int.range();
                write!(f, "an integer from {min} to {max}")
            }
            Kind::F32 | Kind::F64 => f.write_str("a number"),
            Kind::Char => f.write_str("a string of one character"),
            Kind::String => f.write_str("a string"),
            Kind::Bytes => f.write_str("a string in base64"),
            Kind::List(_) => f.write_str("an array"),
            Kind::FixedList(_, length) => write!(f, "an array of {length}"),
            Kind::Tuple(shapes) => write!(f, "an array of {}", shapes.len()),
            Kind::Record(_) => f.write_str("an object"),
            Kind::Variant(cases) => {
                f.write_str("one of ")?;
                names(
                    f,
                    cases.iter().map(|case| match case.payload {
                        Some(_) => format!("{{\"{}\": …}}", case.name),
                        None => format!("\"{}\"", case.name),
                    }),
                )
            }
            Kind::Enum(labels) => {
                f.write_str("one of ")?;
                names(f, labels.iter().map(|label| format!("\"{}\"", label.name)))
            }
            Kind::Flags(labels) => {
                f.write_str("an array of ")?;
                names(f, labels.iter().map(|label| format!("\"{}\"", label.name)))
            }
            Kind::Option(inner) => write!(f, "{} or null", Wanted::Shape(inner)),
            Kind::Result(..) => f.write_str("an object with the key \"ok\" or \"err\""),
            Kind::Map(key, _) if matches!(key.kind, Kind::String) => f.write_str("an object"),
            Kind::Map(..) => f.write_str("an array of pairs"),
        }
    }
}

fn names(f: &mut fmt::Formatter<'_>, all: impl ExactSizeIterator<Item = String>) -> fmt::Result {
    let more = all.len().saturating_sub(MAX_NAMES);
    for (index, name) in all.take(MAX_NAMES).enumerate() {
        write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
    }
    if more > 0 {
        write!(f, " and {more} more")?;
    }
    Ok(())
}

struct ShapeVisitor<'a> {
    wanted: Wanted<'a>,
    cx: &'a mut Cx,
}

impl ShapeVisitor<'_> {
    fn mismatch(self, got: impl fmt::Display) -> Val {
        self.cx.expected(self.wanted, got)
    }

    fn kind(&self) -> Option<&Kind> {
        match self.wanted {
            Wanted::Shape(shape) => Some(&shape.kind),
            _ => None,
        }
    }
}

impl<'de> Visitor<'de> for ShapeVisitor<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.wanted)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Val, E> {
        Ok(match self.kind() {
            Some(Kind::Bool) => Val::Bool(value),
            _ => self.mismatch(value),
        })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Val, E> {
        Ok(self.mismatch(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Val, E> {
        Ok(self.mismatch(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Val, E> {
        Ok(self.mismatch(value))
    }

    fn visit_unit<E>(self) -> Result<Val, E> {
        Ok(self.mismatch("null"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Val, E> {
        let ShapeVisitor { wanted, cx } = self;
        let Wanted::Shape(shape) = wanted else {
            return Ok(cx.expected(wanted, describe_str(text)));
        };
        let value = match &shape.kind {
            Kind::String => Some(Val::String(text.to_owned())),
            Kind::Char => single_char(text).map(Val::Char),
            Kind::Bytes => match base64::engine::general_purpose::STANDARD.decode(text) {
                Ok(bytes) => Some(Val::List(bytes.into_iter().map(Val::U8).collect())),
                Err(error) => {
                    let message = format!("expected a string in base64, got {}: {error}", describe_str(text));
                    return Ok(cx.fault(message, None));
                }
            },
            Kind::Enum(labels) => match labels.iter().find(|label| label.name == text) {
                Some(label) => Some(Val::Enum(label.name.clone())),
                None => {
                    return Ok(cx.no_such(wanted, text, labels.iter().map(|label| label.name.as_str())));
                }
            },
            Kind::Variant(cases) => match cases.iter().find(|case| case.name == text) {
                Some(Case { payload: None, name, .. }) => Some(Val::Variant(name.clone(), None)),
                Some(case) => {
                    let hint = format!("the case takes a value: {{\"{}\": …}}", case.name);
                    return Ok(cx.fault(format!("expected {wanted}, got {}", describe_str(text)), Some(hint)));
                }
                None => {
                    return Ok(cx.no_such(wanted, text, cases.iter().map(|case| case.name.as_str())));
                }
            },
            _ => None,
        };
        Ok(value.unwrap_or_else(|| cx.expected(wanted, describe_str(text))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Val, A::Error> {
        let ShapeVisitor { wanted, cx } = self;
        let Wanted::Shape(shape) = wanted else {
            cx.expected(wanted, "an array");
            return skip_seq(seq);
        };
        let u8_shape = Shape { kind: Kind::Int(Int::U8), docs: None };
        match &shape.kind {
            Kind::List(element) => Ok(Val::List(read_all(&mut seq, element, cx)?)),
            Kind::Bytes => Ok(Val::List(read_all(&mut seq, &u8_shape, cx)?)),
            Kind::FixedList(element, length) => {
                let values = read_all(&mut seq, element, cx)?;
                if values.len() as u64 != u64::from(*length) {
                    return Ok(cx.expected(wanted, format_args!("an array of {}", values.len())));
                }
                Ok(Val::FixedLengthList(values))
            }
            Kind::Tuple(shapes) => {
                let mut values = Vec::with_capacity(shapes.len());
                for (index, shape) in shapes.iter().enumerate() {
                    match next_element(&mut seq, index, shape, cx)? {
                        Some(value) => values.push(value),
                        None => break,
                    }
                }
                let more = count_rest(&mut seq)?;
                if values.len() + more != shapes.len() {
                    return Ok(cx.expected(wanted, format_args!("an array of {}", values.len() + more)));
                }
                Ok(Val::Tuple(values))
            }
            Kind::Flags(labels) => read_flags(seq, wanted, labels, cx),
            Kind::Map(key, value) if !matches!(key.kind, Kind::String) => {
                let pair = Shape { kind: Kind::Tuple(vec![(**key).clone(), (**value).clone()]), docs: None };
                read_pairs(seq, &pair, cx)
            }
            _ => {
                cx.expected(wanted, "an array");
                skip_seq(seq)
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Val, A::Error> {
        let ShapeVisitor { wanted, cx } = self;
        let shape = match wanted {
            Wanted::Fields(fields) => return read_fields(map, fields, cx),
            Wanted::Some(inner) => {
                let read = read_single(map, wanted, cx, |name, _| (name == "some").then_some(Some(inner)))?;
                return Ok(read.map_or(Val::Bool(false), |(_, value)| value.unwrap_or(Val::Bool(false))));
            }
            Wanted::Shape(shape) => shape,
        };
        match &shape.kind {
            Kind::Record(fields) => read_fields(map, fields, cx),
            Kind::Map(key, value) if matches!(key.kind, Kind::String) => read_string_map(map, value, cx),
            Kind::Variant(cases) => {
                let read =
                    read_single(map, wanted, cx, |name, cx| match cases.iter().find(|case| case.name == name) {
                        Some(case) => Some(case.payload.as_ref()),
                        None => {
                            cx.no_such(wanted, name, cases.iter().map(|case| case.name.as_str()));
                            None
                        }
                    })?;
                Ok(read.map_or(Val::Bool(false), |(name, value)| Val::Variant(name, value.map(Box::new))))
            }
            Kind::Result(ok, err) => {
                let read = read_single(map, wanted, cx, |name, _| match name {
                    "ok" => Some(ok.as_deref()),
                    "err" => Some(err.as_deref()),
                    _ => None,
                })?;
                Ok(read.map_or(Val::Bool(false), |(name, value)| {
                    let value = value.map(Box::new);
                    Val::Result(if name == "ok" { Ok(value) } else { Err(value) })
                }))
            }
            _ => {
                cx.expected(wanted, "an object");
                skip_map(map)
            }
        }
    }
}

impl Cx {
    fn no_such<'n>(&mut self, wanted: Wanted<'_>, got: &str, names: impl Iterator<Item = &'n str>) -> Val {
        let hint = nearest(got, names).map(|name| format!("did you mean \"{name}\"?"));
        self.fault(format!("expected {wanted}, got {}", describe_str(got)), hint)
    }
}

fn read_fields<'de, A: MapAccess<'de>>(mut map: A, fields: &[Field], cx: &mut Cx) -> Result<Val, A::Error> {
    let mut values: Vec<Option<Val>> = fields.iter().map(|_| None).collect();
    // Fields come in WIT's order more often than not, so the search starts behind the last one found.
    let mut next = 0;
    while let Some(key) = map.next_key::<String>()? {
        let found = (next..fields.len()).chain(0..next).find(|&index| fields[index].name == key);
        let Some(index) = found else {
            cx.unknown(&key, fields.iter().map(|field| field.name.as_str()));
            map.next_value::<IgnoredAny>()?;
            continue;
        };
        next = index + 1;
        let field = &fields[index];
        if values[index].is_some() {
            cx.doubled(&key);
            map.next_value::<IgnoredAny>()?;
            continue;
        }
        let value = cx.within(Step::Name(key), |cx| map.next_value_seed(ShapeSeed { shape: &field.shape, cx }))?;
        values[index] = Some(value);
        stop_if_enough(cx)?;
    }
    let values = fields.iter().zip(values).map(|(field, value)| {
        let value = value.unwrap_or_else(|| {
            if field.required() {
                let what = Wanted::Shape(&field.shape);
                cx.fault(format!("missing \"{}\", expected {what}", field.name), None);
            }
            Val::Option(None)
        });
        (field.wit.clone(), value)
    });
    Ok(Val::Record(values.collect()))
}

impl Cx {
    fn unknown<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) {
        let known: Vec<&str> = known.collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if known.is_empty() => "it takes none".to_owned(),
            None => {
                let shown: Vec<_> = known.iter().take(MAX_NAMES).map(|name| format!("\"{name}\"")).collect();
                format!("known are {}", shown.join(", "))
            }
        };
        self.fault(format!("unknown key {}", describe_str(name)), Some(hint));
    }

    fn doubled(&mut self, name: &str) {
        self.fault(format!("the key {} is given twice", describe_str(name)), Some("give it once".to_owned()));
    }
}

fn read_string_map<'de, A: MapAccess<'de>>(mut map: A, value: &Shape, cx: &mut Cx) -> Result<Val, A::Error> {
    let mut seen = HashSet::new();
    let mut pairs = Vec::new();
    while let Some(key) = map.next_key::<String>()? {
        if !seen.insert(key.clone()) {
            cx.doubled(&key);
        }
        let value = cx.within(Step::Name(key.clone()), |cx| map.next_value_seed(ShapeSeed { shape: value, cx }))?;
        pairs.push((Val::String(key), value));
        stop_if_enough(cx)?;
    }
    Ok(Val::Map(pairs))
}

fn read_pairs<'de, A: SeqAccess<'de>>(mut seq: A, pair: &Shape, cx: &mut Cx) -> Result<Val, A::Error> {
    let mut seen = HashSet::new();
    let mut pairs = Vec::new();
    while let Some(value) = next_element(&mut seq, pairs.len(), pair, cx)? {
        let mut values = match value {
            Val::Tuple(values) => values.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let pair = (values.next().unwrap_or(Val::Bool(false)), values.next().unwrap_or(Val::Bool(false)));
        if cx.faults.is_empty() && !seen.insert(scalar_key(&pair.0)) {
            cx.path.push(Step::Index(pairs.len()));
            cx.fault("the key of this pair was given before", None);
            cx.path.pop();
        }
        pairs.push(pair);
    }
    Ok(Val::Map(pairs))
}

fn read_flags<'de, A: SeqAccess<'de>>(
    mut seq: A,
    wanted: Wanted<'_>,
    labels: &[Label],
    cx: &mut Cx,
) -> Result<Val, A::Error> {
    let label = Shape { kind: Kind::Enum(labels.to_vec()), docs: None };
    let mut set = vec![false; labels.len()];
    for (index, value) in read_all(&mut seq, &label, cx)?.into_iter().enumerate() {
        let Val::Enum(name) = value else { continue };
        if let Some(position) = labels.iter().position(|label| label.name == name) {
            if set[position] {
                cx.path.push(Step::Index(index));
                cx.fault(format!("\"{name}\" is given twice"), Some(format!("expected {wanted}, each once")));
                cx.path.pop();
            }
            set[position] = true;
        }
    }
    let names = labels.iter().zip(set).filter(|(_, set)| *set).map(|(label, _)| label.name.clone());
    Ok(Val::Flags(names.collect()))
}

/// Reads an object of exactly one key. `payload` says what the key takes: nothing at all when there is no such key, and
/// no type when it takes `null`.
fn read_single<'de, 's, A: MapAccess<'de>>(
    mut map: A,
    wanted: Wanted<'_>,
    cx: &mut Cx,
    payload: impl FnOnce(&str, &mut Cx) -> Option<Option<&'s Shape>>,
) -> Result<Option<(String, Option<Val>)>, A::Error> {
    let Some(name) = map.next_key::<String>()? else {
        cx.expected(wanted, "an empty object");
        return Ok(None);
    };
    let faults = cx.faults.len();
    let read = match payload(&name, cx) {
        None => {
            if cx.faults.len() == faults {
                cx.expected(wanted, format_args!("the key {}", describe_str(&name)));
            }
            map.next_value::<IgnoredAny>()?;
            None
        }
        Some(None) => {
            cx.within(Step::Name(name.clone()), |cx| map.next_value_seed(NullSeed { cx }))?;
            Some((name, None))
        }
        Some(Some(shape)) => {
            let value = cx.within(Step::Name(name.clone()), |cx| map.next_value_seed(ShapeSeed { shape, cx }))?;
            Some((name, Some(value)))
        }
    };
    let mut more = 0;
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
        more += 1;
    }
    if more > 0 {
        cx.expected(wanted, format_args!("an object of {} keys", more + 1));
        return Ok(None);
    }
    Ok(read)
}

/// `null`, under the key of a case without a payload.
struct NullSeed<'a> {
    cx: &'a mut Cx,
}

impl<'de> DeserializeSeed<'de> for NullSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?;
        if raw.get() != "null" {
            self.cx.expected("null, since this case takes no value", describe_raw(raw.get()));
        }
        Ok(())
    }
}

fn read_all<'de, A: SeqAccess<'de>>(seq: &mut A, element: &Shape, cx: &mut Cx) -> Result<Vec<Val>, A::Error> {
    let mut values = Vec::new();
    while let Some(value) = next_element(seq, values.len(), element, cx)? {
        values.push(value);
        stop_if_enough(cx)?;
    }
    Ok(values)
}

fn next_element<'de, A: SeqAccess<'de>>(
    seq: &mut A,
    index: usize,
    shape: &Shape,
    cx: &mut Cx,
) -> Result<Option<Val>, A::Error> {
    cx.within(Step::Index(index), |cx| seq.next_element_seed(ShapeSeed { shape, cx }))
}

fn count_rest<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<usize, A::Error> {
    let mut count = 0;
    while seq.next_element::<IgnoredAny>()?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn skip_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Val, A::Error> {
    count_rest(&mut seq)?;
    Ok(Val::Bool(false))
}

fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Val, A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(Val::Bool(false))
}

fn stop_if_enough<E: serde::de::Error>(cx: &Cx) -> Result<(), E> {
    if cx.enough() { Err(E::custom("too many faults")) } else { Ok(()) }
}

fn single_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// The known name that a typo most likely meant.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Names are short; what is longer is no typo, and comparing costs the product of both lengths.
    if name.len() > 128 {
        return None;
    }
    let canonical = name.replace('-', "_").to_lowercase();
    known
        .filter(|candidate| candidate.len() <= 128)
        .map(|candidate| {
            let plain = candidate.replace('-', "_").to_lowercase();
            (strsim::normalized_damerau_levenshtein(&canonical, &plain), candidate)
        })
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

fn describe_str(text: &str) -> String {
    serde_json::Value::from(quotable(text)).to_string()
}

/// What a JSON text is, for a fault.
fn describe_raw(text: &str) -> String {
    match text.as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        _ => quotable(text),
    }
}

/// The start of a text, cut on a character boundary.
fn quotable(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
