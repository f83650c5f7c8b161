//! `witbox cache`: compiled code that is kept.

use std::fmt::Write as _;

use anyhow::{Context, bail};
use clap::Subcommand;
use witbox::{Cache, Cached};

use super::Exit;
use super::engine::cache_folder;
use super::report::Report;

/// Shows and removes compiled code that is kept for the next start
///
/// It is in the user's cache folder: $XDG_CACHE_HOME/witbox, or ~/.cache/witbox. Removing it costs nothing but the time to
/// compile again.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox cache prune --max 500MiB")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists what is kept
    List {
        /// Prints one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Removes what cannot be used, and what was not used for longest
    Prune {
        /// How much may be left, such as 500MiB
        #[arg(long, value_name = "BYTES", default_value = "0")]
        max: String,
    },
    /// Checks every byte of it; exits with 1 where something would not be used
    Verify,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let Some(folder) = cache_folder() else {
        bail!("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set")
    };
    let shown = || folder.display().to_string();
    if !folder.exists() {
        report.note(&format!("{}: nothing is kept yet", folder.display()));
    }
    let cache = Cache::open(&folder)?;
    match &args.command {
        Command::List { json } => {
            let list = cache.list().with_context(shown)?;
            if *json {
                report.json(&list)?
            } else {
                report.print(&people(&list))?
            }
            Ok(Exit::Ok)
        }
        Command::Prune { max } => {
            let removed = cache.prune(witbox::parse_bytes(max).context("--max")?).with_context(shown)?;
            report.print(&format!("{removed} removed"))?;
            Ok(Exit::Ok)
        }
        Command::Verify => {
            let list = cache.list().with_context(shown)?;
            let faulty: Vec<Cached> = list.iter().filter(|cached| cached.fault.is_some()).cloned().collect();
            report.print(&format!("{}{} of {} would not be used", people(&faulty), faulty.len(), list.len()))?;
            Ok(if faulty.is_empty() { Exit::Ok } else { Exit::Failure })
        }
    }
}

fn people(list: &[Cached]) -> String {
    let mut out = String::new();
    for cached in list {
        let name = cached.digest.as_deref().unwrap_or(&cached.name);
        // Writing to a string does not fail.
        let _ = write!(out, "{name}  {} bytes  {}", cached.bytes, cached.tools.join(", "));
        if let Some(fault) = &cached.fault {
            let _ = write!(out, "  not usable: {fault}");
        }
        out.push('\n');
    }
    out
}
