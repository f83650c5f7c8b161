//! The examples of clients in `examples/mcp`, each with its framework from PyPI, against `witbox serve`.
//!
//! `INTEROP` names a folder of virtual environments, one for each `examples/mcp/requirements-NAME.txt`, as `run_all.py --install
//! --venvs FOLDER` makes them. The clients of an environment that is not there are ignored, and say so.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use support::{checkout, run};

/// The clients of each environment, as `run_all.py` names them.
const CLIENTS: [(&str, &[&str]); 3] = [
    ("mcp2", &["mcp", "fastmcp", "langchain", "pydantic-ai", "openai-agents", "ag2"]),
    ("mcp1", &["mcp1", "langchain-mcp-adapters", "deepagents", "strands"]),
    ("crewai", &["crewai"]),
];

fn main() {
    let arguments = Arguments::from_args();
    let folder = std::env::var("INTEROP").ok().map(PathBuf::from);
    let trials = CLIENTS.iter().flat_map(|(environment, clients)| {
        let folder = folder.as_ref().filter(|folder| folder.join(environment).exists());
        clients.iter().map(move |client| {
            let given = folder.cloned();
            let name = format!("{client} (needs INTEROP with {environment})");
            let trial = Trial::test(name, move || check(given.ok_or("INTEROP is not set")?, client));
            trial.with_ignored_flag(folder.is_none())
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn check(environments: PathBuf, client: &str) -> Result<(), Failed> {
    let place = support::mcp::Place::new("");
    let component = checkout("guest-tools/dist/conformance.wasm").canonicalize()?;
    let config = place.path().join("greet.toml");
    let text = format!(
        "[workspace]\ndir = \"greet\"\n[toolset.greet]\ncomponent = {component:?}\ntools = [\"hello\", \"flood\"]\n"
    );
    std::fs::write(&config, text)?;
    run(Command::new("python3")
        .arg(checkout("examples/mcp/run_all.py"))
        .arg("--venvs")
        .arg(environments)
        .args(["--only", client, "--", env!("CARGO_BIN_EXE_witbox"), "serve", "-c"])
        .arg(config))
}
