//! JSON objects → records, maps, and whatever has exactly one key.

use std::collections::HashSet;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::fault::{Cx, Step, describe_raw, describe_str, stop_if_enough};
use super::value::ShapeSeed;
use super::wanted::Wanted;
use crate::tool::shape::{Field, Shape};

pub(super) fn read_fields<'de, A: MapAccess<'de>>(mut map: A, fields: &[Field], cx: &mut Cx) -> Result<Val, A::Error> {
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

pub(super) fn read_string_map<'de, A: MapAccess<'de>>(mut map: A, value: &Shape, cx: &mut Cx) -> Result<Val, A::Error> {
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

/// Reads an object of exactly one key. `payload` says what the key takes: nothing at all when there is no such key, and
/// no type when it takes `null`.
pub(super) fn read_single<'de, 's, A: MapAccess<'de>>(
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

/// Reads past an object that nobody wants.
pub(super) fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Val, A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(Val::Bool(false))
}
