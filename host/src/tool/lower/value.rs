//! A JSON value → a value of a known type.

use std::fmt;

use base64::Engine as _;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::array::{read_all, read_entries, read_flags, read_tuple, skip_seq};
use super::fault::{Cx, describe_str};
use super::lenient::{self, Lone, read_text};
use super::name::{find_case, read_bare_case, read_label};
use super::number::{read_float, read_integer};
use super::object::{Key, read_fields, read_keyed_tuple, read_keys, read_single, read_string_map, skip_map};
use super::wanted::Wanted;
use crate::tool::shape::{Field, Int, Kind, Shape};
use crate::tool::weight;

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
        let read = deserializer.deserialize_any(ShapeVisitor::new(wanted, self.cx))?;
        if let Val::Record(fields) = read {
            self.values.extend(fields.into_iter().map(|(_, value)| value));
        }
        Ok(())
    }
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    /// It is an item of an array. If arrays are wanted here, `[1, 2]` could be `[[1], [2]]` or `[[1, 2]]`.
    InArray,
}

/// One value of a known type.
pub(super) struct ShapeSeed<'a> {
    pub(super) shape: &'a Shape,
    pub(super) place: Place,
    pub(super) cx: &'a mut Cx,
}

impl<'a> ShapeSeed<'a> {
    pub(super) fn new(shape: &'a Shape, cx: &'a mut Cx) -> Self {
        ShapeSeed { shape, place: Place::Alone, cx }
    }
}

impl<'de> DeserializeSeed<'de> for ShapeSeed<'_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        let ShapeSeed { shape, place, cx } = self;
        cx.take_room(weight::read(shape))?;
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
            Kind::List(element)
                if cx.is_lenient()
                    && place == Place::Alone
                    && matches!(element.kind, Kind::Int(_) | Kind::F32 | Kind::F64) =>
            {
                let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?;
                read_numbers(shape, element, raw, cx).map_err(serde::de::Error::custom)
            }
            Kind::Option(inner) => deserializer.deserialize_option(OptionVisitor { inner, place, cx }),
            _ => deserializer.deserialize_any(ShapeVisitor { wanted: Wanted::Shape(shape), place, cx }),
        }
    }
}

/// Reads a list of numbers, or one number that stands for a list of one.
fn read_numbers(shape: &Shape, element: &Shape, raw: &RawValue, cx: &mut Cx) -> serde_json::Result<Val> {
    let is_number = raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if !is_number && lenient::quoted_number(raw.get()).is_none() {
        return raw.deserialize_any(ShapeVisitor::new(Wanted::Shape(shape), cx));
    }
    let faults = cx.faults.len();
    let value = ShapeSeed::new(element, cx).deserialize(raw)?;
    if cx.faults.len() == faults {
        cx.note("one value", "an array of one");
    }
    Ok(Val::List(vec![value]))
}

pub(super) struct OptionVisitor<'a> {
    inner: &'a Shape,
    place: Place,
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
        let OptionVisitor { inner, place, cx } = self;
        let value = if inner.is_nullable() {
            deserializer.deserialize_any(ShapeVisitor::new(Wanted::Some(inner), cx))?
        } else {
            ShapeSeed { shape: inner, place, cx }.deserialize(deserializer)?
        };
        Ok(Val::Option(Some(Box::new(value))))
    }
}

pub(super) struct ShapeVisitor<'a> {
    wanted: Wanted<'a>,
    place: Place,
    cx: &'a mut Cx,
}

impl<'a> ShapeVisitor<'a> {
    pub(super) fn new(wanted: Wanted<'a>, cx: &'a mut Cx) -> Self {
        ShapeVisitor { wanted, place: Place::Alone, cx }
    }

    /// Whether one item may stand for an array of one.
    fn may_be_lone(&self) -> bool {
        self.cx.is_lenient() && self.place == Place::Alone
    }

