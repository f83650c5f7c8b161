//! `witbox explain`: which rule decides, and why.

use std::path::PathBuf;

use anyhow::bail;
use serde::Serialize;
use witbox::{Explanation, Grant, GuestPath, Operation};

use super::Exit;
use super::report::Report;
use super::source::read_plan;

/// Tells whether a toolset may read or write a path or send a request, which rule decides, and how to change it
///
/// Exits with 0 when it may, and with 1 when it may not or a person decides. Links are followed on the real folders, as they are for a call;
/// names of hosts are not looked up.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("asked").required(true)), after_help = "Example:\n  witbox explain -c witbox.toml files --write /docs/notes.txt")]
pub(super) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE", default_value = "witbox.toml")]
    config: PathBuf,

    /// The toolset
    toolset: String,

    /// The path that is read, as the guest sees it
    #[arg(long, value_name = "PATH", group = "asked")]
    read: Option<String>,

    /// The path that is written
    #[arg(long, value_name = "PATH", group = "asked")]
    write: Option<String>,

    /// The URL that a request is sent to
    #[arg(long, value_name = "URL", group = "asked")]
    url: Option<String>,

    /// The request's method
    #[arg(long, default_value = "GET", requires = "url")]
    method: String,

    /// Prints one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Explained<'e> {
    toolset: &'e str,
    operation: &'e str,
    target: &'e str,
    #[serde(flatten)]
    explanation: &'e Explanation,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let file = args.config.display().to_string();
    let plan = read_plan(&args.config)?;
    let Some(toolset) = plan.toolsets.iter().find(|toolset| toolset.name == args.toolset) else {
        let known: Vec<&str> = plan.toolsets.iter().map(|toolset| toolset.name.as_str()).collect();
        bail!("{file} has no toolset `{}`; there are {}", args.toolset, known.join(", "));
    };
    let (operation, target, explanation) = match (&args.read, &args.write, &args.url) {
        (Some(path), ..) => ("read", path, explain_path(&toolset.grant, Operation::Read, path)?),
        (_, Some(path), _) => ("write", path, explain_path(&toolset.grant, Operation::Write, path)?),
        (.., Some(url)) => (args.method.as_str(), url, witbox::explain_request(&toolset.grant, &args.method, url)?),
        _ => bail!("name what is asked for with --read, --write or --url"),
    };
    if args.json {
        report.json(&Explained { toolset: &toolset.name, operation, target, explanation: &explanation })?;
    } else {
        let verdict = match &explanation {
            Explanation { allowed: true, .. } => "allowed",
            Explanation { asked: true, .. } => "left to a person",
            _ => "refused",
        };
        // A guest may have named what is there.
        let shown = |text: &str| text.escape_debug().to_string();
        let mut lines = vec![format!("{verdict}: {operation} {}", shown(target))];
        lines.push(format!("  because: {}", explanation.rule));
        if let Some(real) = explanation.real_path.as_ref().filter(|real| *real != target) {
            lines.push(format!("  it really is {}", shown(real)));
        }
        if let Some(url) = explanation.url.as_ref().filter(|url| *url != target) {
            lines.push(format!("  it would be sent to {}", shown(url)));
        }
        if let Some(host) = &explanation.host_path {
            lines.push(format!("  on the host: {}", shown(&host.display().to_string())));
        }
        if let Some(hint) = &explanation.hint {
            lines.push(format!("  to change it: {hint}"));
        }
        report.print(&lines.join("\n"))?;
    }
    Ok(if explanation.allowed { Exit::Ok } else { Exit::Failure })
}

fn explain_path(grant: &Grant, operation: Operation, path: &str) -> anyhow::Result<Explanation> {
    let path: GuestPath = path.parse()?;
    Ok(witbox::explain(grant, operation, &path)?)
}
