//! Requests leave only for what was granted, to addresses that were judged, and secrets are spent unseen.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::ENGINE;
use support::probe::{PROBE, call, outcome, rule};
use support::server::{Names, Server};
use witbox::{Grant, Host, HttpRule, Limits, Reply, Secret, Status};

const SECRET: &str = "s3cret-Value/1";

fn host_of(grant: Grant, names: Arc<Names>) -> Host {
    let mut host = Host::builder(&ENGINE);
    host.resolver(names).toolset("probe", &PROBE, grant).unwrap();
    host.build()
}

fn private(origin: &str) -> HttpRule {
    HttpRule::new(origin.parse().unwrap()).private()
}

/// A request with the parts that matter, as JSON.
fn request(url: &str, more: &Value) -> Value {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut request = json!({
        "method": "GET", "scheme": scheme, "authority": authority, "path": path, "headers": [], "body": 0, "trailers": [],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        request[key] = value.clone();
    }
    json!({ "request": request })
}

fn send(host: &Host, url: &str, more: &Value) -> Reply {
    call(host, "probe_send", &request(url, more))
}

fn is_refused(reply: &Reply, error: &str) -> bool {
    reply.status == Status::Ok && outcome(reply) == format!("-{error}")
}

/// What was granted is reached, in the form in which it was judged.
#[test]
fn what_is_granted_is_reached() {
    let server = Server::plain();
    let names = Names::of(&[("api.example", &["127.0.0.1"])]);
    let origin = format!("http://api.example:{}", server.port);
    let host = host_of(Grant::default().http(private(&format!("{origin}/v1"))), names.clone());
    let reply = send(&host, &format!("{origin}/x/../v1/./a?q=/../b"), &json!({"headers": [["x-own", "value"]]}));
    assert!(outcome(&reply).starts_with("+200\n"), "{}", outcome(&reply));
    let seen = server.seen().remove(0).to_ascii_lowercase();
    assert!(seen.starts_with("get /v1/a?q=/../b http/1.1\r\n"), "{seen}");
    assert!(
        seen.contains(&format!("host: api.example:{}\r\n", server.port)) && seen.contains("x-own: value"),
        "{seen}"
    );
    assert!(reply.denials.is_empty(), "{:?}", reply.denials);

    let redirect = send(&host, &format!("{origin}/redirect"), &json!({}));
    assert!(is_refused(&redirect, "HttpRequestDenied"), "the grant is for /v1 only");
    let host = host_of(Grant::default().http(private(&origin)), names);
    let redirect = outcome(&send(&host, &format!("{origin}/redirect"), &json!({})));
    assert!(redirect.starts_with("+302\n") && redirect.contains("location: http://169.254.169.254"), "{redirect}");
    let posted =
        send(&host, &format!("{origin}/echo"), &json!({"method": "POST", "body": 5, "trailers": [["x-t", "v"]]}));
    assert!(outcome(&posted).contains("xxxxx"), "{}", outcome(&posted));
}

/// What was not granted is refused by every spelling, and nothing is looked up or connected to for it.
#[test]
fn what_is_not_granted_is_neither_looked_up_nor_reached() {
    let names = Names::of(&[]);
    let grant = Grant::default()
        .http(HttpRule::new("https://allowed.example".parse().unwrap()))
        .http(HttpRule::new("https://*.sub.example".parse().unwrap()))
        .http(HttpRule::new("https://api.example/v1".parse().unwrap()).methods(&["GET"]));
    let host = host_of(grant, names.clone());
    for (url, more, error) in [
        ("https://evil.example/", json!({}), "HttpRequestDenied"),
        ("http://allowed.example/", json!({}), "HttpRequestDenied"),
        ("https://allowed.example:444/", json!({}), "HttpRequestDenied"),
        ("https://allowed.example./", json!({}), "HttpRequestDenied"),
        ("https://allowed.example.evil.example/", json!({}), "HttpRequestDenied"),
        ("https://.allowed.example/", json!({}), "HttpRequestDenied"),
        ("https://sub.example/", json!({}), "HttpRequestDenied"),
        ("https://api.example/v1/../admin", json!({}), "HttpRequestDenied"),
        ("https://api.example/v1/%2e%2e/admin", json!({}), "HttpRequestDenied"),
        ("https://api.example/v1/..%2fadmin", json!({}), "HttpRequestDenied"),
        ("https://api.example/v1/x", json!({"method": "POST"}), "HttpRequestDenied"),
        ("https://allowed.example/", json!({"method": "CONNECT"}), "HttpRequestDenied"),
        ("https://allowed.example/", json!({"method": "TRACE"}), "HttpRequestDenied"),
        ("https://allowed.example/", json!({"method": "trace"}), "HttpRequestDenied"),
        ("https://allowed.example/", json!({"authority": "allowed.example@evil.example"}), "HttpRequestDenied"),
        ("https://allowed.example/", json!({"authority": "user:pass@allowed.example"}), "HttpRequestDenied"),
        ("https://allowed.example/", json!({"authority": ""}), "invalid authority"),
        ("https://allowed.example/", json!({"path": "http://evil/"}), "invalid path"),
        ("https://allowed.example/", json!({"path": "*"}), "invalid path"),
        ("https://allowed.example/", json!({"path": format!("/{}", "x".repeat(9_000))}), "invalid path"),
        ("https://allowed.example/", json!({"method": "M".repeat(9_000)}), "invalid method"),
        ("https://allowed.example/", json!({"authority": "a".repeat(9_000)}), "invalid authority"),
        ("ftp://allowed.example/", json!({}), "HttpProtocolError"),
        ("https://allowed.example/", json!({"headers": [["host", "evil.example"]]}), "host: HeaderError::Forbidden"),
        ("https://[::ffff:7f00:1]/", json!({}), "HttpRequestDenied"),
    ] {
        let reply = send(&host, url, &more);
        let got = outcome(&reply);
        assert!(got == format!("-{error}"), "{url} {more}: {got}");
        if error == "HttpRequestDenied" {
            assert_eq!(reply.denials[0].operation, "http", "{url}");
        }
    }
    assert!(names.asked.lock().unwrap().is_empty());
    let nothing = host_of(Grant::default(), names.clone());
    let reply = send(&nothing, "https://allowed.example/", &json!({}));
    assert!(is_refused(&reply, "HttpRequestDenied") && rule(&reply) == "no network is granted", "{:?}", reply.denials);
    assert!(names.asked.lock().unwrap().is_empty());
}

/// A name is worth what its addresses are.
#[test]
fn addresses_that_are_not_public_are_refused() {
    let server = Server::plain();
    let lists: &[(&str, &[&str])] = &[
        ("loopback.example", &["127.0.0.1"]),
        ("private.example", &["10.0.0.1", "192.168.1.1", "fd12::1"]),
        ("mapped.example", &["::ffff:7f00:1"]),
        ("nat64.example", &["64:ff9b::7f00:1"]),
        ("unspecified.example", &["::", "0.0.0.0"]),
        ("metadata.example", &["169.254.169.254", "fd00:ec2::254"]),
        ("nothing.example", &[]),
        ("either.example", &["169.254.169.254", "127.0.0.1"]),
    ];
    let names = Names::of(lists);
    let rules = lists.iter().fold(Grant::default(), |grant, (name, _)| {
        grant.http(HttpRule::new(format!("http://{name}:{}", server.port).parse().unwrap()))
    });
    let host = host_of(rules, names.clone());
    for (name, _) in lists {
        let reply = send(&host, &format!("http://{name}:{}/", server.port), &json!({}));
        let expected = if *name == "nothing.example" { "DnsError" } else { "DestinationIpProhibited" };
        assert!(is_refused(&reply, expected), "{name}: {}", outcome(&reply));
        if expected == "DestinationIpProhibited" {
            assert!(rule(&reply).contains("public address") || rule(&reply).contains("never reached"), "{name}");
        }
    }
    assert!(server.seen().is_empty());
    let granted = ["metadata.example", "either.example", "loopback.example"];
    let rules = granted
        .iter()
        .fold(Grant::default(), |grant, name| grant.http(private(&format!("http://{name}:{}", server.port))));
    let host = host_of(rules, names);
    let metadata = send(&host, &format!("http://metadata.example:{}/", server.port), &json!({}));
    assert!(is_refused(&metadata, "DestinationIpProhibited") && rule(&metadata).contains("never reached"));
    for name in ["either.example", "loopback.example"] {
        let reply = send(&host, &format!("http://{name}:{}/", server.port), &json!({}));
        assert!(outcome(&reply).starts_with("+200"), "{name}: {}", outcome(&reply));
    }
}

/// Addresses may be written in many ways; each is the address that it is.
#[test]
fn an_address_is_the_same_however_it_is_written() {
    let server = Server::plain();
    let port = server.port;
    let grant = Grant::default().http(private(&format!("http://127.0.0.1:{port}")));
    let host = host_of(grant, Names::of(&[]));
    for address in ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1"] {
        let reply = send(&host, &format!("http://{address}:{port}/"), &json!({}));
        assert!(outcome(&reply).starts_with("+200"), "{address}: {}", outcome(&reply));
    }
    for address in ["127.0.0.2", "[::1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]"] {
        let reply = send(&host, &format!("http://{address}:{port}/"), &json!({}));
        assert!(is_refused(&reply, "HttpRequestDenied"), "{address}: {}", outcome(&reply));
    }
    for origin in ["http://127.0.0.1:1", "http://[::1]", "https://10.0.0.1", "http://[::ffff:7f00:1]"] {
        let grant = Grant::default().http(HttpRule::new(origin.parse().unwrap()));
        let error = Host::builder(&ENGINE).toolset("probe", &PROBE, grant).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("private = true"), "{origin}: {error}");
    }
}

