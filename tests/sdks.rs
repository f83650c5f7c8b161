//! The official SDKs of the providers and of MCP take what witbox writes: tools, tool messages and results.
//!
//! Nothing goes over a network. `SDK_PYTHON` names a Python with the packages of `sdks/requirements.txt`, `SDK_NODE` a
//! folder in which the packages of `sdks/package.json` are installed. Without them a test is ignored, and says so.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use support::types::TYPES;
use support::{ENGINE, checkout, echo, run, tests};
use witbox::{Call, Component, Dialect, Grant, Host, Status};

fn main() {
    let arguments = Arguments::from_args();
    let python = |name: &str, script: &'static str| {
        trial(name, "SDK_PYTHON", move |python, folder| {
            run(Command::new(python).arg(tests().join("sdks").join(script)).arg(folder))
        })
    };
    let trials = vec![
        python("openai, anthropic, google-genai and boto3 (needs SDK_PYTHON)", "providers.py"),
        python("mcp for Python (needs SDK_PYTHON)", "check_mcp.py"),
        trial("mcp for TypeScript (needs SDK_NODE)", "SDK_NODE", |packages, folder| {
            // Node looks for packages from the script's own folder on.
            let script = Path::new(packages).join("mcp.mjs");
            fs::copy(tests().join("sdks/mcp.mjs"), &script)?;
            run(Command::new("node").arg(script).arg(folder))
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, variable: &str, check: impl Fn(&str, &Path) -> Result<(), Failed> + Send + 'static) -> Trial {
    let value = std::env::var(variable);
    let is_missing = value.is_err();
    let trial = Trial::test(name, move || {
        let folder = tempfile::tempdir()?;
        write(folder.path())?;
        check(&value?, folder.path())
    });
    trial.with_ignored_flag(is_missing)
}

/// Every guest tool and a function for every WIT type in all dialects, every provider's tool messages, and MCP results.
fn write(folder: &Path) -> Result<(), Failed> {
    let mut host = Host::builder(&ENGINE);
    for name in ["data", "files", "greet", "probe", "triage"] {
        let bytes = fs::read(checkout(&format!("guest-tools/dist/{name}.wasm")))?;
        host.toolset(name, &Component::new(&ENGINE, &bytes)?, Grant::default())?;
    }
    host.toolset("types", &every_type(), Grant::default())?;
    let host = host.build();
    let tools = host.registry().tools();
    for dialect in Dialect::ALL {
        let (request, left_out) = dialect.tools(tools);
        assert!(left_out.is_empty(), "{left_out:?}");
        let file = format!("{}.json", dialect.to_string().replace(' ', "-"));
        fs::write(folder.join(file), request.to_string())?;
    }
    for entry in fs::read_dir(tests().join("providers"))? {
        let name = entry?.file_name().into_string().unwrap();
        // Calls without an id are answered as they came; no provider writes them.
        let is_answer = name.ends_with(".answer.json") && !name.starts_with("langchain") && !name.contains("malformed");
        let answer = fs::read(tests().join("providers").join(&name))?;
        // A message without calls has no answer.
        if is_answer && answer.trim_ascii() != b"[]" {
            fs::write(folder.join(name), answer)?;
        }
    }
    results(&host, folder)
}

/// A component that gives back a value of every WIT type.
fn every_type() -> Component {
    let mut items = String::new();
    for (index, (ty, declaration, _)) in TYPES.iter().enumerate() {
        let held = name(index);
        writeln!(items, "{declaration}\nrecord {held} {{ value: {ty} }}").unwrap();
        writeln!(items, "echo-{held}: func(values: list<{held}>) -> list<{held}>;").unwrap();
    }
    Component::new(&ENGINE, &echo(&format!("package a:b;\ninterface i {{\n{items}}}\nworld w {{ export i; }}")))
        .unwrap()
}

fn name(index: usize) -> String {
    format!("held-{}{}", char::from(b'a' + (index / 26) as u8), char::from(b'a' + (index % 26) as u8))
}

fn results(host: &Host, folder: &Path) -> Result<(), Failed> {
    let values = TYPES.iter().enumerate().map(|(index, (_, _, value))| {
        let tool = format!("types_echo_{}", name(index).replace('-', "_"));
        (tool, format!(r#"{{"values": [{{"value": {value}}}]}}"#))
    });
    let others = [
        ("greet_greet", r#"{"people": [{"name": "Ada"}]}"#),
        ("greet_greet", r#"{"people": [{"name": ""}]}"#),
        ("greet_greet", "{}"),
        ("files_ls", "{}"),
        ("nothing", "{}"),
    ];
    let all = values.chain(others.map(|(tool, arguments)| (tool.to_owned(), arguments.to_owned())));
    let calls: Vec<Call> =
        all.enumerate().map(|(id, (tool, arguments))| Call::new(id.to_string(), tool, arguments)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let replies = runtime.block_on(host.call_all(calls));
    assert_eq!(replies.iter().filter(|reply| reply.status == Status::Ok).count(), TYPES.len() + 2);
    for reply in replies {
        let tool = host.registry().get(&reply.tool);
        let result = witbox::mcp::result(tool.map(AsRef::as_ref), &reply);
        fs::write(folder.join(format!("mcp.result.{}.{}.json", reply.tool, reply.id)), result)?;
    }
    Ok(())
}
