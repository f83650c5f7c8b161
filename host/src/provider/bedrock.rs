//! Bedrock's Converse: a `toolSpec` for each tool, `toolUse` blocks, one `user` message with a `toolResult` for each reply.

use serde::Serialize;
use serde_json::json;

use super::call::RawCall;
use super::dialect::{Described, some_prose};
use super::raw::{Value, shape};
use super::{MessageError, Part, parts, unheard};
use crate::reply::Reply;
use crate::tool::{Closed, Style, Tool};

/// What every model behind Converse takes. Amazon's own allow nothing but `type`, `properties` and `required` at the
/// root.
const STYLE: Style = Style { closed: Closed::BelowTheRoot, ..Style::SUBSET };

pub(super) fn tool(tool: &Tool) -> Described {
    let built = tool.input(&STYLE);
    let described = json!({
        "toolSpec": {
            "name": tool.name(),
            "description": some_prose(tool),
            "inputSchema": { "json": built.schema },
        }
    });
    Described { tool: described, loosened: built.loosened }
}

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let mut message = value.expect_object("message")?;
    if let Some(output) = message.get("output") {
        let inner = output.expect_object("/output")?.get("message");
        let inner = inner.ok_or_else(|| shape("/output", "expected a message"))?;
        message = inner.expect_object("/output/message")?;
    }
    let mut calls = Vec::new();
    let blocks = message.get("content").map(|content| content.expect_array("/content")).transpose()?;
    for block in blocks.unwrap_or_default() {
        let Some(block) = block.object()? else {
            continue;
        };
        if let Some(call) = block.get("toolUse") {
            calls.push(RawCall::read(call, "toolUseId", |entry| RawCall::of_object(entry, "input")));
        }
    }
    Ok(calls)
}

#[derive(Serialize)]
pub(super) struct UserMessage<'r> {
    role: &'static str,
    content: Vec<Block<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Block<'r> {
    tool_result: ToolResult<'r>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'r> {
    tool_use_id: &'r str,
    /// Text holds every result; a block of JSON must be an object.
    content: Vec<ContentBlock<'r>>,
    status: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ContentBlock<'r> {
    Text(String),
    Image { format: &'r str, source: Source<'r> },
}

#[derive(Serialize)]
struct Source<'r> {
    bytes: &'r str,
}

pub(super) fn answer(replies: &[Reply]) -> UserMessage<'_> {
    let results = replies.iter().map(|reply| Block {
        tool_result: ToolResult {
            tool_use_id: &reply.id,
            content: parts(reply).into_iter().map(block).collect(),
            status: if reply.is_error() { "error" } else { "success" },
        },
    });
    UserMessage { role: "user", content: results.collect() }
}

fn block(part: Part<'_>) -> ContentBlock<'_> {
    match part {
        Part::Text(text) => ContentBlock::Text(text),
        Part::Image { mime_type, data } => {
            let format = mime_type.strip_prefix("image/").unwrap_or(mime_type);
            ContentBlock::Image { format, source: Source { bytes: data } }
        }
        Part::Audio { mime_type, .. } => ContentBlock::Text(unheard(mime_type)),
    }
}
