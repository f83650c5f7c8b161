//! Arguments as JSON text → values of the tool's types: one pass that is both the check and the conversion.

mod array;
mod fault;
mod integer;
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
