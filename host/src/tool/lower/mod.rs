//! Arguments as JSON text → values of the tool's types: one pass that is both the check and the conversion.

mod array;
mod fault;
mod integer;
mod lenient;
mod name;
mod number;
mod object;
mod value;
mod wanted;

use serde::de::DeserializeSeed;
use wasmtime::component::Val;

use super::shape::Field;
use fault::Cx;
pub(crate) use fault::Fault;
use value::ParamsSeed;

/// How arguments are read that are not quite what the schema asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Where there is exactly one way to read them, they are read that way.
    #[default]
    Lenient,
    Exact,
}

/// The arguments of a call as values of its parameters.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lowered {
    /// In the parameters' order.
    pub(crate) values: Vec<Val>,
    /// What was read as something else than it is, at most twenty.
    pub(crate) notes: Vec<String>,
    /// What the values take at most, in bytes.
    pub(crate) weight: u64,
}

/// Why arguments have no values.
#[derive(Debug, PartialEq)]
pub(crate) enum Unread {
    /// All that is wrong with them, at least one and at most twenty faults.
    Faulty(Vec<Fault>),
    /// They would take more memory than there is for them.
    TooLarge,
}

/// Reads the arguments of a call as the values of its parameters, which may take so many bytes.
///
/// # Errors
/// Why there are none.
pub(crate) fn lower(params: &[Field], text: &str, reading: Reading, room: u64) -> Result<Lowered, Unread> {
    let mut cx = Cx::new(reading, room);
    let mut values = Vec::with_capacity(params.len());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = ParamsSeed { params, values: &mut values, cx: &mut cx };
    let read = seed.deserialize(&mut deserializer).and_then(|()| {
        cx.path.clear();
        deserializer.end()
    });
    if cx.is_over() {
        return Err(Unread::TooLarge);
    }
    if let Err(error) = read {
        cx.unreadable(text, &error);
    }
    if !cx.faults.is_empty() {
        return Err(Unread::Faulty(cx.faults));
    }
    let weight = cx.taken();
    Ok(Lowered { values, notes: cx.into_notes(), weight })
}
