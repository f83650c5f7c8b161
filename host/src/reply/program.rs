//! What a program wrote and how it ended → a reply: its output as it is, and the host's words before it where there is more to say.

use super::content::output;
use super::normalise::{empty, stopped};
use super::{Block, Reply};
use crate::call::{Call, Status};
use crate::sandbox::{Outcome, Returned, text};
use crate::workspace::{Lost, Spilled, Spooled};

/// What of a program's reply is not the program's, and what is left of its output for whoever keeps results.
pub(crate) struct Output {
    /// How many blocks at the start of the content are the host's words.
    pub(super) words: usize,
    /// What belongs behind them, where memory did not hold it.
    pub(super) written: Option<Result<Box<Spilled>, Lost>>,
    /// Whether the program came to its end.
    pub(super) is_whole: bool,
}

impl Output {
    /// Whether some of it is still to be kept.
    pub(crate) fn is_left(&self) -> bool {
        self.written.is_some()
    }
}

/// The reply to a call that ran a program. What memory did not hold of its output is left to be kept.
pub(crate) fn exited(call: &Call, outcome: Outcome) -> (Reply, Output) {
    let (written, errors) = (outcome.stdout.bytes(), outcome.stderr.bytes());
    let is_whole = outcome.result.is_ok();
    let mut reply = match outcome.result {
        Ok(Returned::Exit(code)) => Reply { exit_code: Some(code), ..empty(call, exit_status(code)) },
        // A function's value is none of a program's.
        Ok(Returned::Value(_)) => empty(call, Status::Ok),
        Err(stop) => stopped(call, stop),
    };
    match reply.exit_code {
        Some(0) if errors == 0 => {}
        Some(code) => reply.content.push(Block::Text {
            text: format!(
                "[witbox] exit code {code}; standard output has {written} bytes and standard error {errors}, in this order:"
            ),
        }),
        None if written + errors > 0 => reply.content.push(Block::Text {
            text: format!(
                "[witbox] until then it wrote {written} bytes to standard output and {errors} to standard error, in this \
                 order; there may have been more to come:"
            ),
        }),
        None => {}
    }
    let words = reply.content.len();
    let written = match outcome.stdout {
        Spooled::Memory(written) => {
            let end = if is_whole { written.len() } else { whole_characters(&written) };
            if end > 0 {
                reply.content.push(output(written[..end].to_vec()));
            }
            None
        }
        Spooled::File(spilled) => Some(Ok(spilled)),
        Spooled::Lost(lost) => Some(Err(lost)),
    };
    let rest = Output { words, written, is_whole };
    if errors > 0 {
        reply.content.push(Block::Text { text: text(outcome.stderr) });
    }
    reply.keep_log(outcome.log);
    (Reply { usage: outcome.usage, denials: outcome.denials, ..reply }, rest)
}

/// How much of what was cut off is whole: a text ends where its last character does.
fn whole_characters(written: &[u8]) -> usize {
    match std::str::from_utf8(written) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => written.len(),
    }
}

fn exit_status(code: i32) -> Status {
    if code == 0 { Status::Ok } else { Status::ToolError }
}
