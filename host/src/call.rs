//! What is asked: a call as a model wrote it, and a call that may run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::tool::{Lowered, Tool};

/// A call as a model wrote it: nothing in it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The provider's name for this call; its reply carries the same.
    pub id: String,
    /// The name of the tool, as the model was told it.
    pub tool: String,
    /// The arguments: the text of a JSON object.
    pub arguments: String,
    malformed: Option<String>,
}

impl Call {
    /// A call with its arguments as JSON text.
    ///
    /// ```
    /// let call = witbox::Call::new("call_1", "files_read", r#"{"path": "/docs/README.md"}"#);
    /// assert_eq!(call.tool, "files_read");
    /// ```
    pub fn new(id: impl Into<String>, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        Call { id: id.into(), tool: tool.into(), arguments: arguments.into(), malformed: None }
    }

    /// A call that could not be read from its message; its reply is `invalid` and gives `reason`.
    pub fn malformed(id: impl Into<String>, tool: impl Into<String>, reason: impl Into<String>) -> Self {
        Call { malformed: Some(reason.into()), ..Call::new(id, tool, "") }
    }

    pub(crate) fn fault(&self) -> Option<&str> {
        self.malformed.as_deref()
    }
}

/// A call that may run: its tool is resolved and its arguments are values of the tool's types.
pub(crate) struct Prepared {
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Lowered,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The tool ran and returned.
    Ok,
    /// The tool ran and said `err`.
    ToolError,
    /// The arguments do not fit the tool's schema; nothing ran.
    Invalid,
    /// No tool has this name; nothing ran.
    UnknownTool,
    /// A limit was reached, such as that of fuel, memory, output or the queue; the error's kind says which.
    Limit,
    /// The wall clock ran out.
    Timeout,
    /// The tool crashed.
    Trap,
    /// Whoever asked for the call no longer wants it.
    Cancelled,
    /// witbox's own fault.
    Failed,
}

impl Status {
    pub(crate) const ALL: [Status; 9] = [
        Status::Ok,
        Status::ToolError,
        Status::Invalid,
        Status::UnknownTool,
        Status::Limit,
        Status::Timeout,
        Status::Trap,
        Status::Cancelled,
        Status::Failed,
    ];

    /// The word for it: `ok`, `tool-error` and so on.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::ToolError => "tool-error",
            Status::Invalid => "invalid",
            Status::UnknownTool => "unknown-tool",
            Status::Limit => "limit",
            Status::Timeout => "timeout",
            Status::Trap => "trap",
            Status::Cancelled => "cancelled",
            Status::Failed => "failed",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Engine fuel units, roughly one an instruction.
    pub fuel: u64,
    /// Wall clock from acceptance to reply.
    #[serde(rename = "wall_us", serialize_with = "as_micros")]
    pub wall: Duration,
    /// The most that all linear memories and tables of the call and its arguments as values held together, in bytes.
    pub memory_bytes: u64,
}

fn as_micros<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
