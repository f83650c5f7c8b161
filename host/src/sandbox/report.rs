//! What a guest says while it runs, by `witbox:host/progress` and `witbox:host/log`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use wasmtime::component::{HasData, Linker};

use super::state::State;

mod bindings {
    wasmtime::component::bindgen!({ path: "wit", world: "witbox:host/imports" });
}

use bindings::witbox::host::{log, progress};

/// The most that is kept of a call's log: messages, and bytes of all of them.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 64 << 10;
/// The most that is told of what comes next, in bytes.
const MAX_MESSAGE: usize = 1 << 10;

/// Is told what a tool says while it runs. It is called in the call's own time, so that it should only take note.
pub trait Observe: Send + Sync {
    /// How far the call has come: further than it was when this was called before.
    fn progress(&self, progress: Progress);

    /// What the tool logs, in its order.
    fn log(&self, entry: LogEntry);
}

/// How far a call has come, in the tool's words.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done, in a unit of the tool's.
    pub done: f64,
    /// Of how much, where the tool knows.
    pub total: Option<f64>,
    /// What comes next, in at most 1 KiB.
    pub message: Option<String>,
}

/// A message that a tool logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogEntry {
    /// How much it matters.
    pub level: LogLevel,
    /// What it says.
    pub message: String,
}

/// How much a message of a log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they are words of the field")]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
        })
    }
}

/// What a call's guest has said so far.
#[derive(Default)]
pub(crate) struct Reports {
    observer: Option<Arc<dyn Observe>>,
    done: Option<f64>,
    log: Log,
}

/// What is kept of a log.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<LogEntry>,
    bytes: usize,
    /// How many messages there was no room for.
    pub(crate) dropped: u64,
}

impl Reports {
    pub(super) fn to(observer: Option<Arc<dyn Observe>>) -> Self {
        Reports { observer, ..Reports::default() }
    }

    pub(super) fn take_log(&mut self) -> Log {
        std::mem::take(&mut self.log)
    }
}

impl progress::Host for Reports {
    fn report(&mut self, done: f64, total: Option<f64>, message: Option<String>) {
        let is_more = done.is_finite() && self.done.is_none_or(|before| done > before);
        let Some(observer) = self.observer.as_ref().filter(|_| is_more) else { return };
        self.done = Some(done);
        let message = message.map(|mut message| {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            message
        });
        observer.progress(Progress { done, total: total.filter(|total| total.is_finite()), message });
    }
}

impl log::Host for Reports {
    fn log(&mut self, level: log::Level, message: String) {
        let log = &mut self.log;
        if log.entries.len() == MAX_MESSAGES || message.len() > MAX_BYTES - log.bytes {
            log.dropped += 1;
            return;
        }
        log.bytes += message.len();
        let level = match level {
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warning => LogLevel::Warning,
            log::Level::Error => LogLevel::Error,
        };
        let entry = LogEntry { level, message };
        if let Some(observer) = &self.observer {
            observer.log(entry.clone());
        }
        log.entries.push(entry);
    }
}

struct Reported;

impl HasData for Reported {
    type Data<'a> = &'a mut Reports;
}

/// Gives guests the two interfaces.
pub(crate) fn take_reports(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    progress::add_to_linker::<State, Reported>(linker, State::reports)?;
    log::add_to_linker::<State, Reported>(linker, State::reports)
}
