//! `witbox schema`: the tools as a model's provider takes them.

use anyhow::bail;
use witbox::{Dialect, Finding, Severity};

use super::Exit;
use super::report::Report;
use super::source::SourceArgs;

/// Prints the tools as a provider's request takes them, as one JSON document
///
/// A tool that the dialect cannot hold is left out, and standard error says why.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  witbox schema -t builtin:triage --for anthropic\n  witbox schema -t weather.wasm --lint"
)]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Whose dialect; mcp where it is left out
    #[arg(long = "for", value_name = "DIALECT",
        value_parser = clap::builder::PossibleValuesParser::new(Dialect::NAMES))]
    dialect: Option<String>,

    /// The form in which a model can send nothing else than the schema says (openai, openai-responses)
    #[arg(long)]
    strict: bool,

    /// Instead: what the provider, or any of them, would reject, what is suspicious, what a model would find hard, and
    /// what a dialect loosens. Exits with 1 when something would be rejected
    #[arg(long)]
    lint: bool,

    /// Prints one JSON document; schemas always are one
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let mut dialect: Option<Dialect> = args.dialect.as_deref().map(str::parse).transpose()?;
    if args.strict {
        dialect = Some(dialect.unwrap_or(Dialect::Mcp).strict()?);
    }
    let host = args.source.open(report)?;
    let tools = host.registry().tools();
    if args.lint {
        if tools.is_empty() {
            bail!("there are no tools to look at");
        }
        let mut findings = witbox::lint(tools);
        findings.retain(|finding| {
            finding.dialects.is_empty() || dialect.is_none_or(|dialect| finding.dialects.contains(&dialect))
        });
        return lint(&findings, args.json, report);
    }
    let dialect = dialect.unwrap_or(Dialect::Mcp);
    let (request, left_out) = dialect.tools(tools);
    for finding in &left_out {
        report.note(&format!("left out: {finding}"));
    }
    report.json(&request)?;
    Ok(Exit::Ok)
}

fn lint(findings: &[Finding], json: bool, report: &Report) -> anyhow::Result<Exit> {
    if json {
        report.json(&findings)?;
    } else {
        report.print(&findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        if findings.is_empty() {
            report.note("lint found nothing");
        }
    }
    let is_rejected = findings.iter().any(|finding| finding.severity == Severity::Rejected);
    Ok(if is_rejected { Exit::Failure } else { Exit::Ok })
}
