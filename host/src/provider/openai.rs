//! OpenAI's chat completions: `tool_calls` with a function's arguments as text, a `tool` message for each reply.

use serde::Serialize;

use super::raw::{Object, Value, shape};
use super::{MessageError, RawCall, marked_text};
use crate::reply::Reply;

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let mut message = value.expect_object("message")?;
    if let Some(choices) = message.get("choices") {
        let choices = choices.expect_array("/choices")?;
        let [choice] = choices.as_slice() else {
            return Err(shape("/choices", "expected one choice; send the message that you chose"));
        };
        let inner = choice.expect_object("/choices/0")?.get("message");
        let inner = inner.ok_or_else(|| shape("/choices/0", "expected a message"))?;
        message = inner.expect_object("/choices/0/message")?;
    }
    let Some(calls) = message.get("tool_calls") else {
        return Ok(Vec::new());
    };
    calls.expect_array("/tool_calls")?.into_iter().map(call).collect()
}

fn call(value: Value<'_>) -> Result<RawCall, MessageError> {
    let Some(entry) = value.object()? else {
        return Ok(RawCall::malformed(None, String::new(), "a tool call must be an object"));
    };
    let id = entry.string("id");
    let Some(function) = entry.get("function").map(Value::object).transpose()?.flatten() else {
        let reason = match entry.string("type").as_deref() {
            Some("custom") => "custom tools take text; call the tool as a function with JSON arguments",
            _ => "the call has no `function`",
        };
        return Ok(RawCall::malformed(id, String::new(), reason));
    };
    Ok(RawCall::of_function(id, &function))
}

impl RawCall {
    /// A function's `name` and `arguments`, which are JSON text in a string; some servers send the object itself, and
    /// an empty text for a function without parameters.
    pub(super) fn of_function(id: Option<String>, function: &Object<'_>) -> Self {
        let Some(tool) = function.string("name") else {
            return RawCall::malformed(id, String::new(), "the call has no `name`");
        };
        let arguments = match function.get("arguments") {
            None => Ok("{}".to_owned()),
            Some(value) if value.is_object() => Ok(value.text().to_owned()),
            Some(value) => match value.string() {
                Some(text) if text.trim().is_empty() => Ok("{}".to_owned()),
                Some(text) => Ok(text),
                None => Err("`arguments` must be a string that holds a JSON object".to_owned()),
            },
        };
        RawCall { id, tool, arguments }
    }

    /// A call whose arguments are an object of the message.
    pub(super) fn of_object(id: Option<String>, tool: Option<String>, arguments: Option<Value<'_>>) -> Self {
        match tool {
            Some(tool) => RawCall { id, tool, arguments: Ok(arguments.map_or("{}", Value::text).to_owned()) },
            None => RawCall::malformed(id, String::new(), "the call has no `name`"),
        }
    }

    pub(super) fn malformed(id: Option<String>, tool: String, reason: &str) -> Self {
        RawCall { id, tool, arguments: Err(reason.to_owned()) }
    }
}

#[derive(Serialize)]
pub(super) struct ToolMessage<'r> {
    role: &'static str,
    tool_call_id: &'r str,
    content: String,
}

pub(super) fn answer(replies: &[Reply]) -> Vec<ToolMessage<'_>> {
    replies
        .iter()
        .map(|reply| ToolMessage { role: "tool", tool_call_id: &reply.id, content: marked_text(reply) })
        .collect()
}
