//! The protocol's view of tools and of what comes of their calls.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use url::Url;

use crate::call::Status;
use crate::provider::prose;
use crate::reply::{Block, Document, Evicted, Reply};
use crate::tool::Tool;

/// The key under which a result stands that is no object: the protocol wants one.
const RESULT: &str = "result";
/// With what our addresses begin.
pub(super) const SCHEME: &str = "witbox";
/// The key under which results stand that were moved into files. No name in WIT begins so.
const EVICTED: &str = "_evicted";

/// A tool as `tools/list` gives it: JSON Schema 2020-12, with an object at the root of the output schema.
///
/// A result that is no object is wrapped as `{"result": …}`, here and by [`result`](fn@result); one that is text has no schema, since
/// the content says all of it. Where a result may be too big for a model, the schema requires no key and knows one more, so that
/// the result may be `{"_evicted": […]}` instead: clients refuse a result without the content that a schema promises. The annotations are what the tool says of its effects,
/// as far as its grant lets that be true.
pub fn tool(tool: &Tool) -> Value {
    let mut listed = json!({"name": tool.name()});
    if let Some(title) = tool.title() {
        listed["title"] = json!(title);
    }
    listed["description"] = json!(prose(tool, None, tool.example_lines()));
    listed["inputSchema"] = tool.input_schema();
    if let Some(schema) = output_schema(tool) {
        listed["outputSchema"] = schema;
    }
    let annotations = annotations(tool);
    if !annotations.is_empty() {
        listed["annotations"] = Value::Object(annotations);
    }
    listed
}

fn output_schema(tool: &Tool) -> Option<Value> {
    let mut schema = tool.output_schema().filter(|_| !tool.returns_text())?;
    if !tool.returns_object() {
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
        schema = wrapped;
    }
    if tool.returns_any_size() {
        schema["properties"][EVICTED] = json!({
            "type": "array",
            "items": {"type": "object"},
            "description": "In place of all the others, where the result is too big: the files that it was moved into",
        });
        // Two alternatives would say more, and a schema that is a union at its root is one that some clients cannot read.
        if let Some(schema) = schema.as_object_mut() {
            schema.shift_remove("required");
        }
    }
    Some(schema)
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

/// What `tools/call` gives.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallToolResult<'r> {
    pub(super) content: Vec<Content<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) structured_content: Option<Structured<'r>>,
    pub(super) is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Meta<'r>>,
}

/// What is for the client and not for the model.
#[derive(Serialize)]
pub(super) struct Meta<'r> {
    /// Where results are that were moved into files.
    #[serde(rename = "witbox/evicted")]
    pub(super) evicted: Vec<Link<'r>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Content<'r> {
    Text { text: Cow<'r, str> },
    Image { data: &'r str, mime_type: &'r str },
    Audio { data: &'r str, mime_type: &'r str },
    Resource { resource: Embedded<'r> },
}

/// Where a file of the session's results is.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link<'r> {
    pub(super) uri: String,
    /// The same to the tools that page results: some clients show a model the structured content alone.
    pub(super) path: &'r str,
    pub(super) name: &'r str,
    pub(super) mime_type: &'r str,
    pub(super) size: u64,
}

/// A document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Embedded<'r> {
    pub(super) uri: Cow<'r, str>,
    pub(super) mime_type: &'r str,
    #[serde(flatten)]
    pub(super) held: Held<'r>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Held<'r> {
    Text(&'r str),
    Blob(&'r str),
}

/// The address of a document: the protocol wants one, and what a tool gives as one is passed on where it can be told from ours.
fn document_uri(given: Option<&str>, index: usize) -> Cow<'_, str> {
    let is_foreign = |uri: &&str| Url::parse(uri).is_ok_and(|url| url.scheme() != SCHEME);
    given.filter(is_foreign).map_or_else(|| format!("{SCHEME}:part/{index}").into(), Cow::from)
}

impl<'r> Link<'r> {
    fn to(evicted: &'r Evicted) -> Self {
        let Evicted { path, mime_type, bytes, .. } = evicted;
        let name = path.rsplit('/').next().unwrap_or(path);
        Link { uri: result_uri(path), path, name, mime_type, size: *bytes }
    }
}

/// The address of a file of the session's results, by its path as the tools that page results see it.
pub(super) fn result_uri(path: &str) -> String {
    format!("{SCHEME}:{path}")
}

impl<'r> Content<'r> {
    fn of(block: &'r Block, index: usize) -> Self {
        match block {
            Block::Image { mime_type, data } => Content::Image { data, mime_type },
            Block::Audio { mime_type, data } => Content::Audio { data, mime_type },
            Block::Resource { mime_type, uri, document } => {
                let held = match document {
                    Document::Text { text } => Held::Text(text),
                    Document::Data { data } => Held::Blob(data),
                };
                let uri = document_uri(uri.as_deref(), index);
                Content::Resource { resource: Embedded { uri, mime_type, held } }
            }
            block => Content::Text { text: block.told() },
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Structured<'r> {
    Object(&'r RawValue),
    Wrapped {
        result: &'r RawValue,
    },
    Evicted {
        #[serde(rename = "_evicted")]
        evicted: Vec<Link<'r>>,
    },
}

impl<'r> CallToolResult<'r> {
    /// What came of a call of a tool, where there is such a tool.
    ///
    /// The structured content is there whenever the tool has an output schema and returned; what a tool says on its `err`
    /// side is text, since the schema does not describe it.
    pub(super) fn of(tool: Option<&Tool>, reply: &'r Reply) -> Self {
        let returned = tool.filter(|tool| reply.status == Status::Ok && tool.returns_json() && !tool.returns_text());
        let structured_content = returned.and_then(|tool| match &reply.structured {
            _ if !reply.evicted.is_empty() => {
                Some(Structured::Evicted { evicted: reply.evicted.iter().map(Link::to).collect() })
            }
            Some(value) if tool.returns_object() => Some(Structured::Object(value)),
            Some(value) => Some(Structured::Wrapped { result: value }),
            None => None,
        });
        let content = reply.content.iter().enumerate().map(|(index, block)| Content::of(block, index)).collect();
        let evicted: Vec<Link<'_>> = reply.evicted.iter().map(Link::to).collect();
        let meta = (!evicted.is_empty()).then_some(Meta { evicted });
        CallToolResult { content, structured_content, is_error: reply.is_error(), meta }
    }
}

/// The JSON of a reply as `tools/call` gives it. `tool` is the tool that was called, where there is one.
///
/// The structured content is there whenever [`tool`](fn@tool) gives an output schema and the tool returned. Where results that were
/// moved into files are, `_meta` says under `witbox/evicted`; the model reads of them in the content, and there is no
/// `resource_link`, at which some frameworks end the model's run.
pub fn result(tool: Option<&Tool>, reply: &Reply) -> String {
    // Nothing in it can fail to be written: its keys are strings, its values text.
    serde_json::to_string(&CallToolResult::of(tool, reply)).unwrap_or_default()
}
