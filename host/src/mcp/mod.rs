//! The Model Context Protocol's view of tools and of what comes of their calls.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::call::Status;
use crate::provider::prose;
use crate::reply::{Block, Document, Evicted, Reply};
use crate::tool::Tool;

/// The key under which a result stands that is no object: the protocol wants one.
const RESULT: &str = "result";

/// A tool as `tools/list` gives it: JSON Schema 2020-12, with an object at the root of the output schema.
///
/// A result that is no object is wrapped as `{"result": …}`, here and by [`result`]. The annotations are what the tool
/// says of its effects, as far as its grant lets that be true.
pub fn tool(tool: &Tool) -> Value {
    let mut listed = json!({"name": tool.name()});
    if let Some(title) = tool.title() {
        listed["title"] = json!(title);
    }
    listed["description"] = json!(prose(tool, None, tool.example_lines()));
    listed["inputSchema"] = tool.input_schema();
    if let Some(mut schema) = tool.output_schema() {
        listed["outputSchema"] = if tool.returns_object() {
            schema
        } else {
            // References start at the root.
            let defs = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
            let mut wrapped = json!({
                "type": "object",
                "properties": { RESULT: schema },
                "required": [RESULT],
                "additionalProperties": false,
            });
            if let Some(defs) = defs {
                wrapped["$defs"] = defs;
            }
            wrapped
        };
    }
    let annotations = annotations(tool);
    if !annotations.is_empty() {
        listed["annotations"] = Value::Object(annotations);
    }
    listed
}

fn annotations(tool: &Tool) -> Map<String, Value> {
    let hints = tool.hints();
    let claims = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ];
    claims.into_iter().filter_map(|(name, claim)| Some((name.to_owned(), json!(claim?)))).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallToolResult<'r> {
    content: Vec<Content<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Structured<'r>>,
    is_error: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Content<'r> {
    Text {
        text: Cow<'r, str>,
    },
    Image {
        data: &'r str,
        mime_type: &'r str,
    },
    Audio {
        data: &'r str,
        mime_type: &'r str,
    },
    Resource {
        resource: Embedded<'r>,
    },
    /// A file of the session's results.
    ResourceLink {
        uri: String,
        name: &'r str,
        mime_type: &'r str,
        size: u64,
    },
}

/// A document. The protocol wants an address; what the tool gives as one is nobody's to follow.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Embedded<'r> {
    uri: String,
    mime_type: &'r str,
    blob: &'r str,
}

impl<'r> Content<'r> {
    fn link(evicted: &'r Evicted) -> Self {
        let Evicted { path, mime_type, bytes, .. } = evicted;
        let name = path.rsplit('/').next().unwrap_or(path);
        Content::ResourceLink { uri: format!("witbox:{path}"), name, mime_type, size: *bytes }
    }

    fn of(block: &'r Block, index: usize) -> Self {
        match block {
            Block::Image { mime_type, data } => Content::Image { data, mime_type },
            Block::Audio { mime_type, data } => Content::Audio { data, mime_type },
            Block::Resource { mime_type, document: Document::Data { data }, .. } => {
                let uri = format!("witbox:part/{index}");
                Content::Resource { resource: Embedded { uri, mime_type, blob: data } }
            }
            block => Content::Text { text: block.told() },
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Structured<'r> {
    Object(&'r RawValue),
    Wrapped { result: &'r RawValue },
}

/// The JSON of a reply as `tools/call` gives it. `tool` is the tool that was called, where there is one.
///
/// The structured content is there whenever the tool has an output schema and returned; what a tool says on its `err`
/// side is text, since the schema does not describe it.
pub fn result(tool: Option<&Tool>, reply: &Reply) -> String {
    let structured_content = match (&reply.structured, tool) {
        (Some(value), Some(tool)) if reply.status == Status::Ok => Some(match tool.returns_object() {
            true => Structured::Object(value),
            false => Structured::Wrapped { result: value },
        }),
        _ => None,
    };
    let content = reply.content.iter().enumerate().map(|(index, block)| Content::of(block, index));
    let content = content.chain(reply.evicted.iter().map(Content::link)).collect();
    let result = CallToolResult { content, structured_content, is_error: reply.is_error() };
    // Nothing in it can fail to be written: its keys are strings, its values text.
    serde_json::to_string(&result).unwrap_or_default()
}
