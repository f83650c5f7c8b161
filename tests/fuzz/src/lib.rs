//! What must neither panic, hang nor crash, whatever it is given. Each function is a target: `cargo fuzz` drives it with
//! coverage, and the test `fuzz` with what is kept in `seeds` and with noise.
#![allow(clippy::unwrap_used, reason = "what is ours may not fail")]
#![allow(unreachable_pub, reason = "a crate of its own for the fuzzer, a module for the test")]

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use arbitrary::Unstructured;
use witbox::{
    Call, CaseFile, Compile, Compiled, Component, Dialect, Engine, Format, Grant, Host, InProcess, Limits, Message,
    Plan,
};

/// A target's name and what it does with some bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 7] = [
    ("component", component),
    ("generated", generated),
    ("mutated", mutated),
    ("arguments", arguments),
    ("configuration", configuration),
    ("message", message),
    ("compiled", compiled),
];

static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new().unwrap());
static COMPILER: LazyLock<InProcess> = LazyLock::new(InProcess::default);
static RUNTIME: LazyLock<tokio::runtime::Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap());

/// Bytes as a component: described, linked, and each of its tools called.
pub fn component(bytes: &[u8]) {
    let Ok(component) = Component::new(&ENGINE, bytes) else { return };
    call_all(&component);
}

/// A component made of bytes by wasm-smith.
pub fn generated(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let config = wasm_smith::Config::arbitrary_with(&mut bytes);
    let Ok(generated) = wasm_smith::Component::new(config, &mut bytes) else { return };
    component(&generated.to_bytes());
}

trait ArbitraryWith {
    fn arbitrary_with(bytes: &mut Unstructured<'_>) -> Self;
}

impl ArbitraryWith for wasm_smith::Config {
    fn arbitrary_with(bytes: &mut Unstructured<'_>) -> Self {
        bytes.arbitrary().unwrap_or_default()
    }
}

/// A tool that comes with witbox, whose core module wasm-mutate has changed. What it returns may be anything.
pub fn mutated(bytes: &[u8]) {
    let Some((seed, rest)) = bytes.split_first_chunk() else { return };
    let seed = u64::from_le_bytes(*seed);
    let mut changed = TOOL.to_vec();
    for round in 0..1 + u64::from(rest.first().copied().unwrap_or_default() % 8) {
        let mut mutate = wasm_mutate::WasmMutate::default();
        mutate.seed(seed.wrapping_add(round)).fuel(1_000);
        let next = mutate.run(&changed).ok().and_then(|mut variants| variants.next()?.ok());
        let Some(next) = next else { break };
        changed = next;
    }
    let Ok(component) = encode(changed) else { return };
    let Ok(component) = Component::new(&ENGINE, &component) else { return };
    call_all(&component);
}

/// A core module for a world of a few types.
static TOOL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    wat::parse_str(
        r#"(module (memory (export "memory") 2) (global $free (mut i32) (i32.const 1024))
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
            (global.set $free (i32.add (global.get $free) (local.get 3))) (i32.sub (global.get $free) (local.get 3)))
          (func (export "text") (param i32 i32) (result i32)
            (i32.store (i32.const 16) (local.get 0)) (i32.store (i32.const 20) (local.get 1)) (i32.const 16))
          (func (export "numbers") (param i32 i32) (result i32)
            (i32.store (i32.const 16) (local.get 0)) (i32.store (i32.const 20) (local.get 1)) (i32.const 16))
          (func (export "pick") (param i32) (result i32) (local.get 0)))"#,
    )
    .unwrap()
});

/// A program for preview 1, with all that is changed as it is adapted.
const PROGRAM: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (global $top (mut i32) (i32.const 0))
    (data (i32.const 0) "\08\00\00\00\05\00\00\00hello")
    (func (export "_start")
        (global.set $top (memory.grow (i32.const 1)))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64)))
        (call $exit (memory.size))))"#;

fn encode(mut module: Vec<u8>) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut resolve = wit_parser::Resolve::default();
    let wit = "package f:f; interface t { enum e { a, b, c } } world w { use t.{e};
      export text: func(text: string) -> string; export numbers: func(numbers: list<u64>) -> list<u64>; export pick: func(e: e) -> e; }";
    let package = resolve.push_str("f.wit", wit)?;
    let world = resolve.select_world(&[package], Some("w"))?;
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8)?;
    Ok(wit_component::ComponentEncoder::default().module(&module)?.encode()?)
}

