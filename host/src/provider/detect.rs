//! Whose message a JSON value is, from the keys that only one provider writes.

use super::raw::{Object, Value};
use super::{Format, MessageError};

pub(super) fn format(value: Value<'_>) -> Result<Format, MessageError> {
    if let Some(items) = value.array()? {
        return match items.first() {
            Some(first) if is_responses_item(&first.object()?) => Ok(Format::OpenAiResponses),
            _ => Err(MessageError::Unknown),
        };
    }
    let Some(message) = value.object()? else {
        return Err(MessageError::Unknown);
    };
    // Whole responses.
    if message.get("choices").is_some() {
        return Ok(Format::OpenAi);
    }
    if message.get("candidates").is_some() {
        return Ok(Format::Gemini);
    }
    match message.get("output") {
        Some(output) if output.is_array() => return Ok(Format::OpenAiResponses),
        Some(output) if output.is_object() => return Ok(Format::Bedrock),
        _ => {}
    }
    // Messages.
    if message.get("parts").is_some() {
        return Ok(Format::Gemini);
    }
    let kind = message.string("type");
    if matches!(kind.as_deref(), Some("ai" | "AIMessageChunk")) {
        return Ok(Format::LangChain);
    }
    if let Some(calls) = message.get("tool_calls") {
        return tool_calls(calls);
    }
    if is_responses_item(&Some(message)) {
        return Ok(Format::OpenAiResponses);
    }
    let Some(message) = value.object()? else {
        return Err(MessageError::Unknown);
    };
    if message.string("role").as_deref() != Some("assistant") {
        return Err(MessageError::Unknown);
    }
    content(&message)
}

fn is_responses_item(item: &Option<Object<'_>>) -> bool {
    let kind = item.as_ref().and_then(|item| item.string("type"));
    let Some(kind) = kind else { return false };
    kind == "function_call"
        || kind == "reasoning"
        || (kind == "message" && item.as_ref().is_some_and(|item| item.string("status").is_some()))
}

/// OpenAI and LangChain share the key; its entries differ.
fn tool_calls(calls: Value<'_>) -> Result<Format, MessageError> {
    for call in calls.array()?.unwrap_or_default() {
        if let Some(call) = call.object()?
            && call.get("function").is_none()
            && (call.get("args").is_some() || call.string("type").as_deref() == Some("tool_call"))
        {
            return Ok(Format::LangChain);
        }
    }
    Ok(Format::OpenAi)
}

/// Anthropic and Bedrock share `content`; its blocks differ. Text alone is the same everywhere and calls nothing.
fn content(message: &Object<'_>) -> Result<Format, MessageError> {
    let Some(content) = message.get("content") else {
        return Err(MessageError::Unknown);
    };
    for block in content.array()?.unwrap_or_default() {
        let Some(block) = block.object()? else {
            continue;
        };
        if block.get("toolUse").is_some() {
            return Ok(Format::Bedrock);
        }
        if block.string("type").as_deref() == Some("tool_use") {
            return Ok(Format::Anthropic);
        }
    }
    Ok(if message.string("type").as_deref() == Some("message") { Format::Anthropic } else { Format::OpenAi })
}
