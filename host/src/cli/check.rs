//! `witbox check`: everything that is wrong with a configuration and its toolsets.

use std::path::{Path, PathBuf};

use witbox::Host;

use super::engine::Compiling;
use super::report::Report;
use super::source::read_plan;
use super::{Exit, engine, workspace};

/// Finds all that is wrong with a configuration: mistakes in it, and what keeps a toolset from starting
///
/// Starts each toolset as a call would, and calls none. Exits with 0 when all can start, with 1 when one cannot, and with 2
/// when the configuration has mistakes. Warnings, such as rules that never decide, change nothing of that.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox check -c witbox.toml")]
pub(super) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE", default_value = "witbox.toml")]
    config: PathBuf,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let plan = read_plan(&args.config)?;
    let engine = engine::of_plan(&plan, Compiling::WhenAsked, report)?;
    let mut host = Host::builder(&engine);
    host.protect(Path::new(&args.config));
    if let Some(workspace) = workspace::open(&plan, &args.config, report)? {
        host.agreements(workspace);
    }
    let mut errors = host.plan(&plan, |name| std::env::var(name).ok());
    let notes = [host.notes(), host.differences()].concat();
    let host = host.build();
    // Those that are known from an earlier start, too.
    errors.extend(host.open());
    let mut lines = Vec::new();
    for toolset in &plan.toolsets {
        let tools = host.registry().tools().iter().filter(|tool| tool.toolset() == toolset.name).count();
        let ready = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
        let failed = format!("toolset `{}`:", toolset.name);
        if tools > 0 && !errors.iter().any(|error| error.to_string().starts_with(&failed)) {
            lines.push(format!("{}: {ready}", toolset.name));
        }
    }
    lines.extend(errors.iter().map(ToString::to_string));
    lines.extend(notes.iter().map(|note| format!("warning: {note}")));
    if plan.toolsets.is_empty() {
        lines.push(format!("{}: it has no toolset, so that there is nothing to call", args.config.display()));
    }
    report.print(&lines.iter().map(|line| line.replace('\n', "\n  ")).collect::<Vec<_>>().join("\n"))?;
    Ok(if errors.is_empty() { Exit::Ok } else { Exit::Failure })
}
