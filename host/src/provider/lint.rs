//! What a provider would refuse of a tool, what its dialect loosens, and what a model would find hard.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::dialect::{Dialect, all_prose};
use crate::tool::Tool;

/// The most tools of one request: OpenAI's and Gemini's references name this number.
const MAX_TOOLS: usize = 128;
/// The longest description that OpenAI's reference allowed for long, and gateways still do, in characters.
const MAX_DESCRIPTION: usize = 1_024;
/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// Texts that speak to the model that reads them, and not of the tool, in lower case.
const ADDRESSES_THE_MODEL: [&str; 28] = [
    "system:",
    "assistant:",
    "ignore the",
    "always first",
    "always call",
    "obey",
    "password",
    "ignore previous",
    "ignore all",
    "ignore any",
    "jailbreak",
    "disregard",
    "forget your",
    "forget all",
    "your instructions",
    "system prompt",
    "you are now",
    "you must",
    "you should always",
    "do not tell",
    "don't tell",
    "do not mention",
    "without asking",
    "before using any other tool",
    "instead of any other tool",
    "<system",
    "<important",
    "[inst]",
];

/// Something about a tool that its author or its operator may want to mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The tool; nothing where it is about all of them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The dialects that it is about; none where it is about every model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialects: Vec<Dialect>,
    /// How much it matters.
    pub severity: Severity,
    /// What it is.
    pub message: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Severity {
    /// The provider would refuse it.
    Rejected,
    /// Its docs hide something, or speak to the model and not of the tool.
    Suspicious,
    /// A model may use it wrongly.
    Hard,
    /// The dialect has no keyword for something, which stands in descriptions or takes another form.
    Loosened,
}

impl Finding {
    pub(super) fn of_tool(tool: &Tool, dialects: Vec<Dialect>, severity: Severity, message: String) -> Self {
        Finding { tool: Some(tool.name().to_owned()), dialects, severity, message }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.severity {
            Severity::Rejected => f.write_str("rejected")?,
            Severity::Suspicious => f.write_str("suspicious")?,
            Severity::Hard => f.write_str("hard for a model")?,
            Severity::Loosened => f.write_str("loosened")?,
        }
        if !self.dialects.is_empty() {
            let dialects: Vec<String> = self.dialects.iter().map(Dialect::to_string).collect();
            write!(f, " ({})", dialects.join(", "))?;
        }
        match &self.tool {
            Some(tool) => write!(f, ": {tool}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

/// Looks at tools as every provider and every model would.
///
/// ```
/// # fn main() -> Result<(), witbox::Error> {
/// let engine = witbox::Engine::new()?;
/// let tools = witbox::Component::builtin(&engine, "files")?.tools("files")?;
/// let findings = witbox::lint(&tools);
/// assert!(findings.iter().all(|finding| finding.severity != witbox::Severity::Rejected));
/// # Ok(())
/// # }
/// ```
pub fn lint(tools: &[Arc<Tool>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if tools.len() > MAX_TOOLS {
        let message = format!("there are {} tools, and a request takes {MAX_TOOLS} at most", tools.len());
        let (hard, rejected) = Dialect::ALL
            .into_iter()
            .partition(|dialect| matches!(dialect, Dialect::Mcp | Dialect::Anthropic | Dialect::Bedrock));
        for (dialects, severity) in [(rejected, Severity::Rejected), (hard, Severity::Hard)] {
            findings.push(Finding { tool: None, dialects, severity, message: message.clone() });
        }
    }
    for tool in tools {
        for (severity, message, dialects) in of_dialects(tool) {
            findings.push(Finding::of_tool(tool, dialects, severity, message));
        }
        for message in suspicious(tool) {
            findings.push(Finding::of_tool(tool, Vec::new(), Severity::Suspicious, message));
        }
        for message in of_models(tool) {
            findings.push(Finding::of_tool(tool, Vec::new(), Severity::Hard, message));
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// What is to be said of dialects, each thing once with all the dialects that it is true of.
fn of_dialects(tool: &Tool) -> Vec<(Severity, String, Vec<Dialect>)> {
    let mut all: Vec<(Severity, String, Vec<Dialect>)> = Vec::new();
    for dialect in Dialect::ALL {
        let (severity, message) = match dialect.describe(tool) {
            Err(reason) => (Severity::Rejected, reason),
            Ok(described) if described.loosened.is_empty() => continue,
            Ok(described) => {
                let what: Vec<&str> = described.loosened.into_iter().collect();
                (Severity::Loosened, format!("there is no keyword for {}", what.join(", ")))
            }
        };
        match all.iter_mut().find(|known| known.0 == severity && known.1 == message) {
            Some((_, _, dialects)) => dialects.push(dialect),
            None => all.push((severity, message, vec![dialect])),
        }
    }
    all
}

fn of_models(tool: &Tool) -> Vec<String> {
    let mut hard = Vec::new();
    if tool.description().is_empty() {
        hard.push("it has no description".to_owned());
    }
    let length = all_prose(tool).chars().count();
    if length > MAX_DESCRIPTION {
        hard.push(format!("its description has {length} characters; some gateways refuse more than {MAX_DESCRIPTION}"));
    }
    for param in tool.params() {
        if param.docs.is_none() && param.shape.docs.is_none() {
            hard.push(format!("its parameter `{}` has no description", param.name));
        }
        if param.wit.len() > MAX_NAME {
            hard.push(format!("the name of its parameter `{}` was cut, from `{}`", param.name, param.wit));
        }
    }
    hard.extend(tool.docs().faults.iter().cloned());
    hard
}

/// What should make an operator look twice. No list of phrases is complete.
fn suspicious(tool: &Tool) -> Vec<String> {
    let mut found = Vec::new();
    if tool.docs().hidden > 0 {
        found.push(format!("{} characters that show nothing were left out of its docs", tool.docs().hidden));
    }
    let mut texts = vec![all_prose(tool)];
    descriptions(&tool.input_schema(), &mut texts);
    descriptions(&tool.output_schema().unwrap_or_default(), &mut texts);
    let texts = texts.join("\n").to_lowercase();
    for phrase in ADDRESSES_THE_MODEL {
        if texts.contains(phrase) {
            found.push(format!("its docs address the model: \"{phrase}\""));
        }
    }
    found
}

/// Every description of a schema.
fn descriptions(schema: &Value, texts: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "description" => texts.push(text.clone()),
                    _ => descriptions(value, texts),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, texts)),
        _ => {}
    }
}
