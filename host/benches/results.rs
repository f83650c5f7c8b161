//! What results cost: a program that streams ten gigabytes into a file, and a search in 200 MB of source text.
//!
//! `WITBOX_STREAM` says another number of bytes for the first. Its floor is the same bytes hashed and written by a loop. For
//! the second it is ripgrep, where there is an `rg`, with one thread, and the `grep` that every system has.
//! Compare the lines of one run only.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot start should stop")]
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use witbox::{Call, Component, Engine, Grant, Host, Limits, Mount, Reply, ResultLimits, Status, Workspace};

/// How much the program streams, in bytes.
const STREAM: u64 = 10_000_000_000;
/// How much is searched, in bytes.
const SEARCHED: u64 = 200_000_000;
/// How often each search runs; the fastest counts.
const TIMES: u32 = 3;

fn main() {
    // Cargo's tests of benchmarks want nothing but to see them start.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    stream();
    search();
}

fn call(host: &Host, tool: &str, arguments: &Value) -> Reply {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(host.call(Call::new("1", tool, arguments.to_string())))
}

fn stream() {
    let bytes = std::env::var("WITBOX_STREAM").map_or(STREAM, |bytes| bytes.parse().unwrap());
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let engine = Engine::new().unwrap();
    let program =
        Component::new(&engine, &fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("builtin/program.wasm")).unwrap());
    let workspace = Workspace::open(&folder.path().join("work")).unwrap();
    let mut host = Host::builder(&engine);
    host.results(workspace.session("bench").unwrap(), ResultLimits::default()).unwrap();
    let limits =
        Limits { fuel: u64::MAX / 2, timeout: Duration::from_secs(3_600), stream: u64::MAX, ..Limits::default() };
    host.toolset("program", &program.unwrap(), Grant::default().limits(limits)).unwrap();
    let host = host.build();
    let run = |bytes: u64| call(&host, "program_run", &json!({"args": ["bytes", bytes.to_string(), "120"]}));
    assert_eq!(run(1).status, Status::Ok);

    let idle = memory("VmRSS");
    let started = Instant::now();
    let reply = run(bytes);
    let took = started.elapsed();
    let above = memory("VmHWM").saturating_sub(idle);
    assert_eq!((reply.status, reply.evicted[0].bytes), (Status::Ok, bytes), "{}", reply.text());
    println!("stream of {bytes} bytes: {took:.1?}, {} MB/s", rate(bytes, took));
    println!("  memory above idle at most: {} MiB of {} MiB", above >> 10, idle >> 10);
    fs::remove_dir_all(folder.path().join("work")).unwrap();

    let started = Instant::now();
    let (mut file, mut hash, piece) =
        (File::create(folder.path().join("floor")).unwrap(), Sha256::new(), [120; 64 << 10]);
    for _ in 0..bytes / piece.len() as u64 {
        hash.update(piece);
        file.write_all(&piece).unwrap();
    }
    assert_eq!(hash.finalize().len(), 32);
    let took = started.elapsed();
    println!("  floor, {bytes} bytes hashed and written: {took:.1?}, {} MB/s", rate(bytes, took));
}

fn rate(bytes: u64, took: Duration) -> u64 {
    (bytes as f64 / took.as_secs_f64() / 1e6) as u64
}

/// What the process holds of memory, in KiB.
fn memory(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

fn search() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bytes = tree(folder.path());
    let files = fs::read_dir(folder.path()).unwrap().count();
    println!("search in {bytes} bytes of source text in {files} folders:");
    let engine = Engine::new().unwrap();
    let tool = Component::builtin(&engine, "files").unwrap();
    let limits = Limits { fuel: u64::MAX / 2, timeout: Duration::from_secs(600), ..Limits::default() };
    let mut host = Host::builder(&engine);
    host.toolset(
        "files",
        &tool,
        Grant::default().limits(limits).mount(Mount::read_only(folder.path(), "/t".parse().unwrap())),
    )
    .unwrap();
    let host = host.build();
    for (text, regex) in [("unsafe impl", false), (r"fn \w+_mut\(&mut self", true), ("zqxjkv", false)] {
        let arguments = json!({"path": "/t", "text": text, "regex": regex, "show": "counts", "limit": 100_000});
        let witbox = fastest(|| {
            let reply = call(&host, "files_grep", &arguments);
            assert_eq!(reply.status, Status::Ok, "{}", reply.text());
        });
        println!("  {text:?}: witbox {witbox:.2?}");
        for (program, options) in [("rg", &["-j1", "-uu", "-c"][..]), ("grep", &["-r", "-c", "-I"])] {
            let mut command = Command::new(program);
            command.args(options).arg(if regex { if program == "rg" { "-e" } else { "-Pe" } } else { "-Fe" });
            command.arg(text).arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
            match command.status() {
                Ok(_) => println!("    {program}: {:.2?}", fastest(|| assert!(command.status().is_ok()))),
                Err(_) => println!("    {program}: not there"),
            }
        }
    }
}

fn fastest(mut run: impl FnMut()) -> Duration {
    let times = (0..TIMES).map(|_| {
        let started = Instant::now();
        run();
        started.elapsed()
    });
    times.min().unwrap()
}

/// Copies sources of the registry into a folder, as much as is searched.
fn tree(folder: &Path) -> u64 {
    let home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap()));
    let sources = walkdir::WalkDir::new(Path::new(&home).join("registry/src")).sort_by_file_name();
    let mut bytes = 0;
    for entry in sources.into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        if bytes >= SEARCHED {
            break;
        }
        if !entry.path().extension().is_some_and(|kind| matches!(kind.to_str(), Some("rs" | "md" | "toml" | "txt"))) {
            continue;
        }
        let below: std::path::PathBuf =
            entry.path().components().rev().take(entry.depth() - 1).collect::<Vec<_>>().into_iter().rev().collect();
        let to = folder.join(below);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        bytes += fs::copy(entry.path(), to).unwrap();
    }
    bytes
}
