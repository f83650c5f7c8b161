//! Programs as tools: arguments and standard input in, what they write and how they end out.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use support::{ENGINE, checkout, program};
use tempfile::TempDir;
use witbox::{Block, Call, Component, Grant, Host, Limits, Mount, Reply, ResultLimits, Secret, Status, Workspace};

static PROGRAM: LazyLock<Component> = LazyLock::new(|| {
    let bytes = fs::read(checkout("guest-tools/dist/program.wasm")).unwrap();
    Component::new(&ENGINE, &bytes).unwrap()
});

/// A host with the program under a grant, which keeps what is too large where there is a workspace.
fn host(grant: Grant, workspace: Option<&TempDir>) -> Host {
    let mut host = Host::builder(&ENGINE);
    if let Some(workspace) = workspace {
        let workspace = Workspace::open(&workspace.path().join("work")).unwrap();
        host.results(workspace.session("a").unwrap(), ResultLimits::default()).unwrap();
    }
    host.toolset("program", &PROGRAM, grant).unwrap();
    host.build()
}

fn limits(change: impl FnOnce(&mut Limits)) -> Grant {
    let mut limits = Limits::default();
    change(&mut limits);
    Grant::default().limits(limits)
}

fn call(host: &Host, arguments: &Value) -> Reply {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(host.call(Call::new("1", "program_run", arguments.to_string())))
}

fn run(host: &Host, args: &[&str]) -> Reply {
    call(host, &json!({"args": args}))
}

fn texts(reply: &Reply) -> Vec<String> {
    let text = |block: &Block| match block {
        Block::Text { text } => text.clone(),
        other => panic!("{other:?}"),
    };
    reply.content.iter().map(text).collect()
}

/// What the only evicted result of a reply holds.
fn kept(host: &Host, reply: &Reply) -> Vec<u8> {
    let [evicted] = &reply.evicted[..] else { panic!("{reply:?}") };
    let name = evicted.path.strip_prefix("/results/").unwrap();
    let kept = fs::read(host.session().unwrap().results_folder().join(name)).unwrap();
    assert_eq!(evicted.bytes, kept.len() as u64);
    kept
}

#[test]
fn what_a_program_does_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), "<!doctype html><p>hi").unwrap();
    fs::write(folder.path().join("dot.png"), PNG).unwrap();
    let grant = limits(|limits| limits.fuel = 100_000_000);
    let grant = grant.mount(Mount::read_only(folder.path(), "/in".parse().unwrap())).env("GREETING", "hello");
    let host = host(grant, None);
    let words = |code: i32, out: usize, err: usize| {
        format!("[witbox] exit code {code}; standard output has {out} bytes and standard error {err}, in this order:")
    };
    let wrong = words(1, 0, 22);
    for (arguments, status, code, content) in [
        (json!({"args": ["echo", "a  b", "$HOME", "*", ""]}), Status::Ok, Some(0), vec!["a  b $HOME * \n"]),
        (json!({"args": ["cat"], "stdin": "zwölf\r\n"}), Status::Ok, Some(0), vec!["zwölf\r\n"]),
        (json!({"args": ["cat"], "stdin": null}), Status::Ok, Some(0), vec![]),
        (json!({"args": ["env", "GREETING"]}), Status::Ok, Some(0), vec!["hello\n"]),
        (json!({"args": ["read", "/in/page.html"]}), Status::Ok, Some(0), vec!["<!doctype html><p>hi"]),
        (
            json!({"args": ["fail", "77"]}),
            Status::ToolError,
            Some(77),
            vec![&*words(77, 14, 13), "so far so good", "and then not\n"],
        ),
        (json!({}), Status::ToolError, Some(1), vec![&*wrong, "program: no such word\n"]),
        (json!({"args": null}), Status::ToolError, Some(1), vec![&*wrong, "program: no such word\n"]),
        (
            json!({"args": ["echo", "a".repeat(50_000)]}),
            Status::Invalid,
            None,
            vec![
                "/args: they take 50035 bytes, 8 for each among them, and a program has 49152 for them; hand over in \
                 `stdin` what is long",
            ],
        ),
        (
            json!({"args": ["a\0b"]}),
            Status::Invalid,
            None,
            vec!["/args/0: an argument of a program cannot hold the character U+0000; hand it over in `stdin`"],
        ),
    ] {
        let reply = call(&host, &arguments);
        assert_eq!((reply.status, reply.exit_code), (status, code), "{arguments}: {reply:?}");
        assert_eq!(texts(&reply), content, "{arguments}");
        assert_eq!((reply.structured.is_none(), &*reply.stdout, &*reply.stderr), (true, "", ""), "{arguments}");
    }

    let reply = run(&host, &["read", "/in/dot.png"]);
    let [block @ Block::Image { mime_type, .. }] = &reply.content[..] else { panic!("{reply:?}") };
    assert_eq!((mime_type.as_str(), block.bytes().as_deref()), ("image/png", Some(PNG)));

    let reply = run(&host, &["read", "/etc/passwd"]);
    assert_eq!(reply.exit_code, Some(1));
    assert!(reply.text().contains("standard error"), "{reply:?}");
}

