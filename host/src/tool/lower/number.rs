//! Numbers, read from their text: a float in between would lose digits.

use wasmtime::component::Val;

use super::fault::{Cx, describe_raw, quotable};
use super::integer::{MAX_NUMBER_CHARS, NotAnInteger, integer};
use super::lenient::quoted_number;
use crate::tool::shape::{Int, Kind};

pub(super) fn read_integer(int: Int, text: &str, cx: &mut Cx) -> Val {
    read_quoted(text, cx, |text, cx| read_bare_integer(int, text, cx))
}

pub(super) fn read_float(kind: &Kind, text: &str, cx: &mut Cx) -> Val {
    read_quoted(text, cx, |text, cx| read_bare_float(kind, text, cx))
}

/// Reads a number, or where it may be the one in quotes.
fn read_quoted(raw: &str, cx: &mut Cx, read: impl FnOnce(&str, &mut Cx) -> Val) -> Val {
    let quoted = if cx.is_lenient() { quoted_number(raw) } else { None };
    let Some(number) = quoted else { return read(raw, cx) };
    let faults = cx.faults.len();
    let value = read(&number, cx);
    if cx.faults.len() == faults {
        cx.note(quotable(raw), quotable(&number));
    }
    value
}

fn read_bare_integer(int: Int, text: &str, cx: &mut Cx) -> Val {
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

fn read_bare_float(kind: &Kind, text: &str, cx: &mut Cx) -> Val {
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
        let hint = quoted_number(text).map(|number| format!("write {} without quotes", quotable(&number)));
        cx.fault(format!("expected {what}, got {}", describe_raw(text)), hint);
        return None;
    }
    if text.len() > MAX_NUMBER_CHARS {
        cx.fault(format!("a number of {} characters, at most {MAX_NUMBER_CHARS} are read", text.len()), None);
        return None;
    }
    Some(text)
}
