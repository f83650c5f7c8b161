//! OpenAI's chat completions: functions as tools, `tool_calls` with a function's arguments as text, a `tool` message for each reply.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::call::{CUSTOM_TOOL, RawCall};
use super::dialect::{Described, all_prose};
use super::raw::{Value, shape};
use super::{MessageError, Part, data_url, marked_text, parts};
use crate::reply::Reply;
use crate::tool::{Maps, Style, Tool};

/// Whether the model can send nothing else than the schema says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    Loose,
    Strict,
}

/// What is not refused without `strict`: no union at the root, and `items` for every array.
const STYLE: Style = Style::SUBSET;

/// The subset of structured outputs: every property required, no other allowed, nothing beside a `$ref`.
const STRICT: Style = Style { maps: Maps::Entries, all_required: true, lengths: false, unique: false, ..STYLE };

/// What structured outputs allow of one schema.
const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_ENUM_VALUES: usize = 1_000;
/// Characters of all names of properties and values of enums.
const MAX_NAME_CHARS: usize = 120_000;
/// An enum of more values than this may have so many characters.
const LARGE_ENUM: usize = 250;
const MAX_LARGE_ENUM_CHARS: usize = 15_000;

pub(super) fn tool(tool: &Tool, strictness: Strictness) -> Result<Described, String> {
    let (function, loosened) = function(tool, strictness)?;
    Ok(Described { tool: json!({"type": "function", "function": function}), loosened })
}

/// The name, description and parameters of a function, as both of OpenAI's interfaces have them.
pub(super) fn function(tool: &Tool, strictness: Strictness) -> Result<(Json, BTreeSet<&'static str>), String> {
    let is_strict = strictness == Strictness::Strict;
    let built = tool.input(if is_strict { &STRICT } else { &STYLE });
    if is_strict {
        Counted::of(&built.schema).check()?;
    }
    let function = json!({
        "name": tool.name(),
        "description": all_prose(tool),
        "parameters": built.schema,
        // Said either way: one of the two interfaces takes its absence for true.
        "strict": is_strict,
    });
    Ok((function, built.loosened))
}

/// What structured outputs count of a schema.
#[derive(Debug, Default)]
struct Counted {
    properties: usize,
    levels: usize,
    enum_values: usize,
    name_chars: usize,
    large_enum_chars: usize,
}

impl Counted {
    fn of(schema: &Json) -> Self {
        let mut counted = Counted::default();
        counted.add(schema, 1);
        counted
    }

    /// How levels are counted is written nowhere: each property and each item is one here, the most that it can be. The
    /// forms of a union are on its own level.
    fn add(&mut self, schema: &Json, level: usize) {
        self.levels = self.levels.max(level);
        if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
            for (name, property) in properties {
                self.properties += 1;
                self.name_chars += name.chars().count();
                self.add(property, level + 1);
            }
        }
        if let Some(items) = schema.get("items") {
            self.add(items, level + 1);
        }
        for form in schema.get("anyOf").and_then(Json::as_array).into_iter().flatten() {
            self.add(form, level);
        }
        if let Some(values) = schema.get("enum").and_then(Json::as_array) {
            let chars = values.iter().filter_map(Json::as_str).map(|value| value.chars().count()).sum();
            self.enum_values += values.len();
            self.name_chars += chars;
            if values.len() > LARGE_ENUM {
                self.large_enum_chars = self.large_enum_chars.max(chars);
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let limits = [
            ("properties", self.properties, MAX_PROPERTIES),
            ("levels of nesting", self.levels, MAX_LEVELS),
            ("enum values", self.enum_values, MAX_ENUM_VALUES),
            ("characters in names and enum values", self.name_chars, MAX_NAME_CHARS),
            ("characters in a large enum", self.large_enum_chars, MAX_LARGE_ENUM_CHARS),
        ];
        match limits.into_iter().find(|(_, count, limit)| count > limit) {
            Some((what, count, limit)) => Err(format!("it has {count} {what}, at most {limit} are allowed")),
            None => Ok(()),
        }
    }
}

pub(super) fn calls(value: Value<'_>) -> Result<Vec<RawCall>, MessageError> {
    let mut message = value.expect_object("message")?;
    if let Some(choices) = message.get("choices") {
        message = choices.expect_only("/choices", "message")?;
    }
    if message.get("function_call").is_some() {
        return Err(shape("/function_call", "the legacy form of a call, which has no id; ask the model with `tools`"));
    }
    let Some(calls) = message.get("tool_calls") else {
        return Ok(Vec::new());
    };
    Ok(calls.expect_array("/tool_calls")?.into_iter().map(call).collect())
}

fn call(value: Value<'_>) -> RawCall {
    RawCall::read(value, "id", |entry| match entry.get("function").map(Value::object) {
        Some(Ok(Some(function))) => RawCall::of_function(&function),
        _ if entry.string("type").as_deref() == Some("custom") => RawCall::malformed(CUSTOM_TOOL),
        _ => RawCall::malformed("the call has no `function`"),
    })
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Answer<'r> {
    Tool {
        tool_call_id: &'r str,
        content: String,
    },
    /// Pictures: a tool's own message takes none.
    User {
        content: Vec<Content>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

pub(super) fn answer(replies: &[Reply]) -> Vec<Answer<'_>> {
    let mut pictures = Vec::new();
    let mut answers = Vec::new();
    for reply in replies {
        answers.push(Answer::Tool { tool_call_id: &reply.id, content: marked_text(reply) });
        for part in parts(reply) {
            let Part::Image { mime_type, data } = part else { continue };
            pictures.push(Content::Text { text: format!("A picture that {} returned for {}:", reply.tool, reply.id) });
            pictures.push(Content::ImageUrl { image_url: ImageUrl { url: data_url(mime_type, data) } });
        }
    }
    if !pictures.is_empty() {
        answers.push(Answer::User { content: pictures });
    }
    answers
}
