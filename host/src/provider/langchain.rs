//! LangChain's messages as dictionaries: `tool_calls` with `args`, a `tool` message for each reply.

use serde::Serialize;

use super::call::RawCall;
use super::raw::{Object, Value};
use super::{MessageError, Part, parts};
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
    content: Content<'r>,
    status: &'static str,
}

/// Text alone is no list, as ever.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'r> {
    Text(String),
    Blocks(Vec<Block<'r>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Block<'r> {
    Text { text: String },
    Image { base64: &'r str, mime_type: &'r str },
    Audio { base64: &'r str, mime_type: &'r str },
}

fn content(reply: &Reply) -> Content<'_> {
    let blocks = parts(reply).into_iter().map(|part| match part {
        Part::Text(text) => Block::Text { text },
        Part::Image { mime_type, data } => Block::Image { base64: data, mime_type },
        Part::Audio { mime_type, data } => Block::Audio { base64: data, mime_type },
    });
    let mut blocks: Vec<Block<'_>> = blocks.collect();
    match (blocks.pop(), blocks.is_empty()) {
        (Some(Block::Text { text }), true) => Content::Text(text),
        (last, _) => {
            blocks.extend(last);
            Content::Blocks(blocks)
        }
    }
}

pub(super) fn answer(replies: &[Reply]) -> Vec<ToolMessage<'_>> {
    let messages = replies.iter().map(|reply| ToolMessage {
        r#type: "tool",
        tool_call_id: &reply.id,
        name: &reply.tool,
        content: content(reply),
        status: if reply.is_error() { "error" } else { "success" },
    });
    messages.collect()
}
