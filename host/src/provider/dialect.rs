//! A tool as each provider's requests describe it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::lint::{Finding, Severity};
use super::{anthropic, bedrock, gemini, openai, openai_responses};
use crate::error::Error;
use crate::mcp;
use crate::tool::Tool;

/// Whose description of a tool, and the subset of JSON Schema that comes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "&'static str")]
#[non_exhaustive]
pub enum Dialect {
    /// The Model Context Protocol: all of JSON Schema 2020-12.
    Mcp,
    /// OpenAI's chat completions.
    OpenAi,
    /// OpenAI's chat completions with `strict`, where the model can send nothing else than the schema says.
    OpenAiStrict,
    /// OpenAI's responses.
    OpenAiResponses,
    /// OpenAI's responses with `strict`.
    OpenAiResponsesStrict,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`: the subset of OpenAPI that its `parameters` take.
    Gemini,
    /// Bedrock's Converse.
    Bedrock,
}

/// A dialect that is none, or a tool that a dialect cannot hold.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialectError {
    #[error("`{0}` is no dialect; there are {known}", known = Dialect::NAMES.join(", "))]
    Unknown(String),
    #[error("witbox has no strict form for {dialect}; it has for openai and openai-responses")]
    NotStrict { dialect: Dialect },
    #[error("`{tool}` cannot be described for {dialect}: {reason}")]
    Tool { tool: String, dialect: Dialect, reason: String },
}

/// A tool in a dialect, and what the dialect could not say.
pub(super) struct Described {
    pub(super) tool: Value,
    pub(super) loosened: BTreeSet<&'static str>,
}

impl Dialect {
    /// The names that [`FromStr`] reads.
    pub const NAMES: [&'static str; 6] = ["mcp", "openai", "openai-responses", "anthropic", "gemini", "bedrock"];

    /// Every dialect.
    pub const ALL: [Dialect; 8] = [
        Dialect::Mcp,
        Dialect::OpenAi,
        Dialect::OpenAiStrict,
        Dialect::OpenAiResponses,
        Dialect::OpenAiResponsesStrict,
        Dialect::Anthropic,
        Dialect::Gemini,
        Dialect::Bedrock,
    ];

    /// The strict form of a dialect.
    ///
    /// # Errors
    /// When it has none.
    pub fn strict(self) -> Result<Self, Error> {
        match self {
            Dialect::OpenAi | Dialect::OpenAiStrict => Ok(Dialect::OpenAiStrict),
            Dialect::OpenAiResponses | Dialect::OpenAiResponsesStrict => Ok(Dialect::OpenAiResponsesStrict),
            dialect => Err(DialectError::NotStrict { dialect }.into()),
        }
    }

    /// One tool as a request describes it.
    ///
    /// # Errors
    /// When the dialect cannot hold its types at all.
    ///
    /// ```
    /// # fn main() -> Result<(), witbox::Error> {
    /// let engine = witbox::Engine::new()?;
    /// let tools = witbox::Component::builtin(&engine, "triage")?.tools("triage")?;
    /// let described = witbox::Dialect::Anthropic.tool(&tools[0])?;
    /// assert_eq!(described["name"], "triage_classify");
    /// assert_eq!(described["input_schema"]["type"], "object");
    /// # Ok(())
    /// # }
    /// ```
    pub fn tool(self, tool: &Tool) -> Result<Value, Error> {
        let described = self.describe(tool);
        let refused = |reason| DialectError::Tool { tool: tool.name().to_owned(), dialect: self, reason };
        Ok(described.map_err(refused)?.tool)
    }

    /// Tools as a request takes them all: an array, or for Bedrock its `toolConfig`. A tool that the dialect cannot hold
    /// is left out, and why is told.
    pub fn tools(self, tools: &[Arc<Tool>]) -> (Value, Vec<Finding>) {
        let mut described = Vec::with_capacity(tools.len());
        let mut refused = Vec::new();
        for tool in tools {
            match self.describe(tool) {
                Ok(good) => described.push(good.tool),
                Err(reason) => refused.push(Finding::of_tool(tool, vec![self], Severity::Rejected, reason)),
            }
        }
        let request = match self {
            Dialect::Gemini if described.is_empty() => json!([]),
            Dialect::Gemini => json!([{"functionDeclarations": described}]),
            Dialect::Bedrock => json!({"tools": described}),
            _ => Value::Array(described),
        };
        (request, refused)
    }

    /// The tool, or why the dialect cannot hold it.
    pub(super) fn describe(self, tool: &Tool) -> Result<Described, String> {
        match self {
            Dialect::Mcp => Ok(Described { tool: mcp::tool(tool), loosened: BTreeSet::new() }),
            Dialect::OpenAi => openai::tool(tool, openai::Strictness::Loose),
            Dialect::OpenAiStrict => openai::tool(tool, openai::Strictness::Strict),
            Dialect::OpenAiResponses => openai_responses::tool(tool, openai::Strictness::Loose),
            Dialect::OpenAiResponsesStrict => openai_responses::tool(tool, openai::Strictness::Strict),
            Dialect::Anthropic => Ok(anthropic::tool(tool)),
            Dialect::Gemini => Ok(gemini::tool(tool)),
            Dialect::Bedrock => Ok(bedrock::tool(tool)),
        }
    }
}

impl From<Dialect> for &'static str {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Mcp => "mcp",
            Dialect::OpenAi => "openai",
            Dialect::OpenAiStrict => "openai strict",
            Dialect::OpenAiResponses => "openai-responses",
            Dialect::OpenAiResponsesStrict => "openai-responses strict",
            Dialect::Anthropic => "anthropic",
            Dialect::Gemini => "gemini",
            Dialect::Bedrock => "bedrock",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str((*self).into())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    /// # Errors
    /// When the text is none of [`Dialect::NAMES`].
    fn from_str(text: &str) -> Result<Self, Error> {
        let named = Dialect::NAMES.contains(&text);
        let found = Dialect::ALL.into_iter().find(|dialect| named && dialect.to_string() == text);
        Ok(found.ok_or_else(|| DialectError::Unknown(text.to_owned()))?)
    }
}

/// A tool's description with what a dialect has no other place for.
pub(crate) fn prose<'t>(tool: &Tool, returns: Option<&str>, examples: impl Iterator<Item = &'t str>) -> String {
    let mut parts = vec![tool.description().to_owned()];
    parts.extend(returns.map(|returns| format!("Returns: {returns}")));
    let examples: Vec<&str> = examples.collect();
    if !examples.is_empty() {
        parts.push(format!("Examples:\n{}", examples.join("\n")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// All that a tool's docs say, for a dialect with a place for the description only.
pub(super) fn all_prose(tool: &Tool) -> String {
    prose(tool, tool.docs().returns.as_deref(), tool.example_lines())
}

/// The same, for a provider that refuses an empty description.
pub(super) fn some_prose(tool: &Tool) -> String {
    match all_prose(tool) {
        empty if empty.is_empty() => format!("The function {}.", tool.export()),
        prose => prose,
    }
}
