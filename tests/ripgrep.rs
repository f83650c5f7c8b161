//! Searches and edits of `builtin:files` beside ripgrep, sed and diff, on sources as cargo keeps them.
//!
//! Where there is no `rg` the test is ignored, and says so.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use support::ENGINE;
use witbox::{Call, Component, Grant, Host, Limits, Mount, Status};

fn main() {
    let arguments = Arguments::from_args();
    let is_missing = Command::new("rg").arg("--version").output().is_err();
    let trials =
        vec![Trial::test("searches (needs rg)", searches).with_ignored_flag(is_missing), Trial::test("edits", edits)];
    libtest_mimic::run(&arguments, trials).exit();
}

/// A copy of a crate's sources, with a `.gitignore`, and a host that sees it.
struct Sources {
    folder: tempfile::TempDir,
    host: Host,
    runtime: tokio::runtime::Runtime,
}

impl Sources {
    fn of(name: &str) -> Self {
        let home = std::env::var_os("CARGO_HOME")
            .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"), PathBuf::from);
        let crates = fs::read_dir(home.join("registry/src")).unwrap();
        let mut crates = crates.flat_map(|registry| fs::read_dir(registry.unwrap().path()).unwrap().flatten());
        let is_wanted =
            |found: &str| found.strip_prefix(name).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let found = crates.find(|entry| is_wanted(entry.file_name().to_str().unwrap())).unwrap().path();
        let folder = tempfile::tempdir().unwrap();
        let copied = Command::new("cp").arg("-r").arg(found).arg(folder.path().join("m")).status().unwrap();
        assert!(copied.success());
        fs::write(folder.path().join("m/.gitignore"), "*.md\ntests/\n!README.md\n").unwrap();
        let limits = Limits { fuel: 100_000_000_000, ..Limits::default() };
        let mount = Mount::read_write(folder.path().join("m"), "/m".parse().unwrap());
        let files = Component::builtin(&ENGINE, "files").unwrap();
        let host = support::host("files", &files, Grant::default().limits(limits).mount(mount));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Sources { folder, host, runtime }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("m")
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let call = Call::new("1", format!("files_{tool}"), arguments.to_string());
        let reply = self.runtime.block_on(self.host.call(call));
        assert_eq!(reply.status, Status::Ok, "{}", reply.text());
        serde_json::from_str(reply.structured.unwrap().get()).unwrap()
    }

    /// What a command prints, run in the folder.
    fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).current_dir(self.root()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The lines that a search shows, by file and number, those around it included; and whether it was all.
    fn lines(&self, path: &str, arguments: &Value) -> (BTreeMap<u64, String>, bool) {
        let mut arguments = arguments.clone();
        arguments["path"] = json!(format!("/m/{path}"));
        arguments["limit"] = json!(100_000);
        let found = self.call("grep", &arguments);
        let mut lines = BTreeMap::new();
        for found in found["found"].as_array().unwrap() {
            let number = found["line"].as_u64().unwrap();
            let before = found["before"].as_array().unwrap();
            let texts = before.iter().chain([&found["text"]]).chain(found["after"].as_array().unwrap());
            for (text, at) in texts.zip(number - before.len() as u64..) {
                lines.insert(at, text.as_str().unwrap().to_owned());
            }
        }
        (lines, !found["more"].as_bool().unwrap())
    }
}

