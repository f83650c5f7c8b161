//! What models get wrong without meaning it, read as what can only be meant: a number, a boolean, an object or an array
//! in quotes, one item for an array, and names in another case or with `_` for `-`. Every such reading is noted.

use serde::de::Deserializer;
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::fault::{Cx, describe_str};
use super::value::ShapeVisitor;
use super::wanted::Wanted;
use crate::tool::shape::{Kind, Shape};

/// The number that stands in a JSON string, such as `5` of `"5"`.
pub(super) fn quoted_number(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    let text: String = serde_json::from_str(raw).ok()?;
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit())
        && serde_json::from_str::<&RawValue>(&text).is_ok();
    is_number.then_some(text)
}

/// What stands in place of an array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lone<'t> {
    Bool,
    Text(&'t str),
    Object,
}

/// The type of an array's items, where this may be one of them and is no array.
pub(super) fn item<'s>(shape: &'s Shape, lone: Lone<'_>) -> Option<&'s Shape> {
    let Kind::List(element) = &shape.kind else { return None };
    let may_be = match (&element.kind, lone) {
        (Kind::Bool, Lone::Bool | Lone::Text(_)) => true,
        (Kind::String | Kind::Char | Kind::Bytes | Kind::Enum(_) | Kind::Variant(_), Lone::Text(_)) => true,
        (Kind::Record(_) | Kind::Variant(_) | Kind::Result(..), Lone::Object) => true,
        (Kind::Record(_) | Kind::Result(..), Lone::Text(text)) => text.trim_start().starts_with('{'),
        (Kind::Map(key, _), Lone::Object) => matches!(key.kind, Kind::String),
        _ => false,
    };
    may_be.then_some(&**element)
}

/// Whether a text can only be one item of a list of texts: it holds nothing that may part several, and is no word for
/// nothing.
pub(super) fn is_one_text(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && !text.starts_with('[')
        && !text.contains([',', ';', '\n'])
        && !["null", "none"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Reads an object or an array that was given as a string. Nothing comes back for any other string, and where a string
/// is wanted.
pub(super) fn read_text(text: &str, wanted: Wanted<'_>, cx: &mut Cx) -> Option<Val> {
    if !cx.is_lenient() || cx.in_text || !may_stand_in_text(text, wanted) {
        return None;
    }
    let faults = cx.faults.len();
    let depth = cx.path.len();
    cx.in_text = true;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = deserializer.deserialize_any(ShapeVisitor::new(wanted, cx));
    let read = read.and_then(|value| deserializer.end().map(|()| value));
    cx.in_text = false;
    cx.path.truncate(depth);
    let what = if text.trim_start().starts_with('{') { "object" } else { "array" };
    Some(match read {
        Ok(value) if cx.faults.len() == faults => {
            cx.note(describe_str(text), format_args!("the {what} in it"));
            value
        }
        Ok(value) => value,
        Err(error) if cx.faults.len() == faults => {
            cx.fault(format!("expected {wanted}, got a string with an {what} that is not readable: {error}"), None)
        }
        Err(_) => Val::Bool(false),
    })
}

/// Whether a string looks like the object or the array that is wanted.
pub(super) fn may_stand_in_text(text: &str, wanted: Wanted<'_>) -> bool {
    let opening = text.trim_start().chars().next();
    let Wanted::Shape(shape) = wanted else { return opening == Some('{') };
    match &shape.kind {
        Kind::Record(_) | Kind::Variant(_) | Kind::Result(..) => opening == Some('{'),
        Kind::Map(..) | Kind::Tuple(_) => matches!(opening, Some('{' | '[')),
        Kind::FixedList(..) | Kind::Flags(_) | Kind::Bytes => opening == Some('['),
        // The string might as well be the item.
        Kind::List(element) => opening == Some('[') && !matches!(element.kind, Kind::String | Kind::Char),
        _ => false,
    }
}
