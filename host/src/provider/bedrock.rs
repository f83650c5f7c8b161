//! Bedrock's Converse: `toolUse` blocks, one `user` message with a `toolResult` for each reply.

use serde::Serialize;

use super::call::RawCall;
use super::raw::{Value, shape};
use super::{MessageError, text};
use crate::reply::Reply;

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
    content: [TextBlock; 1],
    status: &'static str,
}

#[derive(Serialize)]
struct TextBlock {
    text: String,
}

pub(super) fn answer(replies: &[Reply]) -> UserMessage<'_> {
    let results = replies.iter().map(|reply| Block {
        tool_result: ToolResult {
            tool_use_id: &reply.id,
            content: [TextBlock { text: text(reply) }],
            status: if reply.is_error() { "error" } else { "success" },
        },
    });
    UserMessage { role: "user", content: results.collect() }
}
