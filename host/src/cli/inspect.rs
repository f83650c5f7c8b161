//! `witbox inspect`: what a component is, before it is trusted with anything.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use witbox::{Component, Engine, NoTool};

use super::Exit;
use super::report::Report;
use super::source::{load, toolset_name};

/// Shows what a component exports, imports and needs, and what of it is no tool and why
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox inspect tools/weather.wasm")]
pub(super) struct Args {
    /// Prints one JSON document
    #[arg(long)]
    json: bool,

    /// The component: a file, or builtin:NAME
    #[arg(value_name = "WASM")]
    tool: PathBuf,
}

#[derive(Serialize)]
struct Inspection<'c> {
    digest: &'c str,
    size: usize,
    documented: bool,
    needs: Vec<&'static str>,
    tools: Vec<ToolLine>,
    no_tools: &'c [NoTool],
    exports: &'c [String],
    imports: &'c [String],
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ToolLine {
    name: String,
    export: String,
    description: String,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let engine = Engine::new()?;
    let component = load(&engine, &args.tool)?;
    let inspection = inspect(&component, &toolset_name(&args.tool));
    if args.json {
        report.json(&inspection)?;
    } else {
        report.print(&people(&inspection))?;
    }
    Ok(Exit::Ok)
}

fn inspect<'c>(component: &'c Component, toolset: &str) -> Inspection<'c> {
    let mut notes = component.notes().to_vec();
    let tools = component.tools(toolset).unwrap_or_else(|error| {
        notes.push(error.to_string());
        Vec::new()
    });
    let tools = tools.iter().map(|tool| ToolLine {
        name: tool.name().to_owned(),
        export: tool.export().to_string(),
        description: tool.description().to_owned(),
    });
    Inspection {
        digest: component.digest(),
        size: component.size(),
        documented: component.is_documented(),
        needs: component.needs(),
        tools: tools.collect(),
        no_tools: component.no_tools(),
        exports: component.exports(),
        imports: component.imports(),
        notes,
    }
}

fn people(inspection: &Inspection<'_>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", inspection.digest);
    let docs = if inspection.documented { "with docs" } else { "without docs: see `witbox pack`" };
    let _ = writeln!(out, "{} bytes, {docs}", inspection.size);
    let needs = if inspection.needs.is_empty() { "nothing".to_owned() } else { inspection.needs.join(", ") };
    let _ = writeln!(out, "its imports can ask for: {needs}");
    section(
        &mut out,
        "tools",
        inspection.tools.iter().map(|tool| {
            // All of it: what the model will read, a person should see.
            let about: String = tool.description.lines().map(|line| format!("\n    {line}")).collect();
            format!("{}  {}{about}", tool.name, tool.export)
        }),
    );
    section(&mut out, "no tools", inspection.no_tools.iter().map(|none| format!("{}: {}", none.export, none.reason)));
    section(&mut out, "imports", inspection.imports.iter().cloned());
    section(&mut out, "notes", inspection.notes.iter().cloned());
    out
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
}
