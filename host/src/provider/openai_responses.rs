//! OpenAI's responses: functions as tools, `function_call` items, a `function_call_output` item for each reply.

use serde::Serialize;
use serde_json::json;

use super::call::{CUSTOM_TOOL, RawCall};
use super::dialect::Described;
use super::openai::{Strictness, function};
use super::raw::Value;
use super::{MessageError, marked_text};
use crate::reply::Reply;
use crate::tool::Tool;

pub(super) fn tool(tool: &Tool, strictness: Strictness) -> Result<Described, String> {
    let (function, loosened) = function(tool, strictness)?;
    let mut described = json!({"type": "function"});
    if let (Some(described), serde_json::Value::Object(function)) = (described.as_object_mut(), function) {
        described.extend(function);
    }
    Ok(Described { tool: described, loosened })
}

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let items = match value.array()? {
        Some(items) => items,
        None => match value.expect_object("message")?.get("output") {
            Some(output) => output.expect_array("/output")?,
            None => vec![value],
        },
    };
    let mut calls = Vec::new();
    for value in items {
        match value.kind("type").as_deref() {
            Some("function_call") => calls.push(RawCall::read(value, "call_id", RawCall::of_function)),
            Some("custom_tool_call") => {
                calls.push(RawCall::read(value, "call_id", |_| RawCall::malformed(CUSTOM_TOOL)));
            }
            _ => {}
        }
    }
    Ok(calls)
}

#[derive(Serialize)]
pub(super) struct Item<'r> {
    r#type: &'static str,
    call_id: &'r str,
    output: String,
}

pub(super) fn answer(replies: &[Reply]) -> Vec<Item<'_>> {
    let items = replies.iter().map(|reply| Item {
        r#type: "function_call_output",
        call_id: &reply.id,
        output: marked_text(reply),
    });
    items.collect()
}