/// One pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

#[test]
fn a_program_that_is_stopped_leaves_what_it_wrote() {
    let host = host(limits(|limits| (limits.fuel, limits.timeout) = (20_000_000, Duration::from_secs(20))), None);
    let until = |out: usize, err: usize| {
        format!(
            "[witbox] until then it wrote {out} bytes to standard output and {err} to standard error, in this order; \
             there may have been more to come:"
        )
    };
    let reply = run(&host, &["spin"]);
    let message = "the tool was stopped: it used all of its 20000000 units of fuel".to_owned();
    assert_eq!((reply.status, reply.exit_code), (Status::Limit, None));
    assert_eq!(texts(&reply), [message, until(7, 0), "before\n".to_owned()]);
    assert_eq!(reply.error.unwrap().kind, "fuel");

    let reply = run(&host, &["panic"]);
    assert_eq!((reply.status, reply.exit_code), (Status::Trap, None));
    let texts = texts(&reply);
    assert_eq!(texts[2], "before\n");
    assert!(texts[3].contains("of its own accord"), "{texts:?}");

    let host =
        self::host(limits(|limits| (limits.fuel, limits.timeout) = (u64::MAX / 2, Duration::from_millis(300))), None);
    let reply = run(&host, &["spin"]);
    assert_eq!((reply.status, reply.exit_code), (Status::Timeout, None));
    assert_eq!(self::texts(&reply)[1..], [until(7, 0), "before\n".to_owned()]);
}

#[test]
fn output_that_memory_does_not_hold_goes_into_a_file_as_it_comes() {
    let work = tempfile::tempdir().unwrap();
    let host = host(limits(|limits| limits.output = 100_000), Some(&work));
    let reply = run(&host, &["lines", "50000"]);
    let expected: String = (1..=50_000).map(|number| format!("line {number}\n")).collect();
    assert_eq!(kept(&host, &reply), expected.as_bytes());
    assert_eq!((reply.status, reply.exit_code, reply.content.len()), (Status::Ok, Some(0), 1));
    let evicted = &reply.evicted[0];
    let bytes = expected.len() as u64;
    assert_eq!((evicted.lines, evicted.tokens, evicted.is_partial), (50_000, bytes.div_ceil(4), false));
    let pointer = reply.text();
    assert!(pointer.starts_with("[witbox] What program_run wrote to standard output is too large"), "{pointer}");
    assert!(pointer.contains("   50000 | line 50000\n"), "{pointer}");
    assert!(pointer.len() <= 4_000, "{}", pointer.len());

    // What memory holds, and a model does not, is no different.
    let reply = run(&host, &["lines", "9000"]);
    assert_eq!(kept(&host, &reply), expected.as_bytes()[..expected.find("line 9001").unwrap()]);
    assert!(reply.text().starts_with("[witbox] What program_run returned is too large"), "{}", reply.text());

    // Bytes that are no text are told of, and not shown.
    let reply = run(&host, &["bytes", "300000", "0"]);
    let octets =
        "[witbox] What program_run wrote to standard output is application/octet-stream, 300000 bytes, in the file ";
    assert!(reply.text().starts_with(octets), "{}", reply.text());
    assert_eq!(kept(&host, &reply), [0; 300_000]);

    // Large errors beside large output: each has a file of its own.
    let reply = run(&host, &["both", "100000"]);
    assert_eq!((reply.evicted.len(), reply.content.len()), (2, 3), "{reply:?}");
    assert!(
        reply.text().starts_with("[witbox] exit code 0; standard output has 100000 bytes and standard error 100000")
    );
    assert!(host.session().unwrap().results().unwrap().len() >= 4);
}

