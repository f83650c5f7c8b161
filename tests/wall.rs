//! The program gives up what its calls do not need, before they run.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::program::witbox;

/// What the kernel says of each thread: whether it may gain rights, and whether its system calls are filtered.
fn threads(of: &Child) -> Vec<(bool, bool)> {
    let tasks = fs::read_dir(format!("/proc/{}/task", of.id())).unwrap();
    let statuses = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    let says = |status: &str, line: &str| status.lines().any(|said| said == line);
    statuses.map(|status| (says(&status, "NoNewPrivs:\t1"), says(&status, "Seccomp:\t2"))).collect()
}

#[test]
fn every_thread_of_a_running_call_is_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("witbox.toml");
    for (wall, expected) in [("offered", true), ("required", true), ("off", false)] {
        fs::write(&config, format!("[host]\nwall = \"{wall}\"\n[toolset.probe]\ncomponent = \"builtin:probe\"\n"))
            .unwrap();
        let mut call = witbox()
            .args(["call", "-c", config.to_str().unwrap(), "probe_sleep", r#"{"milliseconds": 60000}"#])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let found = while_it_runs(&mut call, threads);
        assert!(found.iter().all(|thread| *thread == (expected, expected)), "{wall}: {found:?}");
    }
}

/// Has a look at a program while its guest sleeps, and stops it.
fn while_it_runs<T>(program: &mut Child, look: impl Fn(&Child) -> T) -> T {
    let started = Instant::now();
    while threads(program).len() < 2 && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (threads, found) = (threads(program).len(), look(program));
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(threads >= 2, "it did not run");
    found
}

#[test]
fn cases_run_behind_it_unless_they_are_trusted() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.cases.toml"),
        "[toolset.probe]\ncomponent = \"builtin:probe\"\n[[case]]\nname = \"it sleeps\"\ntool = \"probe_sleep\"\n\
         arguments = { milliseconds = 60000 }\n",
    )
    .unwrap();
    for (trust, expected) in [(None, true), (Some("--trust"), false)] {
        let mut test = witbox().arg("test").arg(folder.path()).args(trust).stdout(Stdio::null()).spawn().unwrap();
        let found = while_it_runs(&mut test, threads);
        assert!(found.iter().all(|thread| *thread == (expected, expected)), "{trust:?}: {found:?}");
    }
}

/// What a process holds open.
fn open_files(of: &Child) -> Vec<PathBuf> {
    let open = fs::read_dir(format!("/proc/{}/fd", of.id())).unwrap();
    open.filter_map(|open| fs::read_link(open.ok()?.path()).ok()).collect()
}

#[test]
fn what_was_left_open_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let (secret, config) = (folder.path().join("secret"), folder.path().join("witbox.toml"));
    fs::write(&secret, "secret").unwrap();
    for (wall, is_open) in [("offered", false), ("off", true)] {
        fs::write(&config, format!("[host]\nwall = \"{wall}\"\n[toolset.probe]\ncomponent = \"builtin:probe\"\n"))
            .unwrap();
        let mut call = as_left_open(&secret, 7)
            .args(["call", "-c", config.to_str().unwrap(), "probe_sleep", r#"{"milliseconds": 60000}"#])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let found = while_it_runs(&mut call, open_files);
        assert_eq!(found.contains(&secret.canonicalize().unwrap()), is_open, "{wall}: {found:?}");
    }
    // What is read by such a descriptor is read before.
    fs::write(&config, "[toolset.probe]\ncomponent = \"builtin:probe\"\n").unwrap();
    let output = as_left_open(&config, 7).args(["call", "-c", "/dev/fd/7", "probe_answer", "{}"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("/dev/fd/7"), "{output:?}");
}

/// The program, started by a shell that has a file open.
fn as_left_open(file: &Path, number: u32) -> Command {
    let program = witbox();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec {number}<\"$1\"; shift; exec \"$@\"")).arg("sh").arg(file);
    shell.arg(program.get_program());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Answers one request.
fn server() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
    });
    (port, thread)
}

#[test]
fn requests_that_are_granted_go_through_it() {
    for host in ["127.0.0.1", "localhost"] {
        let (port, server) = server();
        let url = format!("http://{host}:{port}");
        let output = witbox()
            .args(["call", "-t", "builtin:probe", "--allow-private-http", &url, "probe_fetch"])
            .arg(format!(r#"{{"url": "{url}/"}}"#))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains("200"), "{host}: {output:?}");
        server.join().unwrap();
    }
}

#[test]
fn files_of_mounts_are_read_and_written_through_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mode) in [("read", "ro"), ("write", "rw")] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("a"), "kept\n").unwrap();
        let mount = format!("{}:/m:{mode}", folder.path().join(name).display());
        let call = |tool: &str, arguments: &str| {
            let call = ["call", "-t", "builtin:files", "--mount", &mount, tool, arguments];
            witbox().args(call).output().unwrap()
        };
        let read = call("read", r#"{"path": "/m/a"}"#);
        assert!(String::from_utf8_lossy(&read.stdout).contains("kept"), "{read:?}");
        let written = call("write", r#"{"path": "/m/d/b", "content": "new"}"#);
        assert_eq!(written.status.success(), mode == "rw", "{written:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("write/d/b")).unwrap(), "new");
}