/// Whatever the server does, a call ends in its time and takes no more than its allowance.
#[test]
fn what_a_server_does_is_bounded() {
    let server = Server::plain();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let limits = Limits {
        timeout: Duration::from_secs(2),
        requests: 3,
        upload: 100_000,
        download: 1_000_000,
        ..Limits::default()
    };
    let host = host_of(Grant::default().http(private(&origin)).limits(limits), Names::of(&[]));
    for (path, more, error) in [
        ("/big", json!({}), "HTTP response body size exceeds limit: 1000000 bytes"),
        ("/headers", json!({}), "HttpProtocolError"),
        ("/hello", json!({"method": "POST", "body": 200_000}), "HttpRequestBodySize"),
        ("/hello", json!({"timeouts": [0, 10_000, 10_000]}), "ConnectionTimeout"),
        ("/silent", json!({"timeouts": [10_000, 100, 10_000]}), "HttpResponseTimeout"),
        ("/stall", json!({"timeouts": [10_000, 10_000, 100]}), "connection read timeout"),
    ] {
        let reply = send(&host, &format!("{origin}{path}"), &more);
        assert!(is_refused(&reply, error), "{path} {more}: {} {}", reply.status, reply.text());
        match path {
            "/big" => assert!(rule(&reply).starts_with("download of its limits"), "{:?}", reply.denials),
            "/hello" if error == "HttpRequestBodySize" => {
                assert!(rule(&reply).starts_with("upload of its limits"), "{:?}", reply.denials);
            }
            _ => {}
        }
    }
    for path in ["/silent", "/drip", "/stall"] {
        let started = Instant::now();
        let reply = send(&host, &format!("{origin}{path}"), &json!({"timeouts": [u64::MAX, u64::MAX, u64::MAX]}));
        assert!(started.elapsed() < Duration::from_secs(10), "{path}");
        let timed_out = reply.status == Status::Timeout || outcome(&reply).ends_with("Timeout");
        assert!(timed_out, "{path}: {} {}", reply.status, reply.text());
    }
}

