//! `witbox inspect`: what a component is, before it is trusted with anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use witbox::{Component, Engine, Finding, Hints, Metadata, Needs, NoTool, Placement};

use super::report::Report;
use super::source::{load, toolset_name};
use super::{Exit, engine};

/// Shows what a component exports, imports and needs, and what of it is no tool and why; or what this machine offers
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox inspect tools/weather.wasm")]
pub(super) struct Args {
    /// Prints one JSON document
    #[arg(long)]
    json: bool,

    /// Shows what this machine offers to keep guests in, in place of a component
    #[arg(long, conflicts_with = "tool")]
    host: bool,

    /// The component: a file, or builtin:NAME
    #[arg(value_name = "WASM", required_unless_present = "host")]
    tool: Option<PathBuf>,
}

#[derive(Serialize)]
struct Inspection<'c> {
    digest: &'c str,
    size: usize,
    documented: bool,
    /// Nothing where it cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Placement>,
    claims: Claims<'c>,
    can_ask_for: Vec<&'static str>,
    tools: Vec<ToolLine>,
    no_tools: &'c [NoTool],
    exports: &'c [String],
    imports: &'c [String],
    notes: Vec<String>,
    lint: Vec<Finding>,
}

/// What it says of itself, which nobody has checked.
#[derive(Serialize)]
struct Claims<'c> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    docs: Option<&'c str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    interfaces: &'c BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'c Needs>,
    metadata: &'c Metadata,
}

#[derive(Serialize)]
struct ToolLine {
    name: String,
    export: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    examples: Vec<String>,
    hints: Hints,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let Some(tool) = &args.tool else { return super::machine::run(args.json, report) };
    let engine = engine::plain(report)?;
    let component = load(&engine, tool)?;
    let inspection = inspect(&engine, &component, &toolset_name(tool));
    if args.json {
        report.json(&inspection)?;
    } else {
        report.print(&people(&inspection))?;
    }
    Ok(Exit::Ok)
}

fn inspect<'c>(engine: &Engine, component: &'c Component, toolset: &str) -> Inspection<'c> {
    let mut notes = component.notes().to_vec();
    let runs = engine.placement(component).map_err(|error| notes.push(error.to_string())).ok();
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
        input_schema: tool.input_schema(),
        output_schema: tool.output_schema(),
        examples: tool.examples().map(str::to_owned).collect(),
        hints: tool.hints(),
    });
    Inspection {
        digest: component.digest(),
        size: component.size(),
        documented: component.is_documented(),
        runs,
        claims: Claims {
            title: component.title(),
            version: component.version(),
            docs: component.docs(),
            interfaces: component.interface_docs(),
            needs: component.needs(),
            metadata: component.metadata(),
        },
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
    let docs = match (inspection.documented, inspection.notes.is_empty()) {
        (true, _) => "with docs",
        (false, true) => "without docs: see `witbox pack`",
        (false, false) => "without docs: see the notes",
    };
    let _ = writeln!(out, "{} bytes, {docs}", inspection.size);
    if let Some(runs) = &inspection.runs {
        let _ = writeln!(out, "runs {runs}");
    }
    let claims = &inspection.claims;
    let about = [("title", claims.title), ("version", claims.version), ("docs", claims.docs)];
    let mut said: Vec<(&str, &str)> = about.into_iter().filter_map(|(word, text)| Some((word, text?))).collect();
    said.extend(claims.interfaces.iter().map(|(interface, docs)| (interface.as_str(), docs.as_str())));
    said.extend(claims.metadata.iter());
    for (word, text) in said {
        let _ = writeln!(out, "it says of itself: {word}: {}", text.replace('\n', "\n    "));
    }
    if let Some(needs) = claims.needs {
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
            let mut texts: Vec<String> = tool.description.lines().map(str::to_owned).collect();
            descriptions("", &tool.input_schema, &mut texts);
            descriptions("returns", &tool.output_schema.clone().unwrap_or_default(), &mut texts);
            texts.extend(tool.examples.iter().map(|example| format!("example: {example}")));
            let about: String = texts.iter().map(|line| format!("\n{line}")).collect();
            let title = tool.title.as_ref().map(|title| format!("  {title:?}")).unwrap_or_default();
            format!("{}  {}{title}{}{about}", tool.name, tool.export, hints(tool.hints))
        }),
    );
    section(&mut out, "no tools", inspection.no_tools.iter().map(|none| format!("{}: {}", none.export, none.reason)));
    section(&mut out, "imports", inspection.imports.iter().cloned());
    section(&mut out, "notes", inspection.notes.iter().cloned());
    section(&mut out, "lint", inspection.lint.iter().map(ToString::to_string));
    out
}

/// Every description of a schema, under the keys that lead to it.
fn descriptions(place: &str, schema: &Value, texts: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(text) = fields.get("description").and_then(Value::as_str) {
                let text = text.lines().collect::<Vec<_>>().join(" ");
                texts.push(format!("{}: {text}", place.trim_start_matches('/')));
            }
            for (keyword, value) in fields {
                match (keyword.as_str(), value) {
                    ("properties" | "$defs", Value::Object(schemas)) => {
                        for (name, schema) in schemas {
                            descriptions(&format!("{place}/{name}"), schema, texts);
                        }
                    }
                    _ => descriptions(place, value, texts),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(place, item, texts)),
        _ => {}
    }
}

/// What a tool says of its effects, in words.
fn hints(hints: Hints) -> String {
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
        // Nothing in it can begin a line of ours.
        let _ = writeln!(out, "  {}", line.replace('\n', "\n    "));
    }
}
