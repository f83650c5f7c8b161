//! `witbox serve --listen` over HTTP: who is let in, and what they find.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use serde_json::{Value, json};
use support::http::{Answer, as_client, raw, send};
use support::mcp::{Place, Served, text};

const ADA: &str = "ada-0123456789-0123456789";
const BOB: &str = "bob-0123456789-0123456789";
const CLIENTS: &str = "[toolset.triage]\ncomponent = \"builtin:triage\"\n\
    [client.ada]\ntoken-file = \"ada\"\ntoolsets = [\"work\"]\n[client.bob]\ntoken-file = \"bob\"\n";

impl Served {
    fn to_clients() -> Self {
        let place = Place::new(CLIENTS);
        token(&place, "ada", ADA, 0o600);
        token(&place, "bob", BOB, 0o600);
        Served::with(place, &[])
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        send(self.address, "POST", headers, &message.to_string())
    }

    /// A call by the newest revision, which needs nothing before it.
    fn call(&self, token: &str, tool: &str, arguments: Value) -> Answer {
        as_client(self.address, token, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Opens a session of the older revisions; its name.
    fn open(&self, token: &str) -> String {
        let authorization = format!("Bearer {token}");
        let answer = self.post(&[("authorization", &authorization)], &initialize());
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session.as_str())];
        let told = self.post(&headers, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status, 202);
        session
    }

    fn in_session(&self, token: &str, session: &str, method: &str, params: Value) -> Answer {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session)];
        self.post(&headers, &json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
    }
}

fn token(place: &Place, name: &str, token: &str, mode: u32) {
    let file = place.path().join(name);
    fs::write(&file, format!("{token}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bob", "version": "1"}}})
}