fn searches() -> Result<(), Failed> {
    for name in ["regex-automata-", "toml-", "regex-syntax-"] {
        let sources = Sources::of(name);
        for (text, arguments, options) in [
            ("fn new(", json!({}), &["-F"][..]),
            ("error", json!({"ignore_case": true}), &["-F", "-i"]),
            (r"^pub (fn|struct) \w+", json!({"regex": true}), &[]),
            (r"\d{3,}$", json!({"regex": true}), &[]),
            (r"[^\x00-\x7f]", json!({"regex": true}), &[]),
            (r"\bÜ|\p{Greek}", json!({"regex": true}), &[]),
            ("fn ", json!({"context": 2}), &["-F", "-C2"]),
            ("impl", json!({"gitignore": true}), &["-F"]),
            ("mod ", json!({"glob": "**/*.rs"}), &["-F", "-g", "*.rs"]),
        ] {
            let mut arguments = arguments;
            arguments["text"] = json!(text);
            let ignores: &[&str] = if arguments["gitignore"] == true {
                &["--no-require-git", "--no-ignore-global", "--hidden"]
            } else {
                &["-uu"]
            };
            // The counts of all files.
            let mut counting = arguments.clone();
            counting["path"] = json!("/m");
            counting["show"] = json!("counts");
            counting["limit"] = json!(100_000);
            counting["context"] = Value::Null;
            let counted = sources.call("grep", &counting);
            let mut ours = Vec::new();
            for counted in counted["counts"].as_array().unwrap() {
                ours.push(format!("{}:{}", &counted["path"].as_str().unwrap()[3..], counted["count"]));
            }
            assert_eq!(counted["more"], false, "{text}");
            ours.sort();
            let told = sources.output("rg", &[ignores, options, &["-c", "-e", text, "."]].concat());
            let mut theirs: Vec<String> = told.lines().map(|line| line.trim_start_matches("./").to_owned()).collect();
            theirs.sort();
            assert_eq!(ours, theirs, "{name} {text:?} {arguments}");

            // The lines of some of them.
            for file in ours.iter().take(5).map(|count| count.rsplit_once(':').unwrap().0) {
                let (ours, is_all) = sources.lines(file, &arguments);
                let told = sources.output("rg", &[options, &["-n", "--no-heading", "-e", text, file]].concat());
                let theirs: BTreeMap<u64, String> = told
                    .lines()
                    .filter_map(|line| {
                        let end = line.find([':', '-'])?;
                        Some((line[..end].parse().ok()?, line[end + 1..].to_owned()))
                    })
                    .collect();
                let last = ours.keys().last().copied().unwrap_or_default();
                let theirs: BTreeMap<u64, String> =
                    theirs.into_iter().filter(|(number, _)| is_all || *number <= last).collect();
                // Long lines are shown in part.
                let parts = |lines: BTreeMap<u64, String>| -> Vec<(u64, String)> {
                    lines.into_iter().filter(|(_, line)| line.len() < 400).collect()
                };
                let long: Vec<u64> =
                    theirs.iter().filter(|(_, line)| line.len() >= 400).map(|(number, _)| *number).collect();
                let ours = ours.into_iter().filter(|(number, _)| !long.contains(number)).collect();
                assert_eq!(parts(ours), parts(theirs), "{file} {text:?} {arguments}");
            }
        }
    }
    Ok(())
}

/// An edit of every place is what sed makes, and diff shows no other line.
fn edits() -> Result<(), Failed> {
    let sources = Sources::of("toml-");
    let files: Vec<String> = sources.output("grep", &["-rlF", "self.", "src"]).lines().map(str::to_owned).collect();
    assert!(files.len() > 3, "{files:?}");
    for file in files {
        let path = sources.root().join(&file);
        let before = sources.folder.path().join("before");
        fs::copy(&path, &before)?;
        let lines: u64 = sources.output("grep", &["-cF", "self.", &file]).trim().parse()?;
        let arguments = json!({"path": format!("/m/{file}"), "old": "self.", "new": "this_one.", "all": true});
        sources.call("edit", &arguments);
        let before = before.to_str().unwrap();
        let theirs = sources.output("sed", &["s/self\\./this_one./g", before]);
        assert_eq!(fs::read_to_string(&path)?, theirs, "{file}");
        let told = sources.output("diff", &[before, &file]);
        let removed = told.lines().filter(|line| line.starts_with("< ")).collect::<Vec<_>>();
        assert_eq!(removed.len() as u64, lines, "{file}");
        assert!(removed.iter().all(|line| line.contains("self.")), "{file}");
    }
    Ok(())
}
