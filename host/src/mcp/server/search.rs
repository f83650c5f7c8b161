//! Two tools in place of hundreds: one that finds the others, and one that calls what was found.

use std::fmt::Write as _;
use std::sync::OnceLock;

use bm25::{Document, Language, SearchEngine, SearchEngineBuilder};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::mcp::view;
use crate::tool::Registry;

/// What they are called. No other tool is reached by these names but through the second of them.
pub(super) const FIND: &str = "find_tools";
pub(super) const CALL: &str = "call_tool";
/// How many tools are found where nothing is said, and at most.
const FOUND: usize = 5;
const MOST_FOUND: usize = 25;
/// The most bytes of a query.
const LONGEST_QUERY: usize = 2_000;
/// How much of the toolsets' names a model is told beforehand, in bytes.
const NAMES: usize = 1_000;

/// Finds tools by the words of their names, descriptions and parameters.
#[derive(Default)]
pub(super) struct Search(OnceLock<SearchEngine<usize>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}

/// What the second is asked to call, and with what.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted<'a> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// The two, as they are listed.
pub(super) fn listed(registry: &Registry) -> [Value; 2] {
    let find = format!(
        "Finds tools by what they do, and says how each is called. There are {} tools, of: {}.",
        registry.tools().len(),
        toolsets(registry)
    );
    [
        json!({
            "name": FIND,
            "title": "Find tools",
            "description": find,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What the tool should do, in a few words."},
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": MOST_FOUND,
                        "description": format!("How many tools at most. Without it: {FOUND}."),
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
        }),
        json!({
            "name": CALL,
            "title": "Call a tool",
            "description": format!("Calls a tool that {FIND} has found, and returns what it returns."),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The tool's name."},
                    "arguments": {"type": "object", "description": "Its arguments, as its inputSchema says."},
                },
                "required": ["name"],
                "additionalProperties": false,
            },
        }),
    ]
}

/// The names of the toolsets, as many as fit.
fn toolsets(registry: &Registry) -> String {
    let mut names: Vec<&str> = registry.tools().iter().map(|tool| tool.toolset()).collect();
    names.dedup();
    let mut told = String::new();
    for (index, name) in names.iter().enumerate() {
        if told.len() + name.len() > NAMES {
            // Writing to a string does not fail.
            let _ = write!(told, " and {} more", names.len() - index);
            break;
        }
        told.push_str(if index == 0 { "" } else { ", " });
        told.push_str(name);
    }
    told
}

impl Search {
    /// What a call of the first finds, each as it would be listed.
    pub(super) fn find(&self, registry: &Registry, arguments: &str) -> CallToolResult {
        let find: Find = match serde_json::from_str(arguments) {
            Ok(find) => find,
            Err(error) => {
                return fault(&format!("{FIND}: {error}; expected {{\"query\": \"what the tool should do\"}}"));
            }
        };
        if find.query.len() > LONGEST_QUERY {
            return fault(&format!("{FIND}: the query has more than {LONGEST_QUERY} bytes; a few words are enough"));
        }
        let engine = self.0.get_or_init(|| engine(registry));
        let limit = find.limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
        let found =
            engine.search(&find.query, limit).into_iter().filter_map(|found| registry.tools().get(found.document.id));
        let found: Vec<Value> = found
            .map(|tool| {
                let mut listed = view::tool(tool);
                // How it is called, and nothing else.
                if let Some(listed) = listed.as_object_mut() {
                    listed.retain(|key, _| matches!(key.as_str(), "name" | "description" | "inputSchema"));
                }
                listed
            })
            .collect();
        let text = match found.is_empty() {
            true => format!("no tool has any of these words; there are tools of {}", toolsets(registry)),
            false => json!(found).to_string(),
        };
        CallToolResult::success(vec![ContentBlock::text(text)])
    }
}

/// The tool and the arguments that a call of the second names, or what is wrong with it.
pub(super) fn wanted(arguments: &str) -> Result<(String, String), Box<CallToolResult>> {
    let wanted: Wanted<'_> = serde_json::from_str(arguments).map_err(|error| {
        Box::new(fault(&format!("{CALL}: {error}; expected {{\"name\": \"a_tool\", \"arguments\": {{…}}}}")))
    })?;
    let arguments = wanted.arguments.map_or("{}", RawValue::get);
    // Models write an object into a text, now and then.
    let arguments = serde_json::from_str::<String>(arguments).unwrap_or_else(|_| arguments.to_owned());
    Ok((wanted.name, arguments))
}

fn fault(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

fn engine(registry: &Registry) -> SearchEngine<usize> {
    let documents = registry.tools().iter().enumerate().map(|(index, tool)| {
        let listed = view::tool(tool);
        let parameters = &listed["inputSchema"]["properties"];
        let mut text = format!("{0} {0} {1}", tool.name(), tool.title().unwrap_or_default());
        // Writing to a string does not fail.
        let _ = write!(text, " {}", listed["description"].as_str().unwrap_or_default());
        for (name, parameter) in parameters.as_object().into_iter().flatten() {
            let _ = write!(text, " {name} {}", parameter["description"].as_str().unwrap_or_default());
        }
        Document::new(index, text.replace(['_', '-'], " "))
    });
    SearchEngineBuilder::with_documents(Language::English, documents.collect::<Vec<_>>()).build()
}