#[test]
fn output_ends_where_it_may_and_is_said_to_be_a_part() {
    let work = tempfile::tempdir().unwrap();
    let grant = || limits(|limits| (limits.output, limits.stream) = (100_000, 1_000_000));
    let host = host(grant(), Some(&work));
    let reply = run(&host, &["bytes", "1000000", "120"]);
    assert_eq!((reply.status, reply.evicted[0].is_partial), (Status::Ok, false), "exactly as much stays");
    let reply = run(&host, &["bytes", "1000001", "120"]);
    assert_eq!((reply.status, reply.exit_code), (Status::Limit, None));
    assert_eq!(kept(&host, &reply), [120; 1_000_000]);
    assert!(reply.evicted[0].is_partial);
    let error = reply.error.as_ref().unwrap();
    let message = "the tool was stopped: it wrote more than 1000000 bytes to standard output";
    assert_eq!((error.kind.as_str(), error.message.as_str()), ("stream", message));
    let texts = texts(&reply);
    assert_eq!(texts[0], message);
    assert!(texts[1].contains("until then it wrote 1000000 bytes"), "{texts:?}");
    assert!(
        texts[2].starts_with("[witbox] What program_run wrote to standard output, until it was stopped, is too large")
    );

    // A text ends where its last whole character does.
    let host = self::host(limits(|limits| limits.stream = 3), Some(&work));
    assert_eq!(self::texts(&run(&host, &["echo", "éé"]))[2], "é");

    // Without a workspace there is no more than memory holds.
    let host = self::host(grant(), None);
    let reply = run(&host, &["bytes", "100001", "120"]);
    assert_eq!(self::texts(&reply)[2].len(), 100_000);
    assert_eq!((reply.status, reply.error.unwrap().kind.as_str()), (Status::Limit, "stream"));
}

#[test]
fn what_cannot_be_kept_is_cut_and_said_to_be() {
    let work = tempfile::tempdir().unwrap();
    let secret = Secret::new("key", "0123456789-secret").unwrap().exposed();
    let host = host(limits(|limits| limits.output = 100_000).secret(secret), Some(&work));
    fs::remove_dir_all(host.session().unwrap().results_folder()).unwrap();
    let reply = run(&host, &["bytes", "200000", "120"]);
    assert_eq!((reply.status, reply.exit_code, reply.evicted.len()), (Status::Failed, None, 0));
    let texts = texts(&reply);
    assert!(texts[0].starts_with("what the tool writes cannot be kept in a file: "), "{texts:?}");
    assert!(
        texts[2].starts_with("[witbox] The result is too large to be shown here, and could not be kept"),
        "{texts:?}"
    );
    assert!(texts.concat().len() <= 80_000);
    assert!(texts[2].ends_with("xxxx"));
    // However much there is, the reply has what the program wrote, the host's words, and nothing else.
    for bytes in ["100001", "106000", "107000", "150000"] {
        let reply = run(&host, &["bytes", bytes, "120"]);
        assert!(reply.content.len() == 3 && reply.text().len() <= 80_000, "{bytes}: {}", reply.content.len());
    }
    let reply = run(&host, &["repeat", "10000", "0123456789-secret"]);
    assert!(reply.status == Status::Failed && !reply.text().contains("secret"), "{}", reply.text());
}