    /// What an item is of the array that is wanted, where this may be one.
    fn item(&self, lone: Lone<'_>) -> Option<&'a Shape> {
        match self.wanted {
            Wanted::Shape(shape) if self.may_be_lone() => lenient::item(shape, lone),
            _ => None,
        }
    }

    /// Reads one item as an array of one.
    fn read_item<E>(
        self,
        item: &'a Shape,
        read: impl FnOnce(ShapeVisitor<'_>) -> Result<Val, E>,
    ) -> Result<(Val, &'a mut Cx), E> {
        let faults = self.cx.faults.len();
        let value = read(ShapeVisitor::new(Wanted::Shape(item), self.cx))?;
        if self.cx.faults.len() == faults {
            self.cx.note("one value", "an array of one");
        }
        Ok((Val::List(vec![value]), self.cx))
    }

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

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Val, E> {
        if let Some(item) = self.item(Lone::Bool) {
            return Ok(self.read_item(item, |visitor| visitor.visit_bool(value))?.0);
        }
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
        Ok(self.mismatch(serde_json::Value::from(value)))
    }

    fn visit_unit<E>(self) -> Result<Val, E> {
        Ok(self.mismatch("null"))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Val, E> {
        // Whatever it becomes but bytes takes no more: itself, or a name.
        self.cx.take_room(text.len())?;
        if let Some(value) = read_text(text, self.wanted, self.cx) {
            return Ok(value);
        }
        if let Some(item) = self.item(Lone::Text(text)) {
            if matches!(item.kind, Kind::String | Kind::Bytes) && !lenient::is_one_text(text) {
                let hint = "write an array, with quotes around each of its texts".to_owned();
                return Ok(self.cx.fault(format!("expected {}, got {}", self.wanted, describe_str(text)), Some(hint)));
            }
            return Ok(self.read_item(item, |visitor| visitor.visit_str(text))?.0);
        }
        let may_be_lone = self.may_be_lone();
        let ShapeVisitor { wanted, cx, .. } = self;
        let shape = match wanted {
            Wanted::Shape(shape) => shape,
            Wanted::Label(labels) => {
                return Ok(read_label(text, wanted, labels, cx).map_or(Val::Bool(false), Val::Enum));
            }
            _ => return Ok(cx.quoted(text, wanted)),
        };
        let value = match &shape.kind {
            Kind::String => Some(Val::String(text.to_owned())),
            Kind::Bool => read_quoted_bool(text, cx),
            Kind::Char => single_char(text).map(Val::Char),
            Kind::Bytes if cx.take_room::<E>(weight::bytes(text.len() / 4 * 3)).is_err() => None,
            Kind::Bytes => match base64::engine::general_purpose::STANDARD.decode(text) {
                Ok(bytes) => Some(Val::List(bytes.into_iter().map(Val::U8).collect())),
                Err(error) => {
                    let message = format!("expected a string in base64, got {}: {error}", describe_str(text));
                    return Ok(cx.fault(message, None));
                }
            },
            Kind::Enum(labels) => return Ok(read_label(text, wanted, labels, cx).map_or(Val::Bool(false), Val::Enum)),
            Kind::Flags(labels) if may_be_lone => {
                let faults = cx.faults.len();
                let name = read_label(text, wanted, labels, cx);
                if cx.faults.len() == faults {
                    cx.note("one value", "an array of one");
                }
                return Ok(Val::Flags(name.into_iter().collect()));
            }
            Kind::Variant(cases) => return Ok(read_bare_case(text, wanted, cases, cx)),
            Kind::Result(None, _) if text == "ok" => Some(Val::Result(Ok(None))),
            Kind::Result(_, None) if text == "err" => Some(Val::Result(Err(None))),
            _ => None,
        };
        Ok(value.unwrap_or_else(|| cx.quoted(text, wanted)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Val, A::Error> {
        let ShapeVisitor { wanted, cx, .. } = self;
        let shape = match wanted {
            Wanted::Shape(shape) => shape,
            Wanted::Entry(key, value) => return read_tuple(seq, wanted, &[key, value], cx),
            Wanted::Fields(_) | Wanted::Some(_) | Wanted::Label(_) => {
                cx.expected(wanted, "an array");
                return skip_seq(seq);
            }
        };
        match &shape.kind {
            Kind::List(element) => Ok(Val::List(read_all(&mut seq, element, cx)?)),
            Kind::Bytes => Ok(Val::List(read_all(&mut seq, &Shape::plain(Kind::Int(Int::U8)), cx)?)),
            Kind::FixedList(element, length) => {
                let values = read_all(&mut seq, element, cx)?;
                if values.len() as u64 != u64::from(*length) {
                    return Ok(cx.expected(wanted, format_args!("an array of {}", values.len())));
                }
                Ok(Val::FixedLengthList(values))
            }
            Kind::Tuple(shapes) => read_tuple(seq, wanted, &shapes.iter().collect::<Vec<_>>(), cx),
            Kind::Flags(labels) => read_flags(seq, wanted, labels, cx),
            Kind::Map(key, value) => read_entries(seq, key, value, cx),
            _ => {
                cx.expected(wanted, "an array");
                skip_seq(seq)
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Val, A::Error> {
        if let Some(item) = self.item(Lone::Object) {
            let wanted = self.wanted;
            let faults = self.cx.faults.len();
            let (value, cx) = self.read_item(item, |visitor| visitor.visit_map(map))?;
            if cx.faults.len() == faults && is_empty(&value) {
                let hint = "write [] or [{}], whichever is meant".to_owned();
                return Ok(cx.fault(format!("expected {wanted}, got an empty object"), Some(hint)));
            }
            return Ok(value);
        }
        let ShapeVisitor { wanted, cx, .. } = self;
        let shape = match wanted {
            Wanted::Fields(fields) => return read_fields(map, fields, cx),
            Wanted::Some(inner) => {
                let payload = |name: &str, _: &mut Cx| (name == "some").then_some(("some", Some(inner)));
                let read = read_single(map, wanted, cx, payload, |name, _, cx| cx.no_such_key(wanted, name))?;
                return Ok(read.map_or(Val::Bool(false), |(_, value)| value.unwrap_or(Val::Bool(false))));
            }
            Wanted::Entry(key, value) => {
                let keys = [("key", key), ("value", value)].map(|(name, shape)| Key { name: name.into(), shape });
                return Ok(Val::Tuple(read_keys(map, &keys, cx)?));
            }
            Wanted::Label(_) => {
                cx.expected(wanted, "an object");
                return skip_map(map);
            }
            Wanted::Shape(shape) => shape,
        };
        match &shape.kind {
            Kind::Record(fields) => read_fields(map, fields, cx),
            Kind::Map(key, value) if matches!(key.kind, Kind::String) => read_string_map(map, value, cx),
            Kind::Tuple(shapes) => read_keyed_tuple(map, wanted, shapes, cx),
            Kind::Variant(cases) => {
                let payload = |name: &str, cx: &mut Cx| {
                    let by_key = cases.iter().find(|case| case.key == name);
                    let case = by_key.or_else(|| find_case(name, cases, cx))?;
                    Some((case.name.as_str(), case.payload.as_ref()))
                };
                let unknown =
                    |name: &str, value: &RawValue, cx: &mut Cx| cx.no_such_case_key(wanted, name, value, cases);
                let read = read_single(map, wanted, cx, payload, unknown)?;
                Ok(read.map_or(Val::Bool(false), |(name, value)| Val::Variant(name, value.map(Box::new))))
            }
            Kind::Result(ok, err) => {
                let payload = |name: &str, _: &mut Cx| match name {
                    "ok" => Some(("ok", ok.as_deref())),
                    "err" => Some(("err", err.as_deref())),
                    _ => None,
                };
                let read = read_single(map, wanted, cx, payload, |name, _, cx| cx.no_such_key(wanted, name))?;
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

/// Whether an array's only item is an object without anything in it.
fn is_empty(array: &Val) -> bool {
    let Val::List(items) = array else { return false };
    match items.as_slice() {
        [Val::Record(fields)] => fields.iter().all(|(_, value)| *value == Val::Option(None)),
        [Val::Map(entries)] => entries.is_empty(),
        _ => false,
    }
}

impl Cx {
    /// Notes that a string is not what is wanted, and whether it would be without its quotes.
    fn quoted(&mut self, text: &str, wanted: Wanted<'_>) -> Val {
        let is_bool = matches!(wanted, Wanted::Shape(shape) if matches!(shape.kind, Kind::Bool))
            && ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
        let hint = match (is_bool, lenient::may_stand_in_text(text, wanted)) {
            (true, _) => Some(format!("write {} without quotes", text.to_ascii_lowercase())),
            (_, true) => Some("write it as JSON, not as a string".to_owned()),
            _ => None,
        };
        self.fault(format!("expected {wanted}, got {}", describe_str(text)), hint)
    }
}

fn read_quoted_bool(text: &str, cx: &mut Cx) -> Option<Val> {
    let value = ["false", "true"].iter().position(|word| cx.is_lenient() && text.eq_ignore_ascii_case(word))? == 1;
    cx.note(describe_str(text), value);
    Some(Val::Bool(value))
}

pub(super) fn single_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
