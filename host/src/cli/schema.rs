//! `witbox schema`: the tools as a model's provider takes them.

use anyhow::bail;
use serde_json::Value;

use super::Exit;
use super::report::Report;
use super::source::SourceArgs;

/// Prints the tools' schemas as one JSON document
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox schema -t builtin:triage --for mcp")]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Whose dialect: mcp
    #[arg(long = "for", value_name = "DIALECT", default_value = "mcp")]
    dialect: String,

    /// Accepted for symmetry: schemas are always JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    match args.dialect.as_str() {
        "mcp" => {}
        known @ ("openai" | "openai-responses" | "anthropic" | "gemini" | "bedrock") => {
            bail!("schemas for {known} are not built in this version; use --for mcp");
        }
        other => bail!("`{other}` is no dialect; use --for mcp"),
    }
    let host = args.source.open(report)?;
    let tools: Vec<Value> = host.registry().tools().iter().map(|tool| witbox::mcp::tool(tool)).collect();
    report.json(&tools)?;
    Ok(Exit::Ok)
}
