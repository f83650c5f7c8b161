//! LangChain's messages as dictionaries: `tool_calls` with `args`, a `tool` message for each reply.

use serde::Serialize;

use super::call::RawCall;
use super::raw::{Object, Value};
use super::{MessageError, text};
use crate::reply::Reply;

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let mut message = value.expect_object("message")?;
    // `message_to_dict` wraps a message's fields in `data`.
    if let Some(data) = message.get("data") {
        message = data.expect_object("/data")?;
    }
    let mut calls = entries(&message, "tool_calls")?;
    // Calls whose arguments LangChain could not parse keep them as text, and need a reply like any other.
    calls.extend(entries(&message, "invalid_tool_calls")?);
    Ok(calls)
}

fn entries(message: &Object<'_>, key: &str) -> Result<Vec<RawCall>, MessageError> {
    let Some(entries) = message.get(key) else {
        return Ok(Vec::new());
    };
    let calls = entries.expect_array(&format!("/{key}"))?.into_iter().map(|entry| {
        RawCall::read(entry, "id", |entry| {
            let mut call = RawCall::of_object(entry, "args");
            if let (Ok(arguments), Some(text)) = (&mut call.arguments, entry.string("args")) {
                *arguments = text;
            }
            call
        })
    });
    Ok(calls.collect())
}

#[derive(Serialize)]
pub(super) struct ToolMessage<'r> {
    r#type: &'static str,
    tool_call_id: &'r str,
    name: &'r str,
    content: String,
    status: &'static str,
}

pub(super) fn answer(replies: &[Reply]) -> Vec<ToolMessage<'_>> {
    let messages = replies.iter().map(|reply| ToolMessage {
        r#type: "tool",
        tool_call_id: &reply.id,
        name: &reply.tool,
        content: text(reply),
        status: if reply.is_error() { "error" } else { "success" },
    });
    messages.collect()
}
