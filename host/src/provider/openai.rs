//! OpenAI's chat completions: `tool_calls` with a function's arguments as text, a `tool` message for each reply.

use serde::Serialize;

use super::call::{CUSTOM_TOOL, RawCall};
use super::raw::{Value, shape};
use super::{MessageError, marked_text};
use crate::reply::Reply;

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let mut message = value.expect_object("message")?;
    if let Some(choices) = message.get("choices") {
        message = choices.expect_only("/choices", "message")?;
    }
    if message.get("function_call").is_some() {
        return Err(shape("/function_call", "the legacy form of a call, which has no id; ask the model with `tools`"));
    }
    let Some(calls) = message.get("tool_calls") else {
        return Ok(Vec::new());
    };
    Ok(calls.expect_array("/tool_calls")?.into_iter().map(call).collect())
}

fn call(value: Value<'_>) -> RawCall {
    RawCall::read(value, "id", |entry| match entry.get("function").map(Value::object) {
        Some(Ok(Some(function))) => RawCall::of_function(&function),
        _ if entry.string("type").as_deref() == Some("custom") => RawCall::malformed(CUSTOM_TOOL),
        _ => RawCall::malformed("the call has no `function`"),
    })
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
