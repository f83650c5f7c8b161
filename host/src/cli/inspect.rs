//! `witbox inspect`: what a component is, before it is trusted with anything.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use witbox::{Component, Engine, Finding, Hints, Metadata, Needs, NoTool};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    docs: Option<&'c str>,
    metadata: &'c Metadata,
    documented: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'c Needs>,
    can_ask_for: Vec<&'static str>,
    tools: Vec<ToolLine>,
    no_tools: &'c [NoTool],
    exports: &'c [String],
    imports: &'c [String],
    notes: Vec<String>,
    lint: Vec<Finding>,
}

#[derive(Serialize)]
struct ToolLine {
    name: String,
    export: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    hints: Hints,
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
    let lint = witbox::lint(&tools);
    let tools = tools.iter().map(|tool| ToolLine {
        name: tool.name().to_owned(),
        export: tool.export().to_string(),
        title: tool.title().map(str::to_owned),
        description: tool.description().to_owned(),
        hints: tool.hints(),
    });
    Inspection {
        digest: component.digest(),
        size: component.size(),
        title: component.title(),
        version: component.version(),
        docs: component.docs(),
        metadata: component.metadata(),
        documented: component.is_documented(),
        needs: component.needs(),
        can_ask_for: component.can_ask_for(),
        tools: tools.collect(),
        no_tools: component.no_tools(),
        exports: component.exports(),
        imports: component.imports(),
        notes,
        lint,
    }
}

fn people(inspection: &Inspection<'_>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", inspection.digest);
    let docs = if inspection.documented { "with docs" } else { "without docs: see `witbox pack`" };
    let _ = writeln!(out, "{} bytes, {docs}", inspection.size);
    let about = [("title", inspection.title), ("version", inspection.version), ("docs", inspection.docs)];
    let about = about.into_iter().filter_map(|(word, text)| Some((word, text?)));
    for (word, text) in about.chain(inspection.metadata.iter()) {
        let _ = writeln!(out, "it says of itself: {word}: {}", text.replace('\n', "\n    "));
    }
    if let Some(needs) = inspection.needs {
        let _ = writeln!(out, "it says that it needs: {needs}");
    }
    let kinds =
        if inspection.can_ask_for.is_empty() { "nothing".to_owned() } else { inspection.can_ask_for.join(", ") };
    let _ = writeln!(out, "its imports can ask for: {kinds}");
    section(
        &mut out,
        "tools",
        inspection.tools.iter().map(|tool| {
            // All of it: what the model will read, a person should see.
            let about: String = tool.description.lines().map(|line| format!("\n    {line}")).collect();
            let title = tool.title.as_ref().map(|title| format!("  \"{title}\"")).unwrap_or_default();
            format!("{}  {}{title}{}{about}", tool.name, tool.export, claims(tool.hints))
        }),
    );
    section(&mut out, "no tools", inspection.no_tools.iter().map(|none| format!("{}: {}", none.export, none.reason)));
    section(&mut out, "imports", inspection.imports.iter().cloned());
    section(&mut out, "notes", inspection.notes.iter().cloned());
    section(&mut out, "lint", inspection.lint.iter().map(ToString::to_string));
    out
}

/// What a tool says of its effects, in words.
fn claims(hints: Hints) -> String {
    let words = [
        (hints.read_only, "read-only", "not read-only"),
        (hints.destructive, "destructive", "not destructive"),
        (hints.idempotent, "idempotent", "not idempotent"),
        (hints.open_world, "open world", "closed world"),
    ];
    let said: Vec<&str> = words.into_iter().filter_map(|(hint, yes, no)| Some(if hint? { yes } else { no })).collect();
    if said.is_empty() { String::new() } else { format!("  (it says: {})", said.join(", ")) }
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