fn names(answer: &Answer) -> Vec<String> {
    let message = answer.messages().pop().unwrap_or_else(|| panic!("{answer:?}"));
    let tools = message["result"]["tools"].as_array().unwrap_or_else(|| panic!("{message}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_client_is_who_has_its_token_and_sees_its_own() {
    let mut served = Served::to_clients();
    for headers in [
        &[][..],
        &[("authorization", "Bearer ada")],
        &[("authorization", "Basic ada-0123456789-0123456789")],
        &[("authorization", "Bearer ")],
        &[("authorization", "ada-0123456789-0123456789")],
    ] {
        let answer = served.post(headers, &initialize());
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{headers:?}");
    }
    let (ada, bob) = (served.open(ADA), served.open(BOB));
    let listed = names(&served.in_session(ADA, &ada, "tools/list", json!({})));
    assert!(listed.contains(&"work_hello".to_owned()) && !listed.contains(&"triage_classify".to_owned()), "{listed:?}");
    assert!(names(&served.in_session(BOB, &bob, "tools/list", json!({}))).contains(&"triage_classify".to_owned()));
    // What it calls itself decides nothing, and another's session is none.
    assert_eq!(served.in_session(BOB, &ada, "tools/list", json!({})).status, 404);
    assert_eq!(served.in_session(ADA, "no-such-session", "tools/list", json!({})).status, 404);
    let message = served.call(ADA, "triage_classify", json!({})).messages().pop().unwrap();
    assert_eq!(message["error"]["code"], -32602, "{message}");

    let flood = served.call(ADA, "work_flood", json!({"lines": 50_000})).messages().pop().unwrap();
    let uri = flood["result"]["_meta"]["witbox/evicted"][0]["uri"].as_str().unwrap().to_owned();
    let read = |token: &str, session: &str| {
        let params = json!({"uri": format!("{uri}?limit=7")});
        served.in_session(token, session, "resources/read", params).messages().pop().unwrap()
    };
    assert_eq!(read(ADA, &ada)["result"]["contents"][0]["text"], "line 1 ");
    assert_eq!(read(BOB, &bob)["error"]["code"], -32002);
    assert!(served.place.path().join("work/sessions/ada/results").exists());
    let end = |session: &str| {
        let headers = [("authorization", &*format!("Bearer {ADA}")), ("mcp-session-id", session)]
            .map(|(name, value)| (name, value.to_owned()));
        send(served.address, "DELETE", &headers.each_ref().map(|(name, value)| (*name, value.as_str())), "").status
    };
    assert_eq!([end(&bob), end(&ada), end(&ada), end("none")], [404, 204, 404, 404], "one ends one's own");
    assert_eq!(served.in_session(ADA, &ada, "tools/list", json!({})).status, 404);
    assert!(served.stop() < Duration::from_secs(2));
}

#[test]
fn a_page_that_somebody_visits_does_not_reach_it() {
    let served = Served::with(
        Place::new(""),
        &["--no-auth", "--allow-host", "tools.example", "--allow-origin", "https://app.example"],
    );
    let port = served.address.port();
    let status = |headers: &[(&str, &str)]| served.post(headers, &initialize()).status;
    let own = [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    for host in own.iter().map(String::as_str).chain(["tools.example", "tools.example:443"]) {
        assert_eq!(status(&[("host", host)]), 200, "{host}");
    }
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "localhost:1",
        "localhost",
        "tools.example.evil.example",
        "",
        "127.0.0.1.nip.io",
    ] {
        assert!((400..404).contains(&status(&[("host", host)])), "{host}");
    }
    for origin in
        [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}"), "https://app.example".to_owned()]
    {
        assert_eq!(status(&[("origin", &origin)]), 200, "{origin}");
    }
    for origin in [
        "http://evil.example",
        "http://localhost:3000",
        "null",
        "https://app.example.evil.example",
        "http://app.example",
        "file://",
    ] {
        assert_eq!(status(&[("origin", origin)]), 403, "{origin}");
    }
    // Nothing of what it sends is read before.
    for name in ["host: evil.example", &format!("host: localhost:{port}\r\norigin: http://evil.example")] {
        let head = format!("POST /mcp HTTP/1.1\r\n{name}\r\nconnection: close\r\ncontent-length: 1000000\r\n\r\n");
        let started = Instant::now();
        assert_eq!(raw(served.address, head.as_bytes()).status, 403, "{name}");
        assert!(started.elapsed() < Duration::from_secs(30), "it waited for the body");
    }
    // No page can read an answer, since none is told that it may.
    let preflight = send(
        served.address,
        "OPTIONS",
        &[("origin", "http://evil.example"), ("access-control-request-method", "POST")],
        "",
    );
    assert!(preflight.status >= 400 && preflight.header("access-control-allow-origin").is_none());
}

#[test]
fn what_is_too_much_or_no_request_is_refused() {
    let served = Served::with(Place::new("[limits]\ninput = \"4MiB\"\n"), &["--no-auth"]);
    let to = served.address;
    // A message that would be answered without it.
    let message = initialize().to_string();
    assert_eq!(send(to, "POST", &[], &message).status, 200);
    assert_eq!(send(to, "POST", &[("content-encoding", "identity")], &message).status, 200);
    assert_eq!(send(to, "POST", &[("content-encoding", "gzip")], &message).status, 415);
    assert_eq!(send(to, "POST", &[("content-length", "100000000")], "{}").status, 413);
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(raw(to, format!("{head}{}0\r\n\r\n", chunk.repeat(20)).as_bytes()).status, 413);
    assert_eq!(
        raw(to, format!("POST / HTTP/1.1\r\nhost: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes())
            .status,
        404
    );
    assert_eq!(raw(to, b"nonsense\r\n\r\n").status, 400);
    assert!(
        raw(to, format!("GET /mcp HTTP/1.1\r\nhost: {to}\r\nx: {}\r\n\r\n", "x".repeat(200_000)).as_bytes()).status
            >= 400
    );
    for body in ["", "nonsense", "[]", "\u{0}", "{\"jsonrpc\":\"2.0\"}"] {
        let answer = send(to, "POST", &[], body);
        assert!((400..500).contains(&answer.status), "{body}: {answer:?}");
        let code = answer.messages().pop().map(|message| message["error"]["code"].clone());
        match body {
            "[]" => assert_eq!(code, Some(json!(-32600)), "{answer:?}"),
            "" | "nonsense" | "\u{0}" => assert_eq!(code, Some(json!(-32700)), "{answer:?}"),
            _ => {}
        }
    }
    for method in ["PUT", "PATCH", "TRACE", "HEAD"] {
        assert_eq!(send(to, method, &[], "").status, 405, "{method}");
    }
    for doubled in ["host", "origin", "authorization", "content-encoding"] {
        let answer = send(to, "POST", &[(doubled, "a"), (doubled, "b")], "{}");
        assert_eq!(answer.status, 400, "{doubled}: {answer:?}");
    }
    // Half a request, and one that comes drop by drop, hold nobody up.
    let mut half = TcpStream::connect(to).unwrap();
    half.write_all(format!("POST /mcp HTTP/1.1\r\nhost: {to}\r\ncontent-length: 1000\r\n\r\n{{").as_bytes()).unwrap();
    let big = served.call("", "work_echo", json!({"text": "x".repeat(1 << 20)})).messages().pop().unwrap();
    assert!(text(&big).starts_with("[witbox]") || text(&big).len() > 1_000, "{}", text(&big).len());
    let twice = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"work_hello\",\"arguments\":{\"name\":\"a\",\"name\":\"b\"},\
        \"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "work_hello")];
    let twice = send(to, "POST", &headers, twice).messages().pop().unwrap();
    assert!(text(&twice).contains("twice"), "arguments are read as they were sent: {twice}");
}

#[test]
fn a_connection_that_breaks_ends_its_call_and_a_server_that_stops_answers() {
    let mut served = Served::with(Place::new("[host]\ncalls = 1\n"), &["--no-auth"]);
    text(&served.call("", "work_hello", json!({"name": "Ada"})).messages().pop().unwrap());
    // The newest revision cancels by breaking off.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |to: u32| {
        let arguments = json!({"to": to, "pause_ms": 50});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work_count", "arguments": arguments, "_meta": meta}}).to_string();
        let mut stream = TcpStream::connect(served.address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: work_count\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            served.address,
            body.len()
        )
        .unwrap();
        stream
    };
    let broken = call(1_000_000);
    std::thread::sleep(Duration::from_millis(300));
    drop(broken);
    let started = Instant::now();
    text(&served.call("", "work_hello", json!({"name": "Ada"})).messages().pop().unwrap());
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());

    let mut running = call(20);
    std::thread::sleep(Duration::from_millis(300));
    let took = served.stop();
    let mut answer = String::new();
    running.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"structuredContent\":{\"result\":20}"), "{answer}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn one_client_does_not_take_what_others_need() {
    let served = Served::to_clients();
    text(&served.call(ADA, "work_hello", json!({"name": "Ada"})).messages().pop().unwrap());
    let session = served.open(ADA);
    let open = |head: &str| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        write!(
            stream,
            "{head}\r\nhost: {}\r\nauthorization: Bearer {ADA}\r\nmcp-session-id: {session}\r\n",
            served.address
        )
        .unwrap();
        stream
    };
    // As many as it may have, each a body that does not come.
    let slow: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = open("POST /mcp HTTP/1.1");
            write!(stream, "content-type: application/json\r\ncontent-length: 4000000\r\n\r\n{{").unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(served.in_session(ADA, &session, "ping", json!({})).status, 429);
    let started = Instant::now();
    assert_eq!(text(&served.call(BOB, "work_hello", json!({"name": "Bob"})).messages().pop().unwrap()), "Hello, Bob!");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    drop(slow);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(served.in_session(ADA, &session, "ping", json!({})).status, 200);

    // An id is of one open request of a session, and free again afterwards.
    let count = |id: u32| {
        let session = session.clone();
        let address = served.address;
        std::thread::spawn(move || {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "work_count", "arguments": {"to": 10, "pause_ms": 50}}});
            let authorization = format!("Bearer {ADA}");
            send(address, "POST", &[("mcp-session-id", &session), ("authorization", &authorization)], &call.to_string())
                .status
        })
    };
    let first = count(70);
    std::thread::sleep(Duration::from_millis(150));
    let (same, other) = (count(70), count(71));
    assert_eq!([first, same, other].map(|call| call.join().unwrap()), [200, 400, 200]);
    assert_eq!(count(70).join().unwrap(), 200);
}

