//! A call as a provider's message has it. What cannot be read of one call is that call's fault alone.

use super::raw::{Object, Value};

/// Why a call of a custom tool is not run.
pub(super) const CUSTOM_TOOL: &str = "custom tools take text; call the tool as a function with JSON arguments";

/// A call, or why it is none.
pub(super) struct RawCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: Result<String, String>,
}

impl RawCall {
    /// Reads a call out of an object whose key `id` names it.
    pub(super) fn read<'m>(value: Value<'m>, id: &str, read: impl FnOnce(&Object<'m>) -> RawCall) -> RawCall {
        let entry = match value.object() {
            Ok(Some(entry)) => entry,
            Ok(None) => return RawCall::malformed("a tool call must be an object"),
            Err(error) => return RawCall::malformed(&format!("the call cannot be read: {error}")),
        };
        let mut call = read(&entry);
        call.id = entry.string(id);
        if let Some(key) = entry.doubled() {
            call.arguments = Err(format!("the key `{key}` of the call is given twice"));
        }
        if entry.get(id).is_some() && call.id.is_none() {
            call.arguments = Err(format!("the call's `{id}` must be a string"));
        }
        call
    }

    /// A function's `name` and `arguments`, which are JSON text in a string; some servers send the object itself, and an
    /// empty text for a function without parameters.
    pub(super) fn of_function(function: &Object<'_>) -> RawCall {
        let Some(tool) = function.string("name") else {
            return RawCall::malformed("the call has no `name`");
        };
        if let Some(key) = function.doubled() {
            return RawCall { tool, ..RawCall::malformed(&format!("the key `{key}` of the call is given twice")) };
        }
        let arguments = match function.get("arguments") {
            None => Ok("{}".to_owned()),
            Some(value) if value.is_object() => Ok(value.text().to_owned()),
            Some(value) => match value.string() {
                Some(text) if text.trim().is_empty() => Ok("{}".to_owned()),
                Some(text) => Ok(text),
                None => Err("`arguments` must be a string that holds a JSON object".to_owned()),
            },
        };
        RawCall { id: None, tool, arguments }
    }

    /// A call's `name`, and its arguments as an object of the message.
    pub(super) fn of_object(entry: &Object<'_>, arguments: &str) -> RawCall {
        match entry.string("name") {
            Some(tool) => {
                let arguments = entry.get(arguments).map_or("{}", Value::text).to_owned();
                RawCall { id: None, tool, arguments: Ok(arguments) }
            }
            None => RawCall::malformed("the call has no `name`"),
        }
    }

    pub(super) fn malformed(reason: &str) -> RawCall {
        RawCall { id: None, tool: String::new(), arguments: Err(reason.to_owned()) }
    }
}
