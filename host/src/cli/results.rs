//! `witbox results`: the results that were too big for a model, for people.

use std::io::{BufRead as _, BufReader, Read as _};
use std::time::SystemTime;

use aho_corasick::AhoCorasick;
use anyhow::bail;
use serde::Serialize;
use witbox::{Session, StoredResult};

use super::Exit;
use super::report::Report;
use super::source::SourceArgs;

/// Lists, shows, searches and prunes the results that were too big for a model
///
/// They are in the workspace of a configuration, or of a component with -t.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox results show files_read-0123456789abcdef.txt")]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Whose results. Without it: those of all sessions
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Lists them, the newest first
    List {
        /// Prints one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Prints one as a whole
    Show {
        /// Its name in the list
        name: String,
    },
    /// Prints the lines that hold a text, letter for letter
    Grep {
        /// What a line must hold
        text: String,
    },
    /// Removes what is older, or more, than the configuration has kept, or all of it
    Prune {
        /// Removes all
        #[arg(long)]
        all: bool,
    },
}

/// What is shown of a line that was found, in bytes.
const MAX_LINE: usize = 500;
/// How much of a line is searched at once, in bytes.
const PIECE: u64 = 1 << 20;

#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    result: StoredResult,
    age_seconds: u64,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let workspace = args.source.workspace(report)?;
    let sessions: Vec<Session> = match &args.session {
        Some(name) => vec![workspace.session(name)?],
        None => workspace.sessions()?.iter().map(|name| workspace.session(name)).collect::<Result<_, _>>()?,
    };
    match &args.command {
        Command::List { json } => list(&sessions, *json, report)?,
        Command::Show { name } => {
            let mut found = sessions.iter().filter_map(|session| session.open_result(name).ok());
            match found.next() {
                Some(file) => report.copy(file)?,
                None => bail!("there is no result named {name}; `witbox results list` has the names"),
            }
        }
        Command::Grep { text } if text.is_empty() => bail!("an empty text is in every line"),
        Command::Grep { text } => {
            if !grep(&sessions, text, report)? {
                return Ok(Exit::Failure);
            }
        }
        Command::Prune { all } => {
            let now = SystemTime::now();
            let workspace = if *all {
                workspace.retention(witbox::Retention { bytes: 0, ..Default::default() })
            } else {
                workspace
            };
            report.print(&format!("removed: {}", workspace.prune(now, &[])?))?;
        }
    }
    Ok(Exit::Ok)
}

fn list(sessions: &[Session], json: bool, report: &Report) -> anyhow::Result<()> {
    let now = SystemTime::now();
    let mut results = Vec::new();
    for session in sessions {
        results.extend(session.results()?.into_iter().map(|result| Listed {
            age_seconds: now.duration_since(result.modified).unwrap_or_default().as_secs(),
            result,
        }));
    }
    if json {
        return report.json(&results);
    }
    let lines = results.iter().map(|Listed { result, age_seconds }| {
        let StoredResult { session, name, bytes, .. } = result;
        format!("{bytes:>12} bytes  {:>6} min old  {session}  {name}", age_seconds / 60)
    });
    report.print(&lines.collect::<Vec<_>>().join("\n"))
}

/// Says whether there was any.
fn grep(sessions: &[Session], text: &str, report: &Report) -> anyhow::Result<bool> {
    let searched = AhoCorasick::new([text])?;
    let mut any = false;
    for session in sessions {
        for result in session.results()? {
            let mut reader = BufReader::new(session.open_result(&result.name)?);
            let (mut number, mut is_told, mut line) = (1, false, Vec::new());
            while (&mut reader).take(PIECE).read_until(b'\n', &mut line)? > 0 {
                if let Some(found) = searched.find(&line).filter(|_| !is_told) {
                    (any, is_told) = (true, true);
                    let from = found.start().saturating_sub(MAX_LINE / 2);
                    let around = &line[from..line.len().min(found.end() + MAX_LINE / 2)];
                    let shown = String::from_utf8_lossy(around);
                    report.print(&format!("{}/{}:{number}: {}", session.name(), result.name, shown.trim_end()))?;
                }
                if line.ends_with(b"\n") {
                    (number, is_told) = (number + 1, false);
                    line.clear();
                } else {
                    // The end of a piece is the start of the next, so that nothing is missed between them.
                    line.drain(..line.len().saturating_sub(text.len() - 1));
                }
            }
        }
    }
    Ok(any)
}