fn call_all(component: &Component) {
    let limits = Limits {
        fuel: 1_000_000,
        memory: 16 << 20,
        timeout: Duration::from_secs(2),
        output: 1 << 20,
        ..Limits::default()
    };
    let mut host = Host::builder(&ENGINE);
    if host.toolset("t", component, Grant::default().limits(limits)).is_err() {
        return;
    }
    let host = host.build();
    let tools = host.registry().tools();
    for dialect in Dialect::ALL {
        for tool in tools {
            let _ = dialect.tool(tool);
        }
    }
    let arguments = ["{}", r#"{"text": "héllo"}"#, r#"{"numbers": [1, 18446744073709551615]}"#, r#"{"e": "b"}"#];
    let calls =
        tools.iter().take(20).flat_map(|tool| arguments.map(|arguments| Call::new("1", tool.name(), arguments)));
    for call in calls {
        let reply = RUNTIME.block_on(host.call(call));
        assert!(serde_json::to_string(&reply).is_ok());
    }
}

/// Bytes as the arguments of a tool of many types.
pub fn arguments(bytes: &[u8]) {
    static HOST: LazyLock<Host> = LazyLock::new(|| {
        let mut host = Host::builder(&ENGINE);
        for tool in ["triage", "files", "probe"] {
            let limits = Limits { fuel: 1_000_000, timeout: Duration::from_millis(100), ..Limits::default() };
            host.toolset(tool, &Component::builtin(&ENGINE, tool).unwrap(), Grant::default().limits(limits)).unwrap();
        }
        host.build()
    });
    let text = String::from_utf8_lossy(bytes);
    for tool in ["triage_classify", "files_grep", "probe_send"] {
        let reply = RUNTIME.block_on(HOST.call(Call::new("1", tool, text.clone())));
        assert!(!reply.is_error() || !reply.text().is_empty(), "{reply:?}");
    }
}

/// Bytes as a configuration and as a file of cases.
pub fn configuration(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let told = |error: witbox::Error| assert!(!error.to_string().is_empty());
    Plan::read(&text, "witbox.toml", Path::new("")).map(drop).unwrap_or_else(told);
    CaseFile::read(&text, "a.cases.toml", Path::new("")).map(drop).unwrap_or_else(told);
}

/// Bytes as an assistant message of each provider, and the answer to it.
pub fn message(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let named = Format::NAMES.into_iter().map(|name| Message::parse_as(&text, name.parse().unwrap()));
    for message in named.chain([Message::parse(&text)]).flatten() {
        let host = Host::builder(&ENGINE).build();
        let replies = RUNTIME.block_on(host.call_all(message.calls().to_vec()));
        assert_eq!(replies.len(), message.calls().len());
        assert!(serde_json::from_str::<serde_json::Value>(&message.answer(&replies)).is_ok());
    }
}

/// Bytes as what a compiler sent, up to where its code would be loaded.
pub fn compiled(bytes: &[u8]) {
    let Ok(read) = Compiled::read(bytes) else { return };
    let mut written = Vec::new();
    read.write(&mut written).unwrap();
    assert!(Compiled::read(written.as_slice()).is_ok());
}

/// What each target starts from where nothing is kept yet.
pub fn samples(target: &str) -> Vec<Vec<u8>> {
    let texts: &[&str] = match target {
        "component" => return vec![encode(TOOL.to_vec()).unwrap(), wat::parse_str(PROGRAM).unwrap()],
        "compiled" => {
            let mut written = Vec::new();
            COMPILER.compile(&encode(TOOL.to_vec()).unwrap()).unwrap().write(&mut written).unwrap();
            return vec![written];
        }
        "arguments" => &[
            r#"{"dtc_codes": ["P0301"], "telemetry_flags": ["abs"], "recall_ids": [], "a": 1e999, "b": null}"#,
            r#"{"path": "/m", "pattern": "a.*b", "limit": 5}"#,
            r#"{"url": "https://a.example/", "method": "GET", "headers": [["a", "b"]]}"#,
        ],
        "configuration" => &[
            "[limits]\nfuel = \"10G\"\n[host]\ncalls = 3\n[toolset.files]\ncomponent = \"builtin:files\"\n[[toolset.files.mount]]\nhost = \"docs\"\nguest = \"/docs\"\nmode = \"rw\"\n[[toolset.files.fs]]\nallow = [\"read\"]\npaths = [\"/docs/**\"]\n",
            "[toolset.w]\ncomponent = \"w.wasm\"\nhttp = [\"https://api.example\"]\n[toolset.w.secret.key]\nfrom-env = \"K\"\nheader = \"authorization\"\norigin = \"https://api.example\"\n[[case]]\nname = \"a\"\ntool = \"w_x\"\n",
        ],
        "message" => &[
            r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "files_read", "input": {"path": "/"}}]}"#,
            r#"{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}]}"#,
            r#"{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "x", "args": {}}}]}}]}"#,
            r#"{"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "x", "input": {}}}]}}}"#,
        ],
        _ => return vec![(0..=255).cycle().take(4_096).collect()],
    };
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
