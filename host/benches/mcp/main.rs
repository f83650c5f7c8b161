//! What `witbox serve` costs over standard input and output: to start, and for each call, beside the same echo in a server of the
//! protocol's own library without a sandbox, and in the SDKs for Python and TypeScript.
//!
//! `SDK_PYTHON` is a Python with the SDK, and `SDK_NODE` a folder in whose `node_modules` the other is; without them those are left
//! out. The client is the same for all: a thread that writes a line and reads one, over pipes that hold a mebibyte.
//! Compare the lines of one run only.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot start should stop")]
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

mod native;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pipe::fcntl_setpipe_size;
use serde_json::{Value, json};
use tempfile::TempDir;

/// `echo: func(text: string) -> string`, in a memory that holds a mebibyte.
const ECHO: &str = r#"(component
  (core module $m
    (memory (export "memory") 20)
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 0) (local.get 0))
      (i32.store (i32.const 4) (local.get 1))
      (i32.const 0))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $i (instantiate $m))
  (func (export "echo") (param "text" string) (result string)
    (canon lift (core func $i "echo") (memory $i "memory") (realloc (func $i "cabi_realloc")))))"#;

/// How many calls are measured of each size, after a tenth of them that are not.
const SIZES: [(&str, usize, usize); 2] = [("100 B", 100, 10_000), ("1 MiB", 1 << 20, 200)];
/// How often a start is measured; the median counts.
const STARTS: usize = 11;
/// How many calls are open at once where as many as possible are made, and how many are.
const IN_FLIGHT: usize = 8;
const CALLS: usize = 40_000;
/// How much a pipe holds, in bytes.
const PIPE: usize = 1 << 20;

fn main() {
    let argument = std::env::args().nth(1);
    match argument.as_deref() {
        // Cargo's tests of benchmarks want nothing but to see them start.
        Some("--test") => return,
        Some(native::PIPES) => return native::over_pipes(),
        Some(native::STDIO) => return native::over_stdio(),
        _ => {}
    }
    let place = Place::new();
    println!("{:46} {:>10} {:>10} {:>12} {:>10}", "start to the list of tools", "", "median", "fastest", "RSS");
    for (what, toolsets) in [("witbox, 1 toolset", 1), ("witbox, 200 toolsets", 200)] {
        place.configure(toolsets);
        place.empty_cache();
        start(&format!("{what}, nothing compiled yet"), 1, || place.witbox());
        start(what, STARTS, || place.witbox());
    }
    place.configure(2);
    let (native, pipes) = (|| this(native::STDIO), || this(native::PIPES));
    let witbox = || place.witbox();
    let servers: [(&str, &str, &dyn Fn() -> Command); 4] = [
        ("native, on one thread over pipes", "echo", &pipes),
        ("native, over the library's stdio()", "echo", &native),
        ("witbox, the smallest tool", "wat_echo", &witbox),
        ("witbox, a tool in Rust", "rust_echo", &witbox),
    ];
    let sdks: Vec<(&str, Command)> = sdks().collect();
    for (what, _, command) in &servers[..2] {
        start(what, STARTS, command);
    }
    for (what, command) in &sdks {
        start(what, 3, || again(command));
    }
    println!();
    println!("{:46} {:>10} {:>10} {:>12} {:>10}", "calls", "p50", "p99", "at 8 a time", "RSS");
    for (what, tool, command) in servers {
        calls(what, tool, command);
    }
    for (what, command) in &sdks {
        calls(what, "echo", &|| again(command));
    }
}

/// This program, as a server.
fn this(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(role);
    command
}

fn again(command: &Command) -> Command {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args());
    again.current_dir(command.get_current_dir().unwrap());
    again
}

/// The servers of the SDKs that are there.
fn sdks() -> impl Iterator<Item = (&'static str, Command)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/mcp");
    let sdk = move |name, program: Option<PathBuf>, script: PathBuf, folder: PathBuf| {
        let mut command = Command::new(program?);
        command.arg(script).current_dir(folder);
        Some((name, command))
    };
    let python = std::env::var_os("SDK_PYTHON").map(PathBuf::from);
    let node = std::env::var_os("SDK_NODE").map(PathBuf::from);
    let python = sdk("the SDK for Python", python, here.join("echo.py"), here.clone());
    let typescript = node.and_then(|folder| {
        // Modules are looked for from where the script is.
        let script = folder.join("echo.mjs");
        fs::copy(here.join("echo.mjs"), &script).unwrap();
        sdk("the SDK for TypeScript", Some("node".into()), script, folder)
    });
    [typescript, python].into_iter().flatten()
}

