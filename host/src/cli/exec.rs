//! `witbox exec`: every call of one assistant message.

use std::fmt::Write as _;
use std::path::PathBuf;

use witbox::{Call, Format, MAX_MESSAGE_BYTES, Message, Reply};

use super::report::Report;
use super::source::{CallableArgs, read_text};
use super::wall::Inherited;
use super::{Exit, block_on, interrupted};

/// What people see of a result, in lines and in characters a line.
const SHOWN_LINES: usize = 4;
const SHOWN_CHARS: usize = 110;

/// Runs every tool call of one assistant message, side by side, and prints a reply for each
///
/// Exits with 0 when every call has its reply, whatever the replies say.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox exec -c witbox.toml --json message.json")]
pub(super) struct Args {
    #[command(flatten)]
    source: CallableArgs,

    /// Whose message it is; without it, witbox finds out
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(Format::NAMES))]
    format: Option<String>,

    /// Prints the tool messages in the same provider's shape, as one JSON document
    #[arg(long)]
    json: bool,

    /// The assistant message, or a provider's whole response: a file, or - for standard input
    #[arg(default_value = "-")]
    message: PathBuf,
}

pub(super) fn run(args: &Args, inherited: &Inherited, report: &Report) -> anyhow::Result<Exit> {
    let text = read_text(&args.message, MAX_MESSAGE_BYTES)?;
    let message = match &args.format {
        Some(format) => Message::parse_as(&text, format.parse()?),
        None => Message::parse(&text),
    };
    let message = message.map_err(|error| anyhow::anyhow!("{}: {error}", args.message.display()))?;
    let calls = message.calls().to_vec();
    let (host, inside) = args.source.open(calls.iter().map(|call| call.tool.as_str()), inherited, report)?;
    let replies = block_on(&inside, async { host.call_all_until(calls, interrupted()).await })?;
    if args.json {
        report.json_text(&message.answer(&replies))?;
    } else {
        report.print(&people(&message, &replies))?;
    }
    if args.json {
        // The tool messages have no place for them.
        for reply in &replies {
            for note in &reply.notes {
                report.note(&format!("{} {}: {note}", one_line(&reply.tool), one_line(&reply.id)));
            }
        }
    }
    // Often the only place where a crashed tool says why; it is the operator's, not the model's.
    for reply in replies.iter().filter(|reply| reply.error.is_some() && !reply.stderr.is_empty()) {
        report.note(&format!("{}'s stderr: {}", one_line(&reply.tool), reply.stderr.trim_end()));
    }
    Ok(Exit::Ok)
}

fn people(message: &Message, replies: &[Reply]) -> String {
    let mut out = String::new();
    for (call, reply) in message.calls().iter().zip(replies) {
        block(&mut out, call, reply);
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for reply in replies {
        let status = reply.status.as_str();
        match counts.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => counts.push((status, 1)),
        }
    }
    let counts: Vec<String> = counts.into_iter().map(|(status, count)| format!("{count} {status}")).collect();
    // Writing to a string does not fail, here and below.
    let _ = writeln!(
        out,
        "{}, {}: {}. With --json: the tool messages as {} takes them.",
        count(message.calls().len(), "call", "calls"),
        count(replies.len(), "reply", "replies"),
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") },
        message.format(),
    );
    out
}

fn block(out: &mut String, call: &Call, reply: &Reply) {
    let _ = writeln!(out, "{} {}", one_line(&call.tool), one_line(&call.arguments));
    let usage = &reply.usage;
    let _ = writeln!(
        out,
        "  {} · {:.1} ms · {} fuel · {} KiB",
        reply.status,
        usage.wall.as_secs_f64() * 1e3,
        thousands(usage.fuel),
        usage.memory_bytes >> 10,
    );
    let text = reply.text();
    let mut lines = text.lines();
    for line in lines.by_ref().take(SHOWN_LINES) {
        let _ = writeln!(out, "  │ {}", one_line(line));
    }
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(out, "  │ … {more} more lines");
    }
    for note in &reply.notes {
        let _ = writeln!(out, "  note: {}", one_line(note));
    }
    out.push('\n');
}

fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
