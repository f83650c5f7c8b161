//! What a program wrote and how it ended → a reply: its output as it is, and the host's words before it where there is more to say.

use super::content::output;
use super::normalise::{empty, stopped};
use super::{Block, Reply};
use crate::call::{Call, Status};
use crate::sandbox::{Outcome, Returned};
use crate::workspace::{Lost, Spilled, Spooled};

/// What is left of a program's output for whoever keeps results, and where in the content it belongs.
pub(crate) struct Output {
    pub(super) at: usize,
    pub(super) written: Result<Box<Spilled>, Lost>,
    /// Whether the program came to its end.
    pub(super) is_whole: bool,
}

/// The reply to a call that ran a program. What memory did not hold of its output is left to be kept.
pub(crate) fn exited(call: &Call, outcome: Outcome) -> (Reply, Option<Output>) {
    let (written, errors) = (outcome.stdout.bytes(), outcome.stderr.len());
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
        None if written + errors as u64 > 0 => reply.content.push(Block::Text {
            text: format!(
                "[witbox] until then it wrote {written} bytes to standard output and {errors} to standard error, in this \
                 order; there may have been more to come:"
            ),
        }),
        None => {}
    }
    let at = reply.content.len();
    let rest = match outcome.stdout {
        Spooled::Memory(written) if written.is_empty() => None,
        Spooled::Memory(written) => {
            reply.content.push(output(written));
            None
        }
        Spooled::File(spilled) => Some(Output { at, written: Ok(spilled), is_whole }),
        Spooled::Lost(lost) => Some(Output { at, written: Err(lost), is_whole }),
    };
    if errors > 0 {
        reply.content.push(Block::Text { text: outcome.stderr });
    }
    (Reply { usage: outcome.usage, denials: outcome.denials, ..reply }, rest)
}

fn exit_status(code: i32) -> Status {
    if code == 0 { Status::Ok } else { Status::ToolError }
}
