//! A client of the Model Context Protocol that says exactly what it is told to say, and a server that is a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::checkout;

/// How long anything may take that is to come at all.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a configuration, and with a cache and a state of its own.
pub struct Place {
    root: TempDir,
}

impl Place {
    /// A place with the tools that clients are tried with, as the toolsets `test` and `work`, and more of a configuration.
    pub fn new(more: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let component = checkout("guest-tools/dist/conformance.wasm").canonicalize().unwrap();
        let text = format!(
            "[workspace]\ndir = \"work\"\n[toolset.work]\ncomponent = {component:?}\ntools = [\"hello\", \"flood\", \"count\", \"echo\"]\n{more}"
        );
        fs::write(root.path().join("witbox.toml"), text).unwrap();
        Place { root }
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The program, in this place.
    pub fn witbox(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_witbox"));
        // What is compiled once is compiled for all tests.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        command.args(arguments).current_dir(self.path());
        command.env("XDG_CACHE_HOME", cache).env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    /// A server over standard input and output that has been greeted.
    pub fn client(&self, arguments: &[&str]) -> Client {
        let mut client = self.stranger(arguments);
        client.greet("2025-11-25");
        client
    }

    /// One that has not.
    pub fn stranger(&self, arguments: &[&str]) -> Client {
        let arguments: Vec<&str> = ["serve"].iter().chain(arguments).copied().collect();
        Client::of(&mut self.witbox(&arguments))
    }
}

pub struct Client {
    pub process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    notifications: Vec<Value>,
    next: u64,
}

impl Client {
    /// A server that a command starts.
    pub fn of(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (send, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                // Nothing but the protocol is written there.
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let input = process.stdin.take();
        Client { process, input, messages, notifications: Vec::new(), next: 1 }
    }

    /// The handshake of the older revisions; the revision that came of it.
    pub fn greet(&mut self, revision: &str) -> String {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let greeted = self.request("initialize", params);
        self.notify("notifications/initialized", json!({}));
        greeted["result"]["protocolVersion"].as_str().unwrap_or_else(|| panic!("{greeted}")).to_owned()
    }

    /// Says something, whatever it is.
    pub fn say(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.say(format!("{message}\n").as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks something and does not wait; its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Asks something and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The next message, if one comes in time.
    pub fn next(&mut self, patience: Duration) -> Option<Value> {
        self.messages.recv_timeout(patience).ok()
    }

    /// The answer to a request. What else comes before it is kept.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next(PATIENCE).unwrap_or_else(|| panic!("no answer to {id}"));
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    /// What came beside answers until now.
    pub fn told(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.notifications)
    }

    /// What is said with it, for whoever says more than is read at once.
    pub fn process_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    /// Says nothing more.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// What the process ends with, and what it told its operator.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.close();
        // Where nobody else reads it.
        let told =
            self.process.stderr.take().map(|stderr| std::io::read_to_string(stderr).unwrap()).unwrap_or_default();
        (self.process.wait().unwrap(), told)
    }

    /// How much of it is in memory, in bytes.
    pub fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server over HTTP.
pub struct Served {
    pub process: Child,
    pub address: SocketAddr,
    pub place: Place,
}

impl Served {
    pub fn with(place: Place, more: &[&str]) -> Self {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
        let mut process = place.witbox(&arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("witbox: listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        std::thread::spawn(move || told.read_to_end(&mut Vec::new()));
        Served { process, address, place }
    }

    /// Has it end by itself, which it must do well; how long that took.
    pub fn stop(&mut self) -> Duration {
        let started = Instant::now();
        kill(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert!(self.process.wait().unwrap().success());
        started.elapsed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The text of a result.
pub fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}
