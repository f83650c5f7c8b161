//! OpenAI's responses: functions as tools, `function_call` items, a `function_call_output` item for each reply.

use serde::Serialize;
use serde_json::json;

use super::call::{CUSTOM_TOOL, RawCall};
use super::dialect::Described;
use super::openai::{Strictness, function};
use super::raw::Value;
use super::{MessageError, Part, data_url, marked_text, parts, unheard};
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
    output: Output,
}

/// Text alone is no list, as ever.
#[derive(Serialize)]
#[serde(untagged)]
enum Output {
    Text(String),
    Items(Vec<InputItem>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem {
    InputText { text: String },
    InputImage { image_url: String },
}

pub(super) fn answer(replies: &[Reply]) -> Vec<Item<'_>> {
    let items =
        replies.iter().map(|reply| Item { r#type: "function_call_output", call_id: &reply.id, output: output(reply) });
    items.collect()
}

fn output(reply: &Reply) -> Output {
    let parts = parts(reply);
    if parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return Output::Text(marked_text(reply));
    }
    let items = parts.into_iter().map(|part| match part {
        Part::Text(text) => InputItem::InputText { text },
        Part::Image { mime_type, data } => InputItem::InputImage { image_url: data_url(mime_type, data) },
        Part::Audio { mime_type, .. } => InputItem::InputText { text: unheard(mime_type) },
    });
    Output::Items(items.collect())
}
