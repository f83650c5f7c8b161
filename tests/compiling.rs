//! Components are compiled by processes of their own, whose end harms nobody.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::program::witbox;

/// A component that takes some seconds to compile: functions of a hundred thousand instructions.
fn slow(functions: usize) -> Vec<u8> {
    let body = "local.get 0 i32.const 3 i32.mul local.get 1 i32.add local.set 0 ".repeat(20_000);
    let mut text = String::from("(component (core module $m ");
    for n in 0..functions {
        write!(text, "(func (export \"f{n}\") (param i32 i32) (result i32) {body} local.get 0)").unwrap();
    }
    text.push_str(") (core instance $i (instantiate $m)) ");
    text.push_str(
        "(func (export \"run\") (param \"a\" u32) (param \"b\" u32) (result u32) (canon lift (core func $i \"f0\"))))",
    );
    wat::parse_str(text).unwrap()
}

/// The processes that a process started, and theirs.
fn descendants(of: u32) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(status) = fs::read_to_string(process.path().join("stat")) else { continue };
        let parent = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if parent == Some(of) {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
            found.extend(descendants(pid));
        }
    }
    found
}

fn wait_for(process: &Child, role: &str) -> u32 {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        if let Some((pid, _)) = descendants(process.id()).into_iter().find(|(_, line)| line.contains(role)) {
            return pid;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("there is no process with {role}: {:?}", descendants(process.id()));
}

fn list(file: &Path) -> Child {
    witbox().args(["list", "-t"]).arg(file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn a_compiler_that_dies_is_an_error_and_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "slow.wasm", &slow(8));
    for (role, said) in [
        ("--compile ", "the process that compiles it died (signal: 9 (SIGKILL))"),
        ("--compile-helper", "the process that compiles cannot be used"),
    ] {
        let process = list(&file);
        let compiler = wait_for(&process, "--compile ");
        let helper = wait_for(&process, "--compile-helper");
        kill(if role == "--compile " { compiler } else { helper });
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(said) && told.lines().count() == 1, "{told}");
        // Nobody is left.
        let started = Instant::now();
        while [compiler, helper].iter().any(|pid| is_running(*pid)) {
            assert!(started.elapsed() < Duration::from_secs(5), "{role}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn is_running(pid: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !status.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

#[test]
fn whoever_is_killed_leaves_no_compiler_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = list(&written(folder.path(), "slow.wasm", &slow(8)));
    let pids = [wait_for(&process, "--compile "), wait_for(&process, "--compile-helper")];
    process.kill().unwrap();
    process.wait().unwrap();
    let started = Instant::now();
    while pids.iter().any(|pid| is_running(*pid)) {
        assert!(started.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_component_that_breaks_the_compiler_leaves_the_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), "bad.wasm", &slow(8));
    written(folder.path(), "good.wasm", &slow(1));
    let config = "[toolset.bad]\ncomponent = \"bad.wasm\"\n[toolset.good]\ncomponent = \"good.wasm\"\n";
    let config = written(folder.path(), "witbox.toml", config.as_bytes());
    let process =
        witbox().args(["list", "-c"]).arg(config).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    kill(wait_for(&process, "--compile "));
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("good_run\n"));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("witbox: left out: toolset `bad`: "));
}

#[test]
fn a_component_above_the_size_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), "t.wasm", &slow(1));
    let config = "[host]\ncomponent-size = \"100KB\"\n[toolset.t]\ncomponent = \"t.wasm\"\n";
    let config = written(folder.path(), "witbox.toml", config.as_bytes());
    let output = witbox().args(["list", "-c"]).arg(config).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("and at most 100000 are read; the configuration's `component-size`"), "{told}");
}
