//! Model providers: tools as their requests describe them, an assistant message → calls, and replies → the tool messages
//! of the same provider.

mod anthropic;
mod bedrock;
mod call;
mod detect;
mod dialect;
mod gemini;
mod langchain;
mod lint;
mod openai;
mod openai_responses;
mod raw;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use dialect::Dialect;
pub(crate) use dialect::{DialectError, prose};
pub use lint::{Finding, Severity, lint};

use crate::call::{Call, Status};
use crate::error::Error;
use crate::reply::{Block, Reply};

/// The largest message that is read, in bytes: many calls with the largest arguments that the default limits allow.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The most calls of one message that run; what is behind them is answered as invalid. No provider asks for as many.
const MAX_CALLS: usize = 1_000;

/// What stands for an empty result where a provider rejects empty content.
const NO_OUTPUT: &str = "(no output)";

/// Whose messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// OpenAI's chat completions.
    OpenAi,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// Bedrock's Converse.
    Bedrock,
    /// LangChain's messages as dictionaries.
    LangChain,
}

/// A message that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("the message is empty")]
    Empty,
    #[error("the message has more than {MAX_MESSAGE_BYTES} bytes")]
    TooLarge,
    #[error("the message is not JSON: {0}")]
    Json(String),
    #[error("{place}: {reason}")]
    Shape { place: String, reason: String },
    #[error(
        "an assistant message of no known provider: expected an object with `tool_calls` (openai, langchain), with `content` that holds `tool_use` (anthropic) or `toolUse` (bedrock), with `parts` that hold `functionCall` (gemini), or an array with items of type `function_call` (openai-responses)"
    )]
    Unknown,
    #[error("the message has no calls as {format} writes them, but some as {other} does")]
    Other { format: Format, other: Format },
    #[error("`{0}` is no message format; there are {known}", known = Format::NAMES.join(", "))]
    Format(String),
}

impl Format {
    const ALL: [Format; 6] = [
        Format::OpenAi,
        Format::OpenAiResponses,
        Format::Anthropic,
        Format::Gemini,
        Format::Bedrock,
        Format::LangChain,
    ];
    /// The names that [`FromStr`] reads.
    pub const NAMES: [&'static str; 6] = ["openai", "openai-responses", "anthropic", "gemini", "bedrock", "langchain"];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Format::NAMES[*self as usize])
    }
}

impl FromStr for Format {
    type Err = Error;

    /// # Errors
    /// When the text is none of [`Format::NAMES`].
    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Format::ALL.into_iter().find(|format| format.to_string() == text);
        Ok(found.ok_or_else(|| MessageError::Format(text.to_owned()))?)
    }
}

/// The calls of one assistant message.
///
/// ```
/// let message = witbox::Message::parse(
///     r#"{"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
///         "function": {"name": "files_ls", "arguments": "{\"path\": \"/docs\"}"}}]}"#,
/// )?;
/// assert_eq!(message.format(), witbox::Format::OpenAi);
/// assert_eq!(message.calls()[0].tool, "files_ls");
/// # Ok::<(), witbox::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Message {
    format: Format,
    calls: Vec<Call>,
    /// Whether the provider gave each call its id, which a reply then repeats.
    identified: Vec<bool>,
}

