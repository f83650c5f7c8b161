//! `witbox init`: a configuration with what some components need, and nothing granted.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use witbox::Component;

use super::report::Report;
use super::source::{load, toolset_name};
use super::{Exit, engine};

/// Writes a witbox.toml with a toolset for each component: what it says that it needs, and nothing granted
///
/// What would grant it stands there as a comment. A file that is there already is left as it is, and an error.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox init builtin:files tools/weather.wasm")]
pub(super) struct Args {
    /// The components: files, or builtin:NAME
    #[arg(value_name = "WASM", default_value = "builtin:files")]
    components: Vec<PathBuf>,

    /// Where it is written
    #[arg(short, long, value_name = "FILE", default_value = "witbox.toml")]
    output: PathBuf,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let engine = engine::plain(report)?;
    let mut text = String::from("# What each toolset may do. Nothing is granted but what stands here without a `#`.\n");
    for path in &args.components {
        let component = load(&engine, path)?;
        text.push_str(&toolset(path, &args.output, &component));
    }
    let shown = || args.output.display().to_string();
    let mut file = OpenOptions::new().write(true).create_new(true).open(&args.output).with_context(shown)?;
    file.write_all(text.as_bytes()).with_context(shown)?;
    let name = args.output.display();
    report.print(&format!("{name}: nothing is granted yet; `witbox check -c {name}` says what is missing"))?;
    Ok(Exit::Ok)
}

/// A component's table. What a stranger wrote stands in it as quoted strings only.
fn toolset(path: &Path, output: &Path, component: &Component) -> String {
    let name = toolset_name(path);
    let mut out = format!("\n[toolset.{name}]\n");
    // Writing to a string does not fail, here and below.
    let _ = writeln!(out, "component = {}", quoted(&source(path, output)));
    let _ = writeln!(out, "digest = {}", quoted(component.digest()));
    let Some(needs) = component.needs() else {
        let kinds = component.can_ask_for();
        let kinds = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        let _ = writeln!(out, "# It does not say what it needs. Its imports can ask for: {kinds}.");
        return out;
    };
    let is_nothing = !needs.read && !needs.write && needs.origins.is_empty() && needs.secrets.is_empty();
    out.push_str(if is_nothing {
        "# It says that it needs nothing.\n"
    } else {
        "# It says that it needs what follows.\n"
    });
    if !needs.origins.is_empty() {
        let origins: Vec<String> = needs.origins.iter().map(|origin| quoted(origin)).collect();
        let _ = writeln!(out, "# http = [{}]", origins.join(", "));
    }
    if needs.read || needs.write {
        let mode = if needs.write { "rw" } else { "ro" };
        let _ =
            write!(out, "#\n# [[toolset.{name}.mount]]\n# host = \".\"\n# guest = \"/work\"\n# mode = \"{mode}\"\n");
    }
    let origin = needs.origins.first().map_or("https://…", String::as_str);
    for secret in &needs.secrets {
        let _ = write!(
            out,
            "#\n# [toolset.{name}.secret.{}]\n# from-env = \"…\"\n# origin = {}\n# header = \"authorization\"\n# format = \"Bearer {{}}\"\n",
            quoted(secret),
            quoted(origin),
        );
    }
    out
}

/// A component as the configuration finds it, from its own folder.
fn source(path: &Path, output: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with("builtin:")
        || path.is_absolute()
        || output.parent().is_none_or(|folder| folder == Path::new(""))
    {
        return text;
    }
    std::path::absolute(path).map_or(text, |absolute| absolute.display().to_string())
}

/// A string of TOML: one of JSON, with control characters that JSON leaves as they are.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