#[test]
fn every_call_is_answered_before_the_server_ends() {
    let mut served = Served::with(Place::new(""), &["--no-auth"]);
    text(&served.call("", "work_hello", json!({"name": "Ada"})).messages().pop().unwrap());
    let session = served.open("");
    let (address, place) = (served.address, &served);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..30)
            .map(|id| {
                let session = session.clone();
                scope.spawn(move || {
                    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "work_count", "arguments": {"to": 10, "pause_ms": 100}}});
                    send(address, "POST", &[("mcp-session-id", &session)], &call.to_string())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        kill(Pid::from_raw(place.process.id().cast_signed()), Signal::SIGTERM).unwrap();
        // It takes no more of them.
        std::thread::sleep(Duration::from_millis(100));
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    for answer in &answers {
        let message = answer.messages().pop().unwrap_or_else(|| panic!("{answer:?}"));
        assert_eq!(message["result"]["structuredContent"]["result"], 10, "{message}");
    }
    assert!(served.process.wait().unwrap().success());
}

#[test]
fn nobody_is_let_in_by_accident() {
    let fails = |place: &Place, arguments: &[&str]| {
        let arguments = [&["serve"], arguments].concat();
        let output = place.witbox(&arguments).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let place = Place::new("");
    assert!(fails(&place, &["--listen", "127.0.0.1:0"]).contains("nobody may ask: name clients"));
    assert!(fails(&place, &["--listen", "0.0.0.0:0", "--no-auth"]).contains("can be reached from elsewhere"));
    assert!(fails(&place, &["--no-auth"]).contains("--listen"));
    let mistaken = Place::new("[client.\"a/b\"]\ntoken-file = \"a\"\n[client.ada]\ntoolsets = [\"wrok\"]\n");
    let told = fails(&mistaken, &["--listen", "127.0.0.1:0"]);
    for mistake in [
        "is no name of a session",
        "[client.ada] has no `token-file`",
        "names a toolset `wrok`",
        "did you mean `work`?",
    ] {
        assert!(told.contains(mistake), "{told}");
    }
    let place = Place::new(CLIENTS);
    token(&place, "ada", ADA, 0o600);
    assert!(fails(&place, &["--listen", "127.0.0.1:0"]).contains("client `bob`: bob: No such file"));
    token(&place, "bob", BOB, 0o644);
    assert!(fails(&place, &["--listen", "127.0.0.1:0"]).contains("others may read it"));
    token(&place, "bob", "short", 0o600);
    assert!(fails(&place, &["--listen", "127.0.0.1:0"]).contains("no token: 20 to 4096 characters"));
    token(&place, "bob", ADA, 0o600);
    assert!(fails(&place, &["--listen", "127.0.0.1:0"]).contains("the token of another client"));
    token(&place, "bob", BOB, 0o600);
    assert!(fails(&place, &["--listen", "127.0.0.1:0", "--no-auth"]).contains("--no-auth goes without clients"));
}