impl Message {
    /// Reads an assistant message, or a provider's whole response with one, and finds out whose it is.
    ///
    /// A single call that cannot be read does not fail the message: its reply will say what is wrong with it.
    ///
    /// # Errors
    /// An error that [`is_message`](Error::is_message) when the text is no JSON, is of no known provider or larger than
    /// [`MAX_MESSAGE_BYTES`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let value = raw::Value::parse(text)?;
        let format = detect::format(value)?;
        Message::read(value, format)
    }

    /// Reads an assistant message of a known provider.
    ///
    /// # Errors
    /// An error that [`is_message`](Error::is_message) when the text is not what that provider writes; its calls would
    /// be lost otherwise.
    pub fn parse_as(text: &str, format: Format) -> Result<Self, Error> {
        let value = raw::Value::parse(text)?;
        let message = Message::read(value, format)?;
        if message.calls.is_empty() {
            let other = detect::format(value)?;
            if other != format && !Message::read(value, other)?.calls.is_empty() {
                return Err(MessageError::Other { format, other }.into());
            }
        }
        Ok(message)
    }

    fn read(value: raw::Value<'_>, format: Format) -> Result<Self, Error> {
        let raw_calls = match format {
            Format::OpenAi => openai::calls(value),
            Format::OpenAiResponses => openai_responses::calls(value),
            Format::Anthropic => anthropic::calls(value),
            Format::Gemini => gemini::calls(value),
            Format::Bedrock => bedrock::calls(value),
            Format::LangChain => langchain::calls(value),
        }?;
        let identified = raw_calls.iter().map(|call| call.id.is_some()).collect();
        let given: HashSet<String> = raw_calls.iter().filter_map(|call| call.id.clone()).collect();
        let calls = raw_calls.into_iter().enumerate().map(|(index, raw)| {
            // Gemini tells calls by their place, so that one without an id is as good as any; elsewhere it is a fault.
            let id = match (raw.id, format) {
                (Some(id), _) => id,
                (None, Format::Gemini) => unused(format!("#{}", index + 1), &given),
                (None, _) => String::new(),
            };
            match raw.arguments {
                Ok(_) if index >= MAX_CALLS => {
                    let reason =
                        format!("a message may have {MAX_CALLS} calls; this one is behind them and did not run");
                    Call::malformed(id, raw.tool, reason)
                }
                Ok(arguments) => Call::new(id, raw.tool, arguments),
                Err(reason) => Call::malformed(id, raw.tool, reason),
            }
        });
        Ok(Message { format, calls: calls.collect(), identified })
    }

    /// Whose message it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Its calls, in its order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The tool messages that answer it, as JSON text: an array of them, or the one message where the provider takes
    /// all results in one. A message without calls is answered by an empty array.
    ///
    /// `replies` are those to its [`calls`](Self::calls), in their order.
    pub fn answer(&self, replies: &[Reply]) -> String {
        if replies.is_empty() {
            return "[]".to_owned();
        }
        let answer = match self.format {
            Format::OpenAi => json(&openai::answer(replies)),
            Format::OpenAiResponses => json(&openai_responses::answer(replies)),
            Format::Anthropic => json(&anthropic::answer(replies)),
            Format::Gemini => {
                let ids = replies.iter().zip(&self.identified);
                let ids = ids.map(|(reply, identified)| identified.then_some(reply.id.as_str()));
                json(&gemini::answer(replies, ids))
            }
            Format::Bedrock => json(&bedrock::answer(replies)),
            Format::LangChain => json(&langchain::answer(replies)),
        };
        answer.unwrap_or_else(|error| format!("\"witbox could not write its replies as JSON: {error}\""))
    }
}

/// An id that no call of the message has.
fn unused(mut id: String, given: &HashSet<String>) -> String {
    while given.contains(&id) {
        id.push('#');
    }
    id
}

fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

/// A reply's content where pictures and sounds can be shown: texts that stand together are one.
enum Part<'r> {
    Text(String),
    Image { mime_type: &'r str, data: &'r str },
    Audio { mime_type: &'r str, data: &'r str },
}

/// The parts of a reply, at least one. An error is told in text alone: some providers refuse a picture of one.
fn parts(reply: &Reply) -> Vec<Part<'_>> {
    if reply.is_error() {
        return vec![Part::Text(text(reply))];
    }
    let mut parts: Vec<Part<'_>> = Vec::new();
    for block in &reply.content {
        let part = match block {
            Block::Image { mime_type, data } => Part::Image { mime_type, data },
            Block::Audio { mime_type, data } => Part::Audio { mime_type, data },
            block => Part::Text(block.told().into_owned()),
        };
        match (parts.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(more)) => {
                text.push('\n');
                text.push_str(&more);
            }
            (_, part) => parts.push(part),
        }
    }
    let is_empty = parts.iter().all(|part| matches!(part, Part::Text(text) if text.is_empty()));
    if is_empty { vec![Part::Text(NO_OUTPUT.to_owned())] } else { parts }
}

/// Bytes as an address that holds them (RFC 2397).
fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}

/// What is told of a sound where none can be heard.
fn unheard(mime_type: &str) -> String {
    format!("[{mime_type}: sounds cannot be shown here]")
}

/// A reply's text where an empty one would be rejected.
fn text(reply: &Reply) -> String {
    let text = reply.text();
    if text.is_empty() { NO_OUTPUT.to_owned() } else { text }
}

/// A reply's text for a provider whose tool messages have no mark for errors: the text says it itself.
fn marked_text(reply: &Reply) -> String {
    match reply.status {
        Status::Ok => text(reply),
        status => format!("Error ({status}): {}", text(reply)),
    }
}
