//! `witbox list`: the tools and what they do.

use serde::Serialize;

use super::Exit;
use super::report::Report;
use super::source::SourceArgs;

/// Lists the tools: names and descriptions
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox list -t builtin:files")]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Prints one JSON document: an array of objects with name, toolset and description
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'t> {
    name: &'t str,
    toolset: &'t str,
    description: &'t str,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let host = args.source.open(report)?;
    let listed: Vec<Listed<'_>> = host
        .registry()
        .tools()
        .iter()
        .map(|tool| Listed { name: tool.name(), toolset: tool.toolset(), description: tool.description() })
        .collect();
    if args.json {
        report.json(&listed)?;
        return Ok(Exit::Ok);
    }
    let width = listed.iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    let lines: Vec<String> = listed
        .iter()
        .map(|tool| format!("{:width$}  {}", tool.name, first_line(tool.description)).trim_end().to_owned())
        .collect();
    report.print(&lines.join("\n"))?;
    Ok(Exit::Ok)
}

/// The first line of a text, with a sign where there are more.
fn first_line(text: &str) -> String {
    match text.split_once('\n') {
        Some((first, _)) => format!("{first} …"),
        None => text.to_owned(),
    }
}