/// A guest that sends for ever has its number.
#[test]
fn requests_are_counted() {
    let server = Server::plain();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let limits = Limits { requests: 0, ..Limits::default() };
    let host = host_of(Grant::default().http(private(&origin)).limits(limits), Names::of(&[]));
    let reply = send(&host, &origin, &json!({}));
    assert!(is_refused(&reply, "HttpRequestDenied") && rule(&reply) == "requests of its limits is 0");
    assert!(server.seen().is_empty());
}

/// Certificates are checked against the name that was asked for, and only those that were granted vouch for it.
#[test]
fn encrypted_servers_are_known_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let (server, pem) = Server::encrypted("tls.example");
    std::fs::write(folder.path().join("ca.pem"), pem).unwrap();
    let names = Names::of(&[("tls.example", &["127.0.0.1"]), ("other.example", &["127.0.0.1"])]);
    let origin = |name: &str| format!("https://{name}:{}", server.port);
    let trusting = |name: &str| private(&origin(name)).trusting(folder.path().join("ca.pem"));
    let host =
        host_of(Grant::default().http(trusting("tls.example")).http(private(&origin("other.example"))), names.clone());
    let reply = send(&host, &origin("tls.example"), &json!({}));
    assert!(outcome(&reply).starts_with("+200"), "{}", outcome(&reply));
    let other = send(&host, &origin("other.example"), &json!({}));
    assert!(is_refused(&other, "TlsCertificateError"), "nobody vouches: {}", outcome(&other));
    let host = host_of(Grant::default().http(trusting("other.example")).http(private(&origin("tls.example"))), names);
    for name in ["other.example", "tls.example"] {
        let reply = send(&host, &origin(name), &json!({}));
        assert!(is_refused(&reply, "TlsCertificateError"), "{name}: {}", outcome(&reply));
    }
    let missing = Grant::default().http(private("https://tls.example").trusting(folder.path().join("missing.pem")));
    assert!(Host::builder(&ENGINE).toolset("probe", &PROBE, missing).is_err());
}

