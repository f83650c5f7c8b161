//! The same WIT built from Rust, Python and JavaScript: the same schema, the same replies.
//!
//! The Rust component lies in `guest-tools/dist`. The others are built here, where the environment says how:
//! `COMPONENTIZE_PY` and `COMPONENTIZE_JS` name the commands of those names. Without them a test is ignored, and says
//! so.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use support::{checkout, program, run};

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        trial("rust", None, |_, _| Ok(checkout("guest-tools/dist/greet.wasm"))),
        trial("python (needs COMPONENTIZE_PY)", Some("COMPONENTIZE_PY"), python),
        trial("javascript (needs COMPONENTIZE_JS)", Some("COMPONENTIZE_JS"), javascript),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, variable: Option<&'static str>, build: fn(&str, &Path) -> Result<PathBuf, Failed>) -> Trial {
    let command = variable.map(env::var);
    let is_missing = matches!(command, Some(Err(_)));
    let command = command.and_then(Result::ok).unwrap_or_default();
    let trial = Trial::test(name, move || {
        let folder = tempfile::tempdir()?;
        let component = build(&command, folder.path())?;
        check(&component, folder.path())
    });
    trial.with_ignored_flag(is_missing)
}

fn python(command: &str, folder: &Path) -> Result<PathBuf, Failed> {
    let component = folder.join("greet.wasm");
    run(Command::new(command)
        .arg("-d")
        .arg(checkout("guest-tools/greet/wit"))
        .args(["-w", "greet-tool", "componentize", "-p"])
        .arg(checkout("examples/greet-python"))
        .args(["app", "-o"])
        .arg(&component))?;
    Ok(component)
}

fn javascript(command: &str, folder: &Path) -> Result<PathBuf, Failed> {
    let component = folder.join("greet.wasm");
    run(Command::new(command)
        .arg(checkout("examples/greet-javascript/greet.js"))
        .arg("--wit")
        .arg(checkout("guest-tools/greet/wit"))
        .args(["--world-name", "greet-tool", "-o"])
        .arg(&component))?;
    Ok(component)
}

/// Packs the component and runs the command line on it, as its author would.
fn check(component: &Path, folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir(folder.join("packed"))?;
    let packed = folder.join("packed/greet.wasm");
    run(program::witbox()
        .arg("pack")
        .arg(component)
        .arg("--wit")
        .arg(checkout("guest-tools/greet/wit"))
        .arg("-o")
        .arg(&packed))?;

    let schema = witbox(&["schema", "-t"], &packed, &["--for", "mcp"])?;
    let expected: Value = serde_json::from_str(include_str!("schemas/greet.mcp.json"))?;
    assert_eq!(schema, expected);

    let people = r#"{"people": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": 7}, {"name": "Zoë"}]}"#;
    let reply = witbox(&["call", "--json", "-t"], &packed, &["greet", people])?;
    assert_eq!(reply["status"], "ok");
    assert_eq!(
        reply["structured"],
        json!([
            {"text": "Good day, Ada.", "letters": 14, "tone": "formal"},
            {"text": "Hi Bo!", "letters": 6, "tone": "casual"},
            {"text": "Good day, Zoë.", "letters": 14, "tone": "formal"},
        ])
    );

    let reply = witbox(&["call", "--json", "-t"], &packed, &["greet", r#"{"people": [{"name": ""}]}"#])?;
    assert_eq!(reply["status"], "tool-error");
    assert_eq!(reply["content"], json!([{"type": "text", "text": "people: a person without a name"}]));
    Ok(())
}

fn witbox(before: &[&str], component: &Path, after: &[&str]) -> Result<Value, Failed> {
    let output = program::witbox().args(before).arg(component).args(after).output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
