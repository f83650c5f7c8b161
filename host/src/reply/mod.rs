//! What the model gets back: exactly one reply for each call.

mod content;
mod evict;
mod excerpt;
mod layout;
mod media;
mod normalise;
mod program;
mod tokens;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;

pub use content::Document;
pub use evict::{Evicted, ResultLimits};
pub(crate) use evict::{Eviction, Pager, RESULTS};
pub(crate) use excerpt::Excerpt;
pub(crate) use normalise::{failure, invalid, returned, timed_out};
pub(crate) use program::{Output, exited};
pub use tokens::{FourBytes, Tokenizer, tokenizer};

use crate::call::{Status, Usage};
use crate::sandbox::{Log, LogEntry};

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
    /// With what a program ended; nothing where it was stopped, and for any other tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
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
    /// What the guest wrote to standard output, at most 1 MiB. What a program writes is content.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What the guest wrote to standard error, at most 1 MiB; a crashed guest often says there why. What a program writes is
    /// content.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// What the guest logged, at most 1,000 messages and 64 KiB of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogEntry>,
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
    /// A picture: PNG, JPEG, GIF or WebP.
    Image {
        /// What it is, by what is in it.
        mime_type: String,
        /// Its bytes in base64.
        data: String,
    },
    /// A sound.
    Audio {
        /// What it is, by what is in it.
        mime_type: String,
        /// Its bytes in base64.
        data: String,
    },
    /// A document as a whole.
    Resource {
        /// What it is: of text what the tool says, of anything else what is in it.
        mime_type: String,
        /// Where it is from, in the tool's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
        /// What it holds.
        #[serde(flatten)]
        document: Document,
    },
}

impl Block {
    /// Whether it is a picture or a sound.
    fn is_media(&self) -> bool {
        matches!(self, Block::Image { .. } | Block::Audio { .. })
    }

    /// Whether it is neither text nor a picture or a sound.
    fn is_data(&self) -> bool {
        matches!(self, Block::Resource { document: Document::Data { .. }, .. })
    }

    /// Its bytes, where it is no text.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.data()?).ok()
    }

    /// The same in base64.
    fn data(&self) -> Option<&str> {
        match self {
            Block::Image { data, .. } | Block::Audio { data, .. } => Some(data),
            Block::Resource { document: Document::Data { data }, .. } => Some(data),
            _ => None,
        }
    }

    /// What is told of it where nothing but text can be shown.
    pub(crate) fn told(&self) -> Cow<'_, str> {
        match self {
            Block::Text { text } => text.into(),
            Block::Image { mime_type, data } | Block::Audio { mime_type, data } => told(mime_type, data).into(),
            Block::Resource { mime_type, uri, document } => {
                let from = uri.as_deref().map(|uri| format!(" from {uri}")).unwrap_or_default();
                match document {
                    Document::Text { text } => format!("[{mime_type}{from}]\n{text}").into(),
                    Document::Data { data } => format!("{}{from}", told(mime_type, data)).into(),
                }
            }
        }
    }

    /// What it takes written out, about, in bytes.
    fn size(&self) -> usize {
        match self {
            Block::Text { text } => text.len(),
            Block::Image { data, .. } | Block::Audio { data, .. } => data.len(),
            Block::Resource {
                document: Document::Text { text: held } | Document::Data { data: held }, uri, ..
            } => held.len() + uri.as_ref().map_or(0, String::len),
        }
    }
}

/// What is told of bytes that are not shown.
fn told(mime_type: &str, base64: &str) -> String {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    format!("[{mime_type}, {} bytes]", base64.len() / 4 * 3 - padding)
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplyError {
    /// What kind: the limit that was reached (`fuel`, `memory`, `stack`, `input`, `output`, `stdout`, `stderr`,
    /// `stream`, `objects`, `host-call`, `queue`), or the status itself.
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
    /// The content's text, block by block; of what is none its type and size.
    pub fn text(&self) -> String {
        self.content.iter().map(Block::told).collect::<Vec<_>>().join("\n")
    }

    /// Keeps what the guest logged, and says how much of it there was no room for.
    fn keep_log(&mut self, log: Log) {
        self.logs = log.entries;
        if log.dropped > 0 {
            self.notes.push(format!("{} messages of its log are not kept: there was no room for them", log.dropped));
        }
    }

    /// Whether the model should read the reply as a failure.
    pub fn is_error(&self) -> bool {
        self.status != Status::Ok
    }
}
