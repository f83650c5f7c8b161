//! Whose message a JSON value is, from the keys that only one provider writes.

use super::raw::{Object, Value};
use super::{Format, MessageError};

pub(super) fn format(value: Value<'_>) -> Result<Format, MessageError> {
    if let Some(items) = value.array()? {
        let is_responses = items.iter().any(|item| matches!(item.object(), Ok(Some(item)) if is_responses_item(&item)));
        return if is_responses { Ok(Format::OpenAiResponses) } else { Err(MessageError::Unknown) };
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
    match message.get("tool_calls") {
        // An empty list may stand beside calls in the content.
        Some(calls) if calls.array()?.is_none_or(|calls| !calls.is_empty()) => return tool_calls(calls),
        Some(_) => return content(&message),
        None => {}
    }
    if message.get("function_call").is_some() {
        return Ok(Format::OpenAi);
    }
    if is_responses_item(&message) {
        return Ok(Format::OpenAiResponses);
    }
    if message.string("role").as_deref() != Some("assistant") {
        return Err(MessageError::Unknown);
    }
    content(&message)
}

fn is_responses_item(item: &Object<'_>) -> bool {
    match item.string("type").as_deref() {
        Some("function_call" | "reasoning") => true,
        Some("message") => item.string("status").is_some(),
        _ => false,
    }
}

/// OpenAI and LangChain share the key; its entries differ.
fn tool_calls(calls: Value<'_>) -> Result<Format, MessageError> {
    for call in calls.array()?.unwrap_or_default() {
        if let Ok(Some(call)) = call.object()
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
        let is_openai = message.get("tool_calls").is_some();
        return if is_openai { Ok(Format::OpenAi) } else { Err(MessageError::Unknown) };
    };
    for block in content.array()?.unwrap_or_default() {
        let Ok(Some(block)) = block.object() else { continue };
        if block.get("toolUse").is_some() {
            return Ok(Format::Bedrock);
        }
        if block.string("type").as_deref() == Some("tool_use") {
            return Ok(Format::Anthropic);
        }
    }
    Ok(if message.string("type").as_deref() == Some("message") { Format::Anthropic } else { Format::OpenAi })
}
