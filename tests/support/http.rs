//! Requests over HTTP, byte by byte where it matters.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The messages in it: the lines of an event stream, or a body that is one.
    pub fn messages(&self) -> Vec<Value> {
        let lines = self.body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        lines.filter_map(|line| serde_json::from_str(line).ok()).filter(Value::is_object).collect()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }
}

/// Sends a request with these headers beside the usual ones, and reads all that comes.
pub fn send(to: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut head = format!("{method} /mcp HTTP/1.1\r\n");
    let usual = [
        ("host", to.to_string()),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("content-length", body.len().to_string()),
        ("connection", "close".to_owned()),
    ];
    for (name, value) in usual {
        if !headers.iter().any(|(given, _)| *given == name) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    raw(to, format!("{head}\r\n{body}").as_bytes())
}

/// Asks by the newest revision, which needs nothing before it, as who has a token.
pub fn as_client(to: SocketAddr, token: &str, method: &str, params: &Value) -> Answer {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let authorization = format!("Bearer {token}");
    let mut headers =
        vec![("authorization", authorization.as_str()), ("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(params["name"].as_str().map(|name| ("mcp-name", name)));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    send(to, "POST", &headers, &message.to_string())
}

/// Sends bytes, and reads all that comes.
pub fn raw(to: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    // A server that has seen enough may close before all is sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answer::of(&answer)
}
