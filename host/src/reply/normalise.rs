//! Outcomes → replies. A string is text as it is, nothing is no content, bytes and blocks are what is in them, everything else
//! is text as JSON; the structured value is always the whole.

use std::time::Duration;

use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::content::blocks;
use super::{Block, Reply, ReplyError};
use crate::call::{Call, Status, Usage};
use crate::sandbox::{Exhausted, Outcome, Returned, Stop, text};
use crate::tool::{Fault, Tool, lift};

/// The reply to a call that ran.
pub(crate) fn returned(call: &Call, tool: &Tool, outcome: Outcome, output_limit: u64) -> Reply {
    let mut reply = match outcome.result {
        Ok(Returned::Value(value)) => value_reply(call, tool, value, output_limit),
        // A program's end is none of a function's.
        Ok(Returned::Exit(_)) => empty(call, Status::Ok),
        Err(stop) => stopped(call, stop),
    };
    reply.keep_log(outcome.log);
    let (stdout, stderr) = (text(outcome.stdout), text(outcome.stderr));
    Reply { usage: outcome.usage, stdout, stderr, denials: outcome.denials, ..reply }
}

/// The reply to a call that was stopped.
pub(super) fn stopped(call: &Call, stop: Stop) -> Reply {
    match stop {
        Stop::Limit(exhausted) => failure(call, Status::Limit, exhausted.kind(), exhausted.to_string(), None),
        Stop::Timeout(limit) => timed_out(call, limit),
        Stop::Trap(message) => failure(call, Status::Trap, "trap", message, None),
        Stop::Failed(message) => failure(call, Status::Failed, "failed", message, None),
    }
}

/// The reply to a call that took longer than it may.
pub(crate) fn timed_out(call: &Call, limit: Duration) -> Reply {
    let message = format!("the tool was stopped: it took longer than {} ms", limit.as_millis());
    failure(call, Status::Timeout, "timeout", message, None)
}

/// The reply to a call that failed for one reason.
pub(crate) fn failure(call: &Call, status: Status, kind: &str, message: String, hint: Option<String>) -> Reply {
    let text = match &hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message.clone(),
    };
    let error = ReplyError { kind: kind.to_owned(), message, pointer: None, hint };
    Reply { content: vec![Block::Text { text }], error: Some(error), ..empty(call, status) }
}

/// The reply to a call whose arguments do not fit: every fault on a line of its own.
pub(crate) fn invalid(call: &Call, faults: &[Fault]) -> Reply {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let message = lines.join("\n");
    let mut reply = failure(call, Status::Invalid, "invalid", message, None);
    if let (Some(error), Some(first)) = (&mut reply.error, faults.first()) {
        error.pointer = Some(first.pointer.clone());
        error.hint = first.hint.clone();
    }
    reply
}

fn value_reply(call: &Call, tool: &Tool, value: Option<Val>, output_limit: u64) -> Reply {
    let (status, shape, value) = match (tool.fallible(), value) {
        (Some(_), Some(Val::Result(Ok(value)))) => (Status::Ok, tool.returns(), value.map(|value| *value)),
        (Some(fallible), Some(Val::Result(Err(value)))) => {
            (Status::ToolError, fallible.err.as_ref(), value.map(|value| *value))
        }
        (_, value) => (Status::Ok, tool.returns(), value),
    };
    let (Some(shape), Some(value)) = (shape, value) else {
        return empty_result(call, status);
    };
    let too_large = || {
        let exhausted = Exhausted::Output(output_limit);
        failure(call, Status::Limit, exhausted.kind(), exhausted.to_string(), None)
    };
    if let Some(shape) = shape.content() {
        return match blocks(shape, value, output_limit) {
            Ok(content) => Reply { content, ..empty_result(call, status) },
            Err(_) => too_large(),
        };
    }
    let Ok(lifted) = lift(shape, &value, output_limit) else {
        return too_large();
    };
    // What an option holds is what it is.
    let value = match value {
        Val::Option(Some(inner)) if matches!(*inner, Val::String(_)) => *inner,
        value => value,
    };
    let text = match value {
        Val::String(text) => Some(text),
        Val::Option(None) => None,
        Val::Tuple(values) if values.is_empty() => None,
        value => {
            // Before its JSON is there twice.
            drop(value);
            Some(lifted.json.clone())
        }
    };
    let structured = match RawValue::from_string(lifted.json) {
        Ok(raw) => raw,
        Err(error) => {
            return failure(
                call,
                Status::Failed,
                "failed",
                format!("the value was not written as JSON: {error}"),
                None,
            );
        }
    };
    Reply {
        content: text.map(|text| Block::Text { text }).into_iter().collect(),
        structured: Some(structured),
        notes: lifted.notes,
        ..empty(call, status)
    }
}

/// A result without a value. An error without one says at least that it is one.
fn empty_result(call: &Call, status: Status) -> Reply {
    let mut reply = empty(call, status);
    if status == Status::ToolError {
        reply.content.push(Block::Text { text: "the tool failed without saying why".to_owned() });
    }
    reply
}

pub(super) fn empty(call: &Call, status: Status) -> Reply {
    Reply {
        id: call.id.clone(),
        tool: call.tool.clone(),
        status,
        content: Vec::new(),
        structured: None,
        exit_code: None,
        error: None,
        notes: Vec::new(),
        denials: Vec::new(),
        evicted: Vec::new(),
        stdout: String::new(),
        stderr: String::new(),
        logs: Vec::new(),
        usage: Usage::default(),
    }
}
