//! The command line: transcripts, and what is too large for one.
//!
//! `just bless` writes the transcripts; a person reads the difference.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::process::{Command, Output};

use support::program::{self, CACHE_HOME};

#[test]
fn transcripts() {
    let home = CACHE_HOME.to_str().unwrap();
    let cases = trycmd::TestCases::new();
    cases.env("XDG_CACHE_HOME", home).env("XDG_STATE_HOME", home).case("../tests/cli/*.trycmd");
}

fn witbox(arguments: &[&str]) -> Output {
    program::witbox().args(arguments).output().unwrap()
}

#[test]
fn a_hundred_megabytes_of_json_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("huge.json");
    std::fs::write(&file, format!("[{}1]", "1,".repeat(50_000_000))).unwrap();
    let file = file.to_str().unwrap();
    for arguments in
        [vec!["exec", "-t", "builtin:probe", file], vec!["call", "-t", "builtin:probe", "answer", &format!("@{file}")]]
    {
        let output = witbox(&arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("witbox: {file}: more than 67108864 bytes\n"));
    }
}

#[test]
fn arguments_above_the_limit_are_a_reply() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.json");
    std::fs::write(&file, format!(r#"{{"message": "{}"}}"#, "x".repeat(2_000_000))).unwrap();
    let output = witbox(&["call", "-t", "builtin:probe", "fail", &format!("@{}", file.display())]);
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("witbox: limit: the arguments have 2000015 bytes"));
}

#[test]
fn what_has_no_end_is_no_configuration() {
    let output = witbox(&["check", "-c", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "witbox: /dev/zero: more than 4194304 bytes\n");
}

#[test]
fn a_hundred_mistakes_are_told_and_the_rest_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("witbox.toml");
    for (mistakes, told) in [(100, 100), (100_000, 101)] {
        let keys: String = (0..mistakes).map(|n| format!("key-{n} = 1\n")).collect();
        std::fs::write(&file, keys).unwrap();
        let output = witbox(&["check", "-c", file.to_str().unwrap()]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(errors.lines().count(), told);
        assert_eq!(errors.ends_with("\n  and 99900 more mistakes\n"), told == 101, "{errors}");
    }
}

#[test]
fn what_cannot_be_printed_is_an_error() {
    for arguments in
        [&["--help"][..], &["call", "-t", "builtin:probe", "environment"], &["schema", "-t", "builtin:probe"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = program::witbox().args(arguments).stdout(full).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("No space left on device"), "{arguments:?}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_call_has_a_reply_and_its_own_exit_code() {
    use std::process::Stdio;

    let call = program::witbox()
        .args(["call", "--json", "-t", "builtin:probe", "sleep", r#"{"milliseconds": 60000}"#])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The process tells nobody that the call has begun, but has one thread until shortly before; an interrupt then would end
    // it without a reply.
    let threads = || std::fs::read_dir(format!("/proc/{}/task", call.id())).unwrap().count();
    while threads() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    let interrupt = Command::new("kill").args(["-INT", &call.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = call.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["status"], "cancelled");
}
