//! Cases as data: `cases/<area>/<case>/` holds the tool, its grant and its calls, and what must come back.
//!
//! `case.toml` says what is done, `expected.json` what comes of it: the tools' schemas, what is no tool, and the
//! replies without what differs from run to run. `BLESS=1 cargo test --test cases` writes the expectations; a person
//! reads the difference.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::{Value, json};
use witbox::{Call, Component, Grant, Host, Limits, Mount};

use support::{ENGINE, echo, tests};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows, in one sentence.
    about: String,
    /// `builtin:NAME`, or a file of the case's folder: `.wat`, or `.wit` for a component that echoes lists.
    tool: String,
    /// WIT whose docs are packed into the component.
    #[serde(default)]
    docs: Option<String>,
    /// Whether arguments are read to the letter.
    #[serde(default)]
    strict_args: bool,
    /// Whether what MCP makes of each reply is shown.
    #[serde(default)]
    mcp: bool,
    /// Whether what lint finds is shown.
    #[serde(default)]
    lint: bool,
    #[serde(default)]
    grant: CaseGrant,
    #[serde(default)]
    call: Vec<CaseCall>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseGrant {
    fuel: Option<u64>,
    memory: Option<u64>,
    timeout_ms: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
    #[serde(default)]
    env: Vec<(String, String)>,
    /// Mounts the case's folder `files` at `/files`.
    #[serde(default)]
    files: bool,
    /// Mounts an empty folder at `/scratch`, to be written to.
    #[serde(default)]
    scratch: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseCall {
    tool: String,
    arguments: String,
}

fn main() {
    let arguments = Arguments::from_args();
    let root = tests().join("cases");
    let mut trials = Vec::new();
    for area in folders(&root) {
        for case in folders(&area) {
            let name = case.strip_prefix(&root).unwrap().display().to_string();
            trials.push(Trial::test(name, move || run(&case)));
        }
    }
    assert!(!trials.is_empty(), "there are no cases in {}", root.display());
    libtest_mimic::run(&arguments, trials).exit();
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &folders {
        assert!(path.is_dir(), "{} is in no case's folder", path.display());
    }
    folders.sort();
    folders
}

fn run(folder: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(folder.join("case.toml"))?;
    let case: Case = toml::from_str(&text)?;
    assert!(case.about.ends_with('.'), "what a case is about is a sentence");
    let got = outcome(&case, folder);
    let file = folder.join("expected.json");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, serde_json::to_string_pretty(&got)? + "\n")?;
        return Ok(());
    }
    let expected: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    if got != expected {
        let text = serde_json::to_string_pretty(&got)?;
        return Err(format!("{}\ndiffers from {}; this came of it:\n{text}", case.about, file.display()).into());
    }
    Ok(())
}

fn outcome(case: &Case, folder: &Path) -> Value {
    let component = match load(case, folder) {
        Ok(component) => component,
        // Where the checkout lies is nobody's business.
        Err(error) => return json!({"error": error.to_string().replace(&folder.display().to_string(), "…")}),
    };
    let scratch = tempfile::tempdir().unwrap();
    let mut host = Host::builder(&ENGINE);
    if case.strict_args {
        host.strict_arguments();
    }
    if let Err(error) = host.toolset("t", &component, grant(case, folder, scratch.path())) {
        return json!({"no_tools": component.no_tools(), "error": error.to_string()});
    }
    let host = host.build();
    let schemas: Vec<Value> = host.registry().tools().iter().map(|tool| witbox::mcp::tool(tool)).collect();
    let calls = case.call.iter().enumerate();
    let calls = calls.map(|(index, call)| Call::new(index.to_string(), &call.tool, &call.arguments)).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let replies = runtime.block_on(host.call_all(calls));
    let results: Vec<Value> = replies
        .iter()
        .map(|reply| {
            let tool = host.registry().get(&reply.tool);
            serde_json::from_str(&witbox::mcp::result(tool.map(AsRef::as_ref), reply)).unwrap()
        })
        .collect();
    let replies: Vec<Value> = replies
        .iter()
        .map(|reply| {
            let mut reply: serde_json::Map<String, Value> =
                serde_json::from_str(&serde_json::to_string(reply).unwrap()).unwrap();
            reply.retain(|key, _| key != "id" && key != "usage");
            // A panic's message tells where in the guest's sources it happened.
            if let Some(stderr) = reply.get_mut("stderr") {
                *stderr = json!(stderr.as_str().unwrap().lines().last());
            }
            reply.into()
        })
        .collect();
    let mut outcome = json!({
        "tools": schemas,
        "no_tools": component.no_tools(),
        "notes": component.notes(),
        "replies": replies,
    });
    if case.mcp {
        outcome["mcp"] = results.into();
    }
    if case.lint {
        let findings = witbox::lint(host.registry().tools());
        outcome["lint"] = findings.iter().map(ToString::to_string).collect();
    }
    outcome
}

fn load(case: &Case, folder: &Path) -> Result<Component, witbox::Error> {
    if let Some(name) = case.tool.strip_prefix("builtin:") {
        return Component::builtin(&ENGINE, name);
    }
    let file = folder.join(&case.tool);
    let mut bytes = match file.extension().unwrap().to_str().unwrap() {
        "wat" => wat::parse_file(&file).unwrap(),
        "wit" => echo(&fs::read_to_string(&file).unwrap()),
        other => panic!("no tool is made of .{other}"),
    };
    if let Some(docs) = &case.docs {
        bytes = witbox::pack(&bytes, &folder.join(docs), None)?.bytes;
    }
    Component::new(&ENGINE, &bytes)
}

fn grant(case: &Case, folder: &Path, scratch: &Path) -> Grant {
    let defaults = Limits::default();
    let given = &case.grant;
    let mut limits = defaults.clone();
    limits.fuel = given.fuel.unwrap_or(defaults.fuel);
    limits.memory = given.memory.unwrap_or(defaults.memory);
    limits.timeout = given.timeout_ms.map_or(defaults.timeout, std::time::Duration::from_millis);
    limits.input = given.input.unwrap_or(defaults.input);
    limits.output = given.output.unwrap_or(defaults.output);
    let mut grant = Grant::default().limits(limits);
    for (name, value) in &given.env {
        grant = grant.env(name, value);
    }
    if given.files {
        grant = grant.mount(Mount::read_only(folder.join("files"), "/files".parse().unwrap()));
    }
    if given.scratch {
        grant = grant.mount(Mount::read_write(scratch, "/scratch".parse().unwrap()));
    }
    grant
}
