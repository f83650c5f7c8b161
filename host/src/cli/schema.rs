//! `witbox schema`: the tools as a model's provider takes them.

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

    /// Whose dialect
    #[arg(long = "for", value_name = "DIALECT", default_value = "mcp",
        value_parser = clap::builder::PossibleValuesParser::new(Dialect::NAMES))]
    dialect: String,

    /// The form in which a model can send nothing else than the schema says (openai, openai-responses)
    #[arg(long)]
    strict: bool,

    /// Instead: what any provider would reject, what its dialect loosens, and what a model would find hard. Exits with
    /// 1 when something would be rejected
    #[arg(long, conflicts_with_all = ["dialect", "strict"])]
    lint: bool,

    /// Prints one JSON document; schemas always are one
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let dialect: Dialect = args.dialect.parse()?;
    let dialect = if args.strict { dialect.strict()? } else { dialect };
    let host = args.source.open(report)?;
    let tools = host.registry().tools();
    if args.lint {
        return lint(&witbox::lint(tools), args.json, report);
    }
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
