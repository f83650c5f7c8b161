//! Anthropic's messages: tools with an `input_schema`, `tool_use` blocks with the arguments as an object, one `user` message with a `tool_result` for
//! each reply.

use serde::Serialize;
use serde_json::json;

use super::call::RawCall;
use super::dialect::{Described, prose};
use super::raw::Value;
use super::{MessageError, Part, parts, unheard};
use crate::reply::Reply;
use crate::tool::{Style, Tool};

/// All of JSON Schema may stand below the root, which is an object in any case.
pub(super) fn tool(tool: &Tool) -> Described {
    let built = tool.input(&Style::FULL);
    let docs = tool.docs();
    let mut described = json!({
        "name": tool.name(),
        "description": prose(tool, docs.returns.as_deref(), docs.more_examples.iter().map(String::as_str)),
        "input_schema": built.schema,
    });
    if !docs.examples.is_empty() {
        described["input_examples"] = json!(docs.examples);
    }
    Described { tool: described, loosened: built.loosened }
}

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let message = value.expect_object("message")?;
    let mut calls = Vec::new();
    // Content may be plain text, which calls nothing.
    let blocks = message.get("content").map(Value::array).transpose()?.flatten();
    for block in blocks.unwrap_or_default() {
        if block.kind("type").as_deref() == Some("tool_use") {
            calls.push(RawCall::read(block, "id", |entry| RawCall::of_object(entry, "input")));
        }
    }
    Ok(calls)
}

#[derive(Serialize)]
pub(super) struct UserMessage<'r> {
    role: &'static str,
    content: Vec<ToolResult<'r>>,
}

#[derive(Serialize)]
struct ToolResult<'r> {
    r#type: &'static str,
    tool_use_id: &'r str,
    content: Vec<ContentBlock<'r>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ContentBlock<'r> {
    Text { text: String },
    Image { source: Source<'r> },
}

#[derive(Serialize)]
struct Source<'r> {
    r#type: &'static str,
    media_type: &'r str,
    data: &'r str,
}

pub(super) fn answer(replies: &[Reply]) -> UserMessage<'_> {
    let results = replies.iter().map(|reply| ToolResult {
        r#type: "tool_result",
        tool_use_id: &reply.id,
        content: parts(reply).into_iter().map(block).collect(),
        is_error: reply.is_error(),
    });
    UserMessage { role: "user", content: results.collect() }
}

fn block(part: Part<'_>) -> ContentBlock<'_> {
    match part {
        Part::Text(text) => ContentBlock::Text { text },
        Part::Image { mime_type, data } => {
            ContentBlock::Image { source: Source { r#type: "base64", media_type: mime_type, data } }
        }
        Part::Audio { mime_type, .. } => ContentBlock::Text { text: unheard(mime_type) },
    }
}
