//! JSON objects → records, maps, and whatever has exactly one key.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::fault::{Cx, Step, describe_raw, stop_if_enough};
use super::value::ShapeSeed;
use super::wanted::Wanted;
use crate::tool::schema::tuple_key;
use crate::tool::shape::{Field, Shape};
use crate::tool::weight;

/// A key that an object may have.
pub(super) struct Key<'s> {
    pub(super) name: Cow<'s, str>,
    pub(super) shape: &'s Shape,
}

pub(super) fn read_fields<'de, A: MapAccess<'de>>(map: A, fields: &[Field], cx: &mut Cx) -> Result<Val, A::Error> {
    let keys = fields.iter().map(|field| Key { name: Cow::Borrowed(&field.name), shape: &field.shape });
    let values = read_keys(map, &keys.collect::<Vec<_>>(), cx)?;
    Ok(Val::Record(fields.iter().map(|field| field.wit.clone()).zip(values).collect()))
}

/// Reads an object of certain keys, of which only options may be missing: a value for each key, in their order.
pub(super) fn read_keys<'de, A: MapAccess<'de>>(
    mut map: A,
    keys: &[Key<'_>],
    cx: &mut Cx,
) -> Result<Vec<Val>, A::Error> {
    let first = map.next_key()?;
    read_keys_from(first, map, keys, cx)
}

/// The same for an object whose first key has been read.
fn read_keys_from<'de, A: MapAccess<'de>>(
    mut key: Option<String>,
    mut map: A,
    keys: &[Key<'_>],
    cx: &mut Cx,
) -> Result<Vec<Val>, A::Error> {
    let mut values: Vec<Option<Val>> = keys.iter().map(|_| None).collect();
    // Keys come in WIT's order more often than not, so the search starts behind the last one found.
    let mut next = 0;
    while let Some(name) = key {
        let found = (next..keys.len()).chain(0..next).find(|&index| keys[index].name == name);
        let Some(index) = found else {
            cx.unknown(&name, keys.iter().map(|key| &*key.name));
            map.next_value::<IgnoredAny>()?;
            stop_if_enough(cx)?;
            key = map.next_key()?;
            continue;
        };
        next = index + 1;
        if values[index].is_some() {
            cx.doubled(&name);
            map.next_value::<IgnoredAny>()?;
            stop_if_enough(cx)?;
            key = map.next_key()?;
            continue;
        }
        let shape = keys[index].shape;
        let value = cx.within(Step::Name(name), |cx| map.next_value_seed(ShapeSeed::new(shape, cx)))?;
        values[index] = Some(value);
        stop_if_enough(cx)?;
        key = map.next_key()?;
    }
    let values = keys.iter().zip(values).map(|(key, value)| {
        value.unwrap_or_else(|| {
            if !key.shape.is_nullable() {
                cx.fault(format!("missing \"{}\", expected {}", key.name, Wanted::Shape(key.shape)), None);
            }
            Val::Option(None)
        })
    });
    Ok(values.collect())
}

/// Reads a tuple that is written as an object, where its first key says that it is one.
pub(super) fn read_keyed_tuple<'de, A: MapAccess<'de>>(
    mut map: A,
    wanted: Wanted<'_>,
    shapes: &[Shape],
    cx: &mut Cx,
) -> Result<Val, A::Error> {
    let keys = shapes.iter().enumerate();
    let keys: Vec<Key<'_>> = keys.map(|(index, shape)| Key { name: tuple_key(index).into(), shape }).collect();
    let first: Option<String> = map.next_key()?;
    if first.as_ref().is_none_or(|first| keys.iter().all(|key| key.name != *first)) {
        cx.expected(wanted, "an object");
        if first.is_some() {
            map.next_value::<IgnoredAny>()?;
        }
        return skip_map(map);
    }
    Ok(Val::Tuple(read_keys_from(first, map, &keys, cx)?))
}

pub(super) fn read_string_map<'de, A: MapAccess<'de>>(mut map: A, value: &Shape, cx: &mut Cx) -> Result<Val, A::Error> {
    let mut seen = HashSet::new();
    let mut pairs = Vec::new();
    while let Some(key) = map.next_key::<String>()? {
        if !seen.insert(key.clone()) {
            cx.doubled(&key);
        }
        let value = cx.within(Step::Name(key.clone()), |cx| map.next_value_seed(ShapeSeed::new(value, cx)))?;
        cx.take_room(weight::ENTRY + 2 * key.len())?;
        pairs.push((Val::String(key), value));
        stop_if_enough(cx)?;
    }
    Ok(Val::Map(pairs))
}

/// Reads an object of exactly one key. `payload` says what the key takes: nothing at all when there is no such key, and
/// no type when it takes `null`. `unknown` notes the fault of any other key. What comes back has the key's name in WIT.
pub(super) fn read_single<'de, 's, A: MapAccess<'de>>(
    mut map: A,
    wanted: Wanted<'_>,
    cx: &mut Cx,
    payload: impl FnOnce(&str, &mut Cx) -> Option<(&'s str, Option<&'s Shape>)>,
    unknown: impl FnOnce(&str, &RawValue, &mut Cx),
) -> Result<Option<(String, Option<Val>)>, A::Error> {
    let Some(name) = map.next_key::<String>()? else {
        cx.expected(wanted, "an empty object");
        return Ok(None);
    };
    cx.take_room(name.len())?;
    let read = match payload(&name, cx) {
        None => {
            unknown(&name, map.next_value()?, cx);
            skip_map(map)?;
            return Ok(None);
        }
        Some((wit, None)) => {
            cx.within(Step::Name(name), |cx| map.next_value_seed(NullSeed { cx }))?;
            Some((wit.to_owned(), None))
        }
        Some((wit, Some(shape))) => {
            let value = cx.within(Step::Name(name), |cx| map.next_value_seed(ShapeSeed::new(shape, cx)))?;
            Some((wit.to_owned(), Some(value)))
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

/// Reads past an object that nobody wants.
pub(super) fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Val, A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(Val::Bool(false))
}
