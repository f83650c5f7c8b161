//! The server as a library: long lists, and tools that change while clients are there.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use support::mcp::text;
use support::{ENGINE, checkout, dummy_of};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::time::timeout;
use witbox::mcp::Server;
use witbox::{Component, Grant, Host};

/// A client in this process.
struct Client {
    answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
    requests: WriteHalf<DuplexStream>,
    next: u64,
}

impl Client {
    fn of(server: &Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let server = server.clone();
        tokio::spawn(async move { server.serve(input, output, std::future::pending()).await });
        let (answers, requests) = tokio::io::split(ours);
        Client { answers: BufReader::new(answers).lines(), requests, next: 1 }
    }

    async fn greet(server: &Server) -> Self {
        let mut client = Client::of(server);
        let who = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who});
        client.request("initialize", params).await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.requests.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    async fn next(&mut self) -> Value {
        let line = timeout(Duration::from_secs(60), self.answers.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

/// A host with so many tools, none of which does anything.
fn many(count: usize) -> Host {
    let mut functions = String::new();
    for index in 0..count {
        writeln!(functions, "export n{index}: func();").unwrap();
    }
    let component = Component::new(&ENGINE, &dummy_of(&format!("package a:b; world w {{ {functions} }}"))).unwrap();
    support::host("t", &component, Grant::default())
}

fn work() -> Host {
    let bytes = fs::read(checkout("guest-tools/dist/conformance.wasm")).unwrap();
    support::host("work", &Component::new(&ENGINE, &bytes).unwrap(), Grant::default())
}

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const CHANGED: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let server = Server::new(many(600));
    let mut client = Client::greet(&server).await;
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.request("tools/list", params).await;
        all.extend(names(&page).into_iter().map(str::to_owned));
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let expected: Vec<String> = (0..600).map(|index| format!("t_n{index}")).collect();
    assert_eq!(all, expected);
    let first = client.request("tools/list", json!({})).await;
    assert_eq!(names(&first).len(), 250);
    let cursor = first["result"]["nextCursor"].as_str().unwrap();
    for stale in ["", "x", "0-250", &cursor.replace("-250", "-600"), &cursor.replace("-250", "--1")] {
        let answer = client.request("tools/list", json!({"cursor": stale})).await;
        assert_eq!(answer["error"]["code"], -32602, "{stale}: {answer}");
    }
    // A page of a list that is no more would leave tools out.
    server.swap(many(599));
    assert_eq!(client.next().await["method"], CHANGED);
    let answer = client.request("tools/list", json!({"cursor": cursor})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("list again"), "{answer}");
}

#[tokio::test]
async fn a_change_is_told_and_disturbs_no_call() {
    let server = Server::new(work());
    let mut client = Client::greet(&server).await;
    let arguments = json!({"to": 20, "pause_ms": 20});
    client.request("logging/setLevel", json!({"level": "error"})).await;
    let id = client.ask("tools/call", json!({"name": "work_count", "arguments": arguments})).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // The same list is no change.
    server.swap(work());
    server.swap(many(3));
    assert_eq!(client.next().await["method"], CHANGED);
    let listed = client.request("tools/list", json!({})).await;
    assert_eq!(names(&listed), ["t_n0", "t_n1", "t_n2"]);
    let gone = client.request("tools/call", json!({"name": "work_hello", "arguments": {"name": "Ada"}})).await;
    assert_eq!(gone["error"]["code"], -32602);
    let counted = client.next().await;
    assert_eq!((&counted["id"], text(&counted)), (&json!(id), "20"));
}

#[tokio::test]
async fn by_the_newest_revision_a_change_is_told_to_whoever_asked() {
    let server = Server::new(work());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut asked = Client::of(&server);
    let id =
        asked.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}, "_meta": meta})).await;
    let acknowledged = asked.next().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    let mut other = Client::of(&server);
    other.request("tools/list", json!({"_meta": meta})).await;

    server.swap(many(2));
    let changed = asked.next().await;
    assert_eq!(changed["method"], CHANGED);
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{changed}");
    let listed = other.request("tools/list", json!({"_meta": meta})).await;
    assert_eq!(names(&listed), ["t_n0", "t_n1"], "the other was told nothing, and sees it all the same");
    // It can be told to stop.
    asked.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.swap(many(1));
    let listed = asked.request("tools/list", json!({"_meta": meta})).await;
    assert_eq!(names(&listed), ["t_n0"]);
}

#[tokio::test]
async fn one_client_that_leaves_ends_no_call_of_another() {
    let server = Server::new(work());
    let (mut leaving, mut staying) = (Client::greet(&server).await, Client::greet(&server).await);
    for client in [&mut leaving, &mut staying] {
        client.request("logging/setLevel", json!({"level": "error"})).await;
    }
    let count = |to: u32| json!({"name": "work_count", "arguments": {"to": to, "pause_ms": 50}});
    let given_up = leaving.ask("tools/call", count(1_000)).await;
    let id = staying.ask("tools/call", count(110)).await;
    leaving.requests.shutdown().await.unwrap();
    // Four seconds later.
    let stopped = leaving.next().await;
    assert_eq!((&stopped["id"], &stopped["result"]["isError"]), (&json!(given_up), &json!(true)));
    let counted = staying.next().await;
    assert_eq!((&counted["id"], text(&counted)), (&json!(id), "110"));
}