fn secret_for(origin: &str) -> Secret {
    Secret::new("api-key", SECRET).unwrap().spent_at(origin.parse().unwrap(), "authorization", "Bearer {}").unwrap()
}

/// The host spends a secret at its origin and nowhere else, and the guest neither sets nor sees it.
#[test]
fn a_secret_is_spent_and_not_seen() {
    let (server, other) = (Server::plain(), Server::plain());
    let origin = format!("http://127.0.0.1:{}", server.port);
    let other_origin = format!("http://127.0.0.1:{}", other.port);
    let grant = Grant::default().http(private(&origin)).http(private(&other_origin)).secret(secret_for(&origin));
    let host = host_of(grant, Names::of(&[]));
    for path in ["/echo", "/echo-in-pieces", "/echo-in-header"] {
        let before = server.seen().len();
        let reply = send(&host, &format!("{origin}{path}"), &json!({}));
        let seen = server.seen()[before].clone();
        assert!(seen.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{seen}");
        assert!(seen.contains("accept-encoding: identity\r\n"), "{seen}");
        let text = serde_json::to_string(&reply).unwrap();
        assert!(!text.contains("s3cret"), "{path}: {text}");
        assert!(text.contains("Bearer **************"), "{path}: {text}");
    }
    for path in ["/gzip", "/identity-and-gzip", "/gzip-in-transfer"] {
        let compressed = send(&host, &format!("{origin}{path}"), &json!({}));
        assert!(is_refused(&compressed, "HttpResponseContentCoding"), "{path}: {}", outcome(&compressed));
    }
    for more in [json!({"headers": [["Authorization", "mine"]]}), json!({"headers": [["authorization", ""]]})] {
        let before = server.seen().len();
        let reply = send(&host, &format!("{origin}/echo"), &more);
        assert!(is_refused(&reply, "HttpRequestDenied") && rule(&reply).contains("the host sets it"), "{more}");
        assert_eq!(server.seen().len(), before);
    }
    let trailer = send(
        &host,
        &format!("{origin}/echo"),
        &json!({"method": "POST", "body": 9, "trailers": [["authorization", "mine"]]}),
    );
    assert!(is_refused(&trailer, "HttpRequestDenied") && rule(&trailer).contains("trailer"), "{}", outcome(&trailer));
    let seen = server.seen().concat().to_ascii_lowercase();
    assert!(seen.matches("connection: close\r\n").count() >= 3, "one request for each connection");
    let own = send(&host, &format!("{other_origin}/echo"), &json!({"headers": [["authorization", "mine"]]}));
    assert!(outcome(&own).contains("authorization: mine"), "{}", outcome(&own));
    assert!(!other.seen().concat().contains("s3cret"));
    let gzip = send(&host, &format!("{other_origin}/gzip"), &json!({}));
    assert!(outcome(&gzip).starts_with("+200"), "no secret goes there: {}", outcome(&gzip));
}

/// Unencrypted, a secret stays within the private network that the origin was granted for.
#[test]
fn a_secret_does_not_leave_unencrypted() {
    let names = Names::of(&[("db.corp.example", &["1.1.1.1"])]);
    let origin = "http://db.corp.example";
    let host = host_of(Grant::default().http(private(origin)).secret(secret_for(origin)), names);
    let reply = send(&host, origin, &json!({}));
    assert!(is_refused(&reply, "DestinationIpProhibited"), "{}", outcome(&reply));
    assert_eq!(rule(&reply), "a secret is not sent unencrypted to a public address (1.1.1.1)");
}

/// Whatever way a value gets into a reply, the reply does not show it.
#[test]
fn replies_show_no_secret() {
    let grant = Grant::default()
        .http(HttpRule::new("https://api.example".parse().unwrap()))
        .secret(secret_for("https://api.example"))
        .secret(Secret::new("token", "exposed-token").unwrap().exposed())
        .secret(Secret::new("number", "1234567890").unwrap().exposed());
    let host = host_of(grant, Names::of(&[]));
    let environment = call(&host, "probe_environment", &json!({}));
    assert_eq!(outcome(&environment), "+TOKEN=[secret token]\nNUMBER=[secret number]");
    for (tool, arguments) in [
        ("probe_fail", json!({"message": SECRET})),
        ("probe_crash", json!({"message": SECRET})),
        ("probe_open", json!({"path": format!("/{SECRET}")})),
        ("probe_fetch", json!({"url": format!("https://x.example/{SECRET}")})),
        ("probe_touch", json!({"way": SECRET, "path": "/"})),
        ("probe_fail", json!({"message": "czNjcmV0LVZhbHVlLzE="})),
        ("probe_fail", json!({"message": "s3cret-Value%2F1"})),
        ("probe_fail", json!({"message": "exposed-token"})),
        // A text that is JSON may spell a character as an escape.
        ("probe_fail", json!({"message": r#"{"key": "\u00733cret-Value\/1"}"#})),
    ] {
        let reply = call(&host, tool, &arguments);
        let text = serde_json::to_string(&reply).unwrap();
        for shown in ["s3cret", "czNjcmV0", "3cret-Value", "exposed-token"] {
            assert!(!text.contains(shown), "{tool} {arguments}: {text}");
        }
    }
    // A number that is a secret is none any more, and the rest is what it was.
    let reply = call(&host, "probe_allocate", &json!({"bytes": 1_234_567_890_u64}));
    assert!(!serde_json::to_string(&reply.structured).unwrap().contains("1234567890"));
}

#[test]
fn a_secret_must_have_a_place_to_go() {
    let origin = "https://api.example";
    let granted = || Grant::default().http(HttpRule::new(origin.parse().unwrap()));
    let unencrypted = "http://api.example";
    let second = Secret::new("second", SECRET).unwrap();
    let second = second.spent_at(origin.parse().unwrap(), "Authorization", "{}").unwrap();
    let exposed = || Secret::new("key", SECRET).unwrap().exposed();
    for (grant, expected) in [
        (Grant::default().secret(secret_for(origin)), "which http does not grant"),
        (granted().secret(secret_for("https://other.example")), "which http does not grant"),
        (granted().secret(secret_for(origin)).secret(secret_for(origin)), "two secrets"),
        (granted().secret(secret_for(origin)).secret(second), "takes the place of another"),
        (
            Grant::default().http(HttpRule::new(unencrypted.parse().unwrap())).secret(secret_for(unencrypted)),
            "use https",
        ),
        (Grant::default().env("KEY", "x").secret(exposed()), "set already"),
    ] {
        let error = Host::builder(&ENGINE).toolset("probe", &PROBE, grant).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(expected) && !error.to_string().contains(SECRET), "{error}");
    }
}
