//! `witbox agree`: a component that has changed may be used.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use witbox::{Agreement, Component, Source};

use super::engine::Compiling;
use super::report::Report;
use super::source::read_plan;
use super::{Exit, engine, workspace};

/// Agrees to the components that toolsets have now, after they have changed
///
/// The first component that a toolset is started with is remembered; another one in its place is not run until then. Prints what has
/// changed.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox agree -c witbox.toml weather")]
pub(super) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE", default_value = "witbox.toml")]
    config: PathBuf,

    /// The toolsets
    #[arg(required = true)]
    toolsets: Vec<String>,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let plan = read_plan(&args.config)?;
    let engine = engine::of_plan(&plan, Compiling::WhenAsked, report)?;
    let workspace = workspace::open(&plan, &args.config, report)?.context("there is nowhere to keep it")?;
    for name in &args.toolsets {
        let toolset = plan.toolsets.iter().find(|toolset| toolset.name == *name);
        let toolset = toolset.with_context(|| format!("{} has no toolset `{name}`", args.config.display()))?;
        let Source::File(file) = &toolset.source else {
            bail!("toolset `{name}`: {} comes with witbox, so that there is nothing to agree to", toolset.source);
        };
        if toolset.digest.is_some() {
            bail!("toolset `{name}`: the configuration says itself, by `digest`, which component it has");
        }
        let component = Component::load(&engine, &toolset.source).with_context(|| file.display().to_string())?;
        let tools = component.tools(name)?.iter().map(|tool| tool.export().to_string()).collect();
        let now = Agreement::to(file, component.digest(), tools)?;
        let before = workspace.agreement(name);
        workspace.agree(name, &now).context("it cannot be kept")?;
        report.print(&told(name, before.as_ref(), &now))?;
    }
    Ok(Exit::Ok)
}

fn told(name: &str, before: Option<&Agreement>, now: &Agreement) -> String {
    let Some(before) = before else {
        return format!("{name}: {}", now.digest);
    };
    if before == now {
        return format!("{name}: {}, as before", now.digest);
    }
    let mut lines = vec![format!("{name}: {} in place of {}", now.digest, before.digest)];
    lines.extend(now.tools.iter().filter(|tool| !before.tools.contains(tool)).map(|tool| format!("  new: {tool}")));
    lines.extend(before.tools.iter().filter(|tool| !now.tools.contains(tool)).map(|tool| format!("  gone: {tool}")));
    lines.join("\n")
}
