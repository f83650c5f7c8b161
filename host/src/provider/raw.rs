//! A message's JSON, taken apart level by level without building a tree: arguments keep the text that the model wrote.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{MAX_MESSAGE_BYTES, MessageError};

/// A JSON value as text.
#[derive(Clone, Copy)]
pub(super) struct Value<'m>(&'m RawValue);

/// An object's entries, in order.
pub(super) struct Object<'m> {
    entries: Vec<(String, Value<'m>)>,
    doubled: Option<String>,
}

impl<'m> Value<'m> {
    pub(super) fn parse(text: &'m str) -> Result<Self, MessageError> {
        if text.len() > MAX_MESSAGE_BYTES {
            return Err(MessageError::TooLarge);
        }
        if text.trim().is_empty() {
            return Err(MessageError::Empty);
        }
        let raw = serde_json::from_str(text).map_err(|error| MessageError::Json(error.to_string()))?;
        Ok(Value(raw))
    }

    /// The value's own text.
    pub(super) fn text(self) -> &'m str {
        self.0.get()
    }

    pub(super) fn string(self) -> Option<String> {
        serde_json::from_str(self.text()).ok()
    }

    /// The string under a key of an object, or nothing for anything else.
    pub(super) fn kind(self, key: &str) -> Option<String> {
        self.object().ok()??.string(key)
    }

    pub(super) fn is_object(self) -> bool {
        self.text().starts_with('{')
    }

    pub(super) fn is_array(self) -> bool {
        self.text().starts_with('[')
    }

    /// The object, or nothing for any other value.
    pub(super) fn object(self) -> Result<Option<Object<'m>>, MessageError> {
        if !self.is_object() {
            return Ok(None);
        }
        let read = serde_json::from_str(self.text());
        read.map(Some).map_err(|error| MessageError::Json(error.to_string()))
    }

    /// The array's elements, or nothing for any other value.
    pub(super) fn array(self) -> Result<Option<Vec<Value<'m>>>, MessageError> {
        if !self.is_array() {
            return Ok(None);
        }
        let read: Vec<&'m RawValue> =
            serde_json::from_str(self.text()).map_err(|error| MessageError::Json(error.to_string()))?;
        Ok(Some(read.into_iter().map(Value).collect()))
    }

    /// The object at a place where nothing else will do.
    pub(super) fn expect_object(self, place: &str) -> Result<Object<'m>, MessageError> {
        let object = self.object()?.ok_or_else(|| shape(place, "expected an object"))?;
        match object.doubled() {
            Some(key) => Err(shape(place, &format!("the key `{key}` is given twice"))),
            None => Ok(object),
        }
    }

    /// The array at a place where nothing else will do.
    pub(super) fn expect_array(self, place: &str) -> Result<Vec<Value<'m>>, MessageError> {
        self.array()?.ok_or_else(|| shape(place, "expected an array"))
    }

    /// What the only element of an array holds under a key: a response's message, where no other was asked for.
    pub(super) fn expect_only(self, place: &str, key: &str) -> Result<Object<'m>, MessageError> {
        let elements = self.expect_array(place)?;
        let [element] = elements.as_slice() else {
            return Err(shape(place, &format!("expected one; send the {key} that you chose")));
        };
        let place = format!("{place}/0");
        let inner = element.expect_object(&place)?.get(key);
        let inner = inner.ok_or_else(|| shape(&place, &format!("expected a {key}")))?;
        inner.expect_object(&format!("{place}/{key}"))
    }
}

impl<'m> Object<'m> {
    /// The value of a key. `null` is as good as no key.
    pub(super) fn get(&self, key: &str) -> Option<Value<'m>> {
        let (_, value) = self.entries.iter().find(|(name, _)| name == key)?;
        (value.text() != "null").then_some(*value)
    }

    pub(super) fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.string()
    }

    /// A key that is given twice: nobody can tell which one counts.
    pub(super) fn doubled(&self) -> Option<&str> {
        self.doubled.as_deref()
    }
}

pub(super) fn shape(place: &str, reason: &str) -> MessageError {
    MessageError::Shape { place: place.to_owned(), reason: reason.to_owned() }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut entries: Vec<(String, Value<'de>)> = Vec::new();
                let mut names = std::collections::HashSet::new();
                let mut doubled = None;
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if !names.insert(name.clone()) {
                        doubled = Some(name.clone());
                    }
                    entries.push((name, Value(value)));
                }
                Ok(Object { entries, doubled })
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
