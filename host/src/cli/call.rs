//! `witbox call`: one call of one tool.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use witbox::{Call, Host, Reply, Status};

use super::report::Report;
use super::source::{CallableArgs, read_text};
use super::wall::{Inherited, Inside};
use super::{Exit, block_on, interrupted};

/// The largest arguments that are read at all, in bytes; the call's own limit is the grant's.
const MAX_ARGUMENTS: usize = 64 << 20;

/// Calls one tool and prints what it returns
///
/// Exits with 0 when the tool returned, 1 when it said err, 2 when nothing could be called, 3 for invalid arguments or
/// an unknown tool, 5 for a limit or a timeout, 6 for a crash and 130 when it was interrupted.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox call -t builtin:files --mount .:/src ls '{\"path\": \"/src\"}'")]
pub(super) struct Args {
    #[command(flatten)]
    source: CallableArgs,

    /// Prints the whole reply as one JSON document
    #[arg(long)]
    json: bool,

    /// The tool's name, or its function's where only one tool has it
    tool: String,

    /// The arguments: a JSON object, - for standard input, or @FILE
    #[arg(value_name = "JSON|-|@FILE", default_value = "{}")]
    arguments: String,
}

pub(super) fn run(args: &Args, inherited: &Inherited, report: &Report) -> anyhow::Result<Exit> {
    let arguments = match args.arguments.strip_prefix('@') {
        Some(file) => read_text(Path::new(file), MAX_ARGUMENTS)?,
        None if args.arguments == "-" => read_text(Path::new("-"), MAX_ARGUMENTS)?,
        None => args.arguments.clone(),
    };
    let (host, inside) = args.source.open([args.tool.as_str()], inherited, report)?;
    let tool = match host.registry().find(&args.tool) {
        Some(tool) => tool.name().to_owned(),
        None => args.tool.clone(),
    };
    let reply = call(&host, &inside, Call::new("call", tool, arguments))?;
    if args.json {
        report.json(&reply)?;
    } else {
        print(&host, &reply, report)?;
        tell(&reply, report);
    }
    Ok(exit(reply.status))
}

fn call(host: &Host, inside: &Inside, call: Call) -> anyhow::Result<Reply> {
    let mut replies = block_on(inside, async { host.call_all_until(vec![call], interrupted()).await })?;
    match replies.pop() {
        Some(reply) => Ok(reply),
        None => bail!("the call was left without a reply"),
    }
}

/// Prints the result itself, and nothing of a failure: what is too large for a model is not for a person, and bytes go out
/// as they are where no terminal shows them.
fn print(host: &Host, reply: &Reply, report: &Report) -> anyhow::Result<()> {
    match (&reply.evicted[..], &reply.content[..]) {
        _ if reply.error.is_some() => Ok(()),
        ([evicted], [_]) if evicted.is_text() || !report.is_terminal() => {
            let name = evicted.path.rsplit('/').next().unwrap_or_default();
            let session = host.session().context("its results are gone")?;
            report.copy(session.open_result(name)?)
        }
        ([], [block]) if !report.is_terminal() => match block.bytes() {
            Some(bytes) => report.copy(bytes.as_slice()),
            None => report.print(&reply.text()),
        },
        _ => report.print(&reply.text()),
    }
}

/// What a person should know beside the result.
fn tell(reply: &Reply, report: &Report) {
    for (name, text) in [("stdout", &reply.stdout), ("stderr", &reply.stderr)] {
        if !text.is_empty() {
            report.note(&format!("the tool's {name}: {}", text.trim_end()));
        }
    }
    for note in &reply.notes {
        report.note(note);
    }
    for denial in &reply.denials {
        report.note(&format!("denied: {} {}: {}", denial.operation, denial.target, denial.rule));
    }
    let mut line = reply.status.to_string();
    if let Some(error) = &reply.error {
        let _ = write!(line, ": {}", error.message);
        if let (Some(hint), false) = (&error.hint, error.message.contains(error.hint.as_deref().unwrap_or_default())) {
            let _ = write!(line, "; {hint}");
        }
    }
    if reply.status != Status::Ok {
        report.note(&line);
    }
}

fn exit(status: Status) -> Exit {
    match status {
        Status::Ok => Exit::Ok,
        Status::ToolError => Exit::Failure,
        Status::Invalid | Status::UnknownTool => Exit::Invalid,
        Status::Limit | Status::Timeout => Exit::Limit,
        Status::Cancelled => Exit::Cancelled,
        _ => Exit::Crash,
    }
}
