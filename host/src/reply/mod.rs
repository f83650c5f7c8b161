//! What the model gets back: exactly one reply for each call.

mod evict;
mod excerpt;
mod layout;
mod normalise;

use serde::Serialize;
use serde_json::value::RawValue;

pub use evict::{Evicted, FourBytes, ResultLimits, Tokenizer};
pub(crate) use evict::{Eviction, Pager, RESULTS};
pub(crate) use excerpt::Excerpt;
pub(crate) use normalise::{failure, invalid, returned, timed_out};

use crate::call::{Status, Usage};

/// The one answer to a call.
///
/// Its JSON is what `witbox call --json` prints. Of it the model gets `content` and `structured`; the rest is the
/// operator's.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Reply {
    /// The call's id.
    pub id: String,
    /// The tool's name, as the call gave it.
    pub tool: String,
    /// How the call ended.
    pub status: Status,
    /// What the model reads. Empty where a tool returned nothing.
    pub content: Vec<Block>,
    /// The returned value as JSON, or the `err` value of a `tool-error`; nothing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Box<RawValue>>,
    /// What went wrong, for every status but `ok` and `tool-error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ReplyError>,
    /// Arguments that were read as something else than they are, and what JSON could not say of the value, such as a
    /// number that is not finite.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Operations that the guest tried and the grant refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// What was moved into files, since it is too big for the model. This tells, whatever a text says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<Evicted>,
    /// What the guest wrote to standard output, at most 1 MiB.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What the guest wrote to standard error, at most 1 MiB; a crashed guest often says there why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// What the call used.
    pub usage: Usage,
}

/// A part of a reply's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Block {
    /// Text as it is.
    Text {
        /// The text.
        text: String,
    },
}

impl Block {
    /// Its text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text } => Some(text),
        }
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplyError {
    /// What kind: the limit that was reached (`fuel`, `memory`, `stack`, `input`, `output`, `stdout`, `stderr`,
    /// `objects`, `host-call`, `queue`), or the status itself.
    pub kind: String,
    /// What went wrong and where, in one sentence or one line a fault.
    pub message: String,
    /// A JSON pointer to the first faulty argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What is told of a denial's target, in bytes.
const MAX_TARGET: usize = 1_024;

/// One operation that the guest tried and the grant refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Denial {
    /// What it tried, such as `read` or `http`.
    pub operation: String,
    /// On what: a path, by where it really leads, or an origin; cut at 1 KiB.
    pub target: String,
    /// What refused it.
    pub rule: String,
}

impl Denial {
    pub(crate) fn new(operation: &str, target: String, rule: &str) -> Self {
        // What a guest names may be of any length, and a reply is not.
        let mut target = target;
        if target.len() > MAX_TARGET {
            target.truncate(target.floor_char_boundary(MAX_TARGET));
            target.push('…');
        }
        Denial { operation: operation.to_owned(), target, rule: rule.to_owned() }
    }
}

impl Reply {
    /// The content's text, block by block.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(Block::as_text);
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether the model should read the reply as a failure.
    pub fn is_error(&self) -> bool {
        self.status != Status::Ok
    }
}
