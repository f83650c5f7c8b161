//! A JSON value → a value of a known type.

use std::fmt;

use base64::Engine as _;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::array::{count_rest, next_element, read_all, read_flags, read_pairs, skip_seq};
use super::fault::{Cx, describe_str};
use super::number::{read_float, read_integer};
use super::object::{read_fields, read_single, read_string_map, skip_map};
use super::wanted::Wanted;
use crate::tool::shape::{Case, Field, Int, Kind, Shape};

/// The arguments as a whole: an object with a key for each parameter.
pub(super) struct ParamsSeed<'a> {
    pub(super) params: &'a [Field],
    pub(super) values: &'a mut Vec<Val>,
    pub(super) cx: &'a mut Cx,
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
pub(super) struct ShapeSeed<'a> {
    pub(super) shape: &'a Shape,
    pub(super) cx: &'a mut Cx,
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

pub(super) struct OptionVisitor<'a> {
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

pub(super) struct ShapeVisitor<'a> {
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

pub(super) fn single_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