/// Where witbox is measured.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        let echo = wat::parse_str(ECHO).unwrap();
        for index in 0..200u32 {
            // Each a component of its own: a section at the end that nobody reads.
            let name = format!("number {index}");
            let section = [&[0, name.len() as u8 + 1, name.len() as u8], name.as_bytes()].concat();
            fs::write(place.path(&format!("echo-{index}.wasm")), [echo.as_slice(), &section].concat()).unwrap();
        }
        // What was only just written is looked at again at each start, as it could be changed unseen.
        std::thread::sleep(Duration::from_secs(4));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn configure(&self, toolsets: usize) {
        let rust = Path::new(env!("CARGO_MANIFEST_DIR")).join("builtin/conformance.wasm");
        let mut config = String::from(
            "[workspace]\ndir = \"work\"\n[results]\nevict-above = 1_000_000\n[limits]\ninput = \"4MiB\"\n\
             [toolset.wat]\ncomponent = \"echo-0.wasm\"\n",
        );
        if toolsets > 1 {
            config.push_str(&format!("[toolset.rust]\ncomponent = {rust:?}\ntools = [\"echo\"]\n"));
        }
        for index in 2..toolsets {
            config.push_str(&format!("[toolset.t{index}]\ncomponent = \"echo-{index}.wasm\"\n"));
        }
        fs::write(self.path("witbox.toml"), config).unwrap();
    }

    fn empty_cache(&self) {
        let _ = fs::remove_dir_all(self.path("cache"));
    }

    fn witbox(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_witbox"));
        command.arg("serve").current_dir(self.0.path());
        command.env("XDG_CACHE_HOME", self.path("cache")).env("XDG_STATE_HOME", self.path("state"));
        command
    }
}

struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
    next: u64,
}

impl Client {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        // As the system lets it.
        let _ = (fcntl_setpipe_size(&input, PIPE), fcntl_setpipe_size(&output, PIPE));
        let output = BufReader::with_capacity(PIPE, output);
        Client { process, input: Some(input), output, line: String::new(), next: 1 }
    }

    fn say(&mut self, message: &str) {
        self.input.as_mut().unwrap().write_all(message.as_bytes()).unwrap();
    }

    fn hear(&mut self) -> &str {
        self.line.clear();
        assert!(self.output.read_line(&mut self.line).unwrap() > 0, "it has ended");
        &self.line
    }

    fn greet(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.say(&format!("{initialize}\n"));
        self.hear();
        self.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    }

    fn list(&mut self) -> usize {
        self.say("{\"jsonrpc\":\"2.0\",\"id\":\"list\",\"method\":\"tools/list\"}\n");
        let listed: Value = serde_json::from_str(self.hear()).unwrap();
        listed["result"]["tools"].as_array().unwrap().len()
    }

    /// Asks for a call.
    fn ask(&mut self, tool: &str, text: &str) {
        let id = self.next;
        self.next += 1;
        self.say(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{\"text\":\"{text}\"}}}}}}\n"
        ));
    }

    /// Takes an answer, which holds as much as was said.
    fn answer(&mut self, text: &str) {
        let line = self.hear();
        // Where it says so, it is near an end.
        let end = &line[line.len().saturating_sub(100)..];
        let says_error = |part: &str| part.contains("\"isError\":true") || part.contains("\"error\"");
        assert!(line.len() > text.len() && !says_error(end) && !says_error(&line[..100]), "{line:.300}");
    }

    fn end(mut self) {
        self.input = None;
        self.process.wait().unwrap();
    }

    /// What it and the processes that it started have in memory, in bytes.
    fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

fn start(what: &str, times: usize, command: impl Fn() -> Command) {
    let mut took: Vec<(Duration, u64)> = (0..times)
        .map(|_| {
            let started = Instant::now();
            let mut client = Client::start(&mut command());
            client.greet();
            assert!(client.list() > 0);
            let took = started.elapsed();
            let resident = client.resident();
            client.end();
            (took, resident)
        })
        .collect();
    took.sort();
    let (median, resident) = took[times / 2];
    println!("{what:46} {:>10} {:>10} {:>12} {:>10}", "", shown(median), shown(took[0].0), mebibytes(resident));
}

fn calls(what: &str, tool: &str, command: &dyn Fn() -> Command) {
    let mut client = Client::start(&mut command());
    client.greet();
    for (size, bytes, times) in SIZES {
        let text = "x".repeat(bytes);
        let mut once = || {
            let started = Instant::now();
            client.ask(tool, &text);
            client.answer(&text);
            started.elapsed()
        };
        for _ in 0..times / 10 {
            once();
        }
        let mut took: Vec<Duration> = (0..times).map(|_| once()).collect();
        took.sort();
        let (half, most) = (shown(took[times / 2]), shown(took[times * 99 / 100]));
        let (many, resident) = match bytes {
            100 => (format!("{:.0}/s", at_once(&mut client, tool, &text)), mebibytes(client.resident())),
            _ => (String::new(), mebibytes(client.resident())),
        };
        println!("{:46} {half:>10} {most:>10} {many:>12} {resident:>10}", format!("{what}, {size}"));
    }
    client.end();
}

/// Calls in a second where eight are open at once.
fn at_once(client: &mut Client, tool: &str, text: &str) -> f64 {
    let started = Instant::now();
    (0..IN_FLIGHT).for_each(|_| client.ask(tool, text));
    for call in 0..CALLS {
        client.answer(text);
        if call + IN_FLIGHT < CALLS {
            client.ask(tool, text);
        }
    }
    CALLS as f64 / started.elapsed().as_secs_f64()
}

fn shown(time: Duration) -> String {
    if time < Duration::from_millis(1) {
        format!("{} µs", time.as_micros())
    } else {
        format!("{:.1} ms", time.as_secs_f64() * 1e3)
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20))
}