#[test]
fn no_secret_gets_into_the_file() {
    let work = tempfile::tempdir().unwrap();
    let input = tempfile::tempdir().unwrap();
    let secret = "0123456789-secret-0123456789";
    // At every place of the pieces in which it is written.
    let text: String = (0..4_000).map(|number| format!("{}{secret}\n", "x".repeat(number % 97))).collect();
    // At the end it may be the start of another.
    let text = text + secret;
    fs::write(input.path().join("log"), &text).unwrap();
    let grant = limits(|limits| limits.output = 10_000)
        .secret(Secret::new("more", format!("{secret}-and-more")).unwrap().exposed());
    let grant = grant
        .mount(Mount::read_only(input.path(), "/in".parse().unwrap()))
        .secret(Secret::new("key", secret).unwrap().exposed());
    let host = host(grant, Some(&work));
    let reply = run(&host, &["read", "/in/log"]);
    let kept = String::from_utf8(kept(&host, &reply)).unwrap();
    assert_eq!(kept, text.replace(secret, &"*".repeat(secret.len())));
    assert!(!reply.text().contains(secret));
    assert_eq!(texts(&run(&host, &["env", "KEY"])), ["[secret key]\n"]);
}

/// Core modules as compilers for WASI preview 1 make them.
#[test]
fn programs_for_preview_1_are_adapted() {
    const IMPORTS: &str = r#"
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (global $stack (mut i32) (i32.const 0))"#;
    // Copies its input, and exits with the number of its arguments, its name included.
    let copy = r#"(func (export "_start")
        (i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 1000))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (drop (call $sizes (i32.const 16) (i32.const 20)))
        (call $exit (i32.load (i32.const 16))))"#;
    let adapted = |text: &str| Component::new(&ENGINE, &wat::parse_str(text).unwrap());
    let replied = |text: &str, arguments: &Value| {
        let host = support::host("program", &adapted(text).unwrap(), Grant::default());
        call(&host, arguments)
    };
    let copy = format!("(module {IMPORTS} {copy})");
    let reply = replied(&copy, &json!({"args": ["a", "b"], "stdin": "hé"}));
    assert_eq!((reply.status, reply.exit_code), (Status::ToolError, Some(3)), "{reply:?}");
    assert_eq!(texts(&reply)[1], "hé");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.wasm");
    fs::write(&file, wat::parse_str(&copy).unwrap()).unwrap();
    let told = program::witbox().args(["schema", "--lint", "-t"]).arg(&file).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("copy_run: nothing tells what the program does"), "{told}");

    let digest = adapted(&copy).unwrap().digest().to_owned();
    let hash =
        |bytes: &[u8]| sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), bytes));
    let of_file: String = hash(&wat::parse_str(&copy).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, format!("sha256:{of_file}"), "the digest is the file's");

    for (start, exit_code) in [
        ("", 0),
        ("(call $exit (i32.const 0))", 0),
        ("(call $exit (i32.const 259))", 3),
        // A C library of before 2023 takes all of the memory for its heap, so that it must not see what the adapter took.
        ("(drop (call $sizes (i32.const 16) (i32.const 20))) (call $exit (memory.size))", 1),
        // Once it has asked for more it sees all: a page more than there was.
        (
            "(drop (call $sizes (i32.const 16) (i32.const 20))) (global.set $stack (memory.grow (i32.const 1)))
            (if (i32.lt_u (global.get $stack) (i32.const 2)) (then (call $exit (i32.const 99))))
            (call $exit (i32.sub (memory.size) (global.get $stack)))",
            1,
        ),
    ] {
        let reply = replied(&format!("(module {IMPORTS} (func (export \"_start\") {start}))"), &json!({}));
        assert_eq!(reply.exit_code, Some(exit_code), "{start}: {reply:?}");
    }
    let reply = replied(r#"(module (memory (export "memory") 1) (func (export "_start")))"#, &json!({}));
    assert_eq!((reply.status, reply.exit_code), (Status::Ok, Some(0)));

    for (text, expected) in [
        (r#"(module (import "env" "f" (func)) (func (export "_start")))"#, "cannot be made a component: "),
        (
            r#"(module (import "wasi_unstable" "proc_exit" (func (param i32))) (func (export "_start")))"#,
            "wasi_unstable",
        ),
        (
            r#"(module (import "wasi_snapshot_preview1" "sched_yield" (func (result i32))) (func (export "_start")))"#,
            "it exports no memory named `memory`",
        ),
        (r#"(module (memory (export "_start") 1))"#, "a core module, not a component"),
    ] {
        let error = adapted(text).unwrap_err();
        assert!(error.is_component() && error.to_string().contains(expected), "{text}: {error}");
    }
}

#[test]
fn only_the_interface_of_wasi_makes_a_program() {
    let component = |export: &str, ty: &str, result: &str| {
        let text = format!(
            r#"(component
            (core module $m (func (export "run") (result i32) (i32.const 0)) (memory (export "memory") 1))
            (core instance $i (instantiate $m))
            (func $run {ty} (canon lift (core func $i "run") {result}))
            (instance $run (export "run" (func $run)))
            (export "{export}" (instance $run)))"#
        );
        Component::new(&ENGINE, &wat::parse_str(text).unwrap()).unwrap()
    };
    let tools = |component: &Component| {
        component.tools("t").unwrap().iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>()
    };
    let program = component("wasi:cli/run@0.2.0", "(result (result))", "");
    assert_eq!(tools(&program), ["t_run"]);
    assert!(program.tools("t").unwrap()[0].is_command());
    let other = component("wasi:cli/run@0.2.0", "(result u32)", "");
    assert_eq!(tools(&other), Vec::<String>::new());
    assert!(other.no_tools()[0].reason.contains("no `run: func() -> result`"), "{:?}", other.no_tools());
    let function = component("test:cli/run@0.2.0", "(result (result))", "");
    assert!(!function.tools("t").unwrap()[0].is_command());
}

/// What a process of ours takes of memory while a program writes much: in CI less than by hand.
#[test]
fn the_host_holds_little_of_what_streams_by() {
    let work = tempfile::tempdir().unwrap();
    let peak = |bytes: u64| {
        let mut witbox = program::witbox();
        let config = work.path().join("witbox.toml");
        let component = checkout("guest-tools/dist/program.wasm");
        let text = format!(
            "[workspace]\ndir = 'work'\n[limits]\nfuel = '1000G'\ntimeout = '10m'\nstream = '2GiB'\n[toolset.program]\ncomponent = '{}'\n",
            component.display()
        );
        fs::write(&config, text).unwrap();
        let arguments = json!({"args": ["bytes", bytes.to_string(), "120"]}).to_string();
        let mut child = witbox
            .args(["call", "--json", "-c"])
            .arg(&config)
            .args(["program_run", &arguments])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            peak = peak_of(child.id()).unwrap_or(peak);
            std::thread::sleep(Duration::from_millis(1));
        }
        let reply: Value = serde_json::from_reader(child.stdout.take().unwrap()).unwrap();
        assert_eq!(reply["exit_code"], 0, "{reply}");
        (peak, reply)
    };
    let (idle, _) = peak(10);
    let (busy, reply) = peak(256 << 20);
    assert_eq!(reply["evicted"][0]["bytes"], 256 << 20);
    assert!(idle > 0);
    assert!(busy < idle + (64 << 10), "{idle} KiB, and then {busy} KiB");
}

/// The most that a process has held of memory, in KiB.
fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
