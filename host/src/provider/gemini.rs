//! Gemini's contents: `functionDeclarations`, `functionCall` parts, one `user` content with a `functionResponse` for each reply.

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::call::RawCall;
use super::dialect::{Described, some_prose};
use super::raw::Value;
use super::{MessageError, parts, text};
use crate::reply::Reply;
use crate::tool::{Closed, Maps, Null, Style, Tool, Unions};

/// The fields of its `Schema`: a subset of OpenAPI 3.0, without `$ref`, `const`, `oneOf`, `prefixItems`,
/// `additionalProperties` and `uniqueItems`. Vertex takes nothing beside `anyOf`.
const STYLE: Style = Style {
    unions: Unions::BareAny,
    null: Null::Keyword,
    maps: Maps::Entries,
    closed: Closed::Nowhere,
    identifiers: true,
    unique: false,
    ..Style::SUBSET
};

pub(super) fn tool(tool: &Tool) -> Described {
    let built = tool.input(&STYLE);
    let mut described = json!({"name": tool.name(), "description": some_prose(tool)});
    // An object without properties is refused.
    if !tool.params().is_empty() {
        described["parameters"] = built.schema;
    }
    Described { tool: described, loosened: built.loosened }
}

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let mut content = value.expect_object("message")?;
    if let Some(candidates) = content.get("candidates") {
        content = candidates.expect_only("/candidates", "content")?;
    }
    let mut calls = Vec::new();
    let parts = content.get("parts").map(|parts| parts.expect_array("/parts")).transpose()?;
    for part in parts.unwrap_or_default() {
        let Some(part) = part.object()? else { continue };
        // The Python SDK writes names in snake_case.
        if let Some(call) = part.get("functionCall").or_else(|| part.get("function_call")) {
            calls.push(RawCall::read(call, "id", |entry| RawCall::of_object(entry, "args")));
        }
    }
    Ok(calls)
}

#[derive(Serialize)]
pub(super) struct Content<'r> {
    role: &'static str,
    parts: Vec<Part<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'r> {
    function_response: FunctionResponse<'r>,
}

#[derive(Serialize)]
struct FunctionResponse<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r str>,
    name: &'r str,
    response: Response<'r>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<MediaPart<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MediaPart<'r> {
    inline_data: Blob<'r>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'r> {
    mime_type: &'r str,
    data: &'r str,
}

/// The keys that Gemini's documentation gives for a function's output and its error.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'r> {
    Output(Output<'r>),
    Error(String),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'r> {
    Value(&'r RawValue),
    Text(String),
}

pub(super) fn answer<'r>(replies: &'r [Reply], ids: impl Iterator<Item = Option<&'r str>>) -> Content<'r> {
    let parts = replies.iter().zip(ids).map(|(reply, id)| {
        let response = match (reply.is_error(), &reply.structured) {
            (true, _) => Response::Error(text(reply)),
            (false, Some(value)) => Response::Output(Output::Value(value)),
            (false, None) => Response::Output(Output::Text(text(reply))),
        };
        Part { function_response: FunctionResponse { id, name: &reply.tool, response, parts: media(reply) } }
    });
    Content { role: "user", parts: parts.collect() }
}

fn media(reply: &Reply) -> Vec<MediaPart<'_>> {
    let media = parts(reply).into_iter().filter_map(|part| match part {
        super::Part::Image { mime_type, data } | super::Part::Audio { mime_type, data } => {
            Some(Blob { mime_type, data })
        }
        super::Part::Text(_) => None,
    });
    media.map(|inline_data| MediaPart { inline_data }).collect()
}
