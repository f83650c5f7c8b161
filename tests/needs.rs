//! What a component says that it needs is a ceiling by kind: of what it does not need it has nothing, whatever is granted.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;

use serde_json::json;
use support::probe::{call, outcome, rule, touch};
use support::server::Server;
use support::{ENGINE, checkout};
use witbox::{Component, FsRule, Grant, Host, HttpRule, Mount, Operation::*, Secret};

/// The probe with a manifest that states needs.
fn needing(needs: &str) -> Component {
    let folder = tempfile::tempdir().unwrap();
    let wit = folder.path().join("wit");
    fs::create_dir(&wit).unwrap();
    fs::copy(checkout("guest-tools/probe/wit/probe.wit"), wit.join("probe.wit")).unwrap();
    fs::write(folder.path().join("tool.toml"), format!("[needs]\n{needs}")).unwrap();
    let probe = fs::read(checkout("guest-tools/dist/probe.wasm")).unwrap();
    Component::new(&ENGINE, &witbox::pack(&probe, &wit, None).unwrap().bytes).unwrap()
}

fn host(needs: &str, grant: Grant) -> (Host, Vec<String>) {
    let mut host = Host::builder(&ENGINE);
    host.toolset("probe", &needing(needs), grant).unwrap();
    let notes = host.differences().to_vec();
    (host.build(), notes)
}

#[test]
fn what_is_not_needed_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "text").unwrap();
    let server = Server::plain();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let secret = || {
        let secret = Secret::new("key", "s3cret-Value").unwrap();
        secret.spent_at(origin.parse().unwrap(), "authorization", "{}").unwrap()
    };
    let grant = || {
        Grant::default()
            .mount(Mount::read_write(folder.path(), "/m".parse().unwrap()))
            .http(HttpRule::new(origin.parse().unwrap()).private())
            .secret(secret())
            .secret(Secret::new("shown", "exposed-value").unwrap().exposed())
    };
    let needs_origin = format!("origins = [\"{origin}\"]");
    for (needs, read, write, send) in [
        ("".to_owned(), false, false, false),
        ("read = true".to_owned(), true, false, false),
        ("read = true\nwrite = true".to_owned(), true, true, false),
        ("write = true".to_owned(), false, true, false),
        (needs_origin.clone(), false, false, true),
    ] {
        let (host, _) = host(&needs, grant());
        for (attempt, granted) in [
            (("open", "/m/file", None), read),
            (("list", "/m", None), read),
            (("stat", "/m/file", None), read),
            (("open-to-write", "/m/file", None), write),
            (("create", "/m/new", None), write),
        ] {
            let reply = touch(&host, attempt);
            assert_eq!(outcome(&reply).starts_with('+'), granted, "{needs} {attempt:?} {}", outcome(&reply));
            if !granted {
                assert!(rule(&reply).starts_with("granted but not needed"), "{:?}", reply.denials);
            }
        }
        let reply = call(&host, "probe_fetch", &json!({"url": format!("{origin}/echo")}));
        assert_eq!(outcome(&reply).starts_with("+200"), send, "{needs} {}", outcome(&reply));
        if !send {
            assert!(rule(&reply).starts_with("granted but not needed"), "{:?}", reply.denials);
        }
        assert_eq!(outcome(&call(&host, "probe_environment", &json!({}))), "-there are no environment variables");
        let reply = call(&host, "probe_fail", &json!({"message": "s3cret-Value exposed-value"}));
        assert_eq!(reply.text(), "[secret key] [secret shown]", "also of what is not needed");
    }
    assert!(server.seen().iter().all(|request| !request.contains("s3cret")), "the secret is not needed either");
    let (host, notes) = host(&format!("{needs_origin}\nsecrets = [\"key\", \"shown\"]"), grant());
    call(&host, "probe_fetch", &json!({"url": format!("{origin}/echo")}));
    assert!(server.seen().last().unwrap().contains("authorization: s3cret-Value"));
    assert_eq!(outcome(&call(&host, "probe_environment", &json!({}))), "+SHOWN=[secret shown]");
    assert!(notes.iter().any(|note| note.starts_with("probe: files: granted but not needed")), "{notes:?}");
}

#[test]
fn what_is_needed_and_not_granted_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let needs = "read = true\nwrite = true\norigins = [\"https://api.example\"]\nsecrets = [\"key\"]";
    let (_, notes) = host(needs, Grant::default());
    for expected in ["files: needed", "writing files: needed", "requests: needed", "the secret `key`: needed"] {
        let expected = format!("probe: {expected} but not granted");
        assert!(notes.contains(&expected), "{expected} {notes:?}");
    }
    let other = HttpRule::new("https://other.example".parse().unwrap());
    let grant = Grant::default()
        .mount(Mount::read_only(folder.path(), "/m".parse().unwrap()))
        .fs(FsRule::allow(&[Read], vec!["/m/a".parse().unwrap()]))
        .http(other);
    let (host, notes) = host(needs, grant);
    assert!(notes.contains(&"probe: requests to https://api.example: needed but not granted".to_owned()), "{notes:?}");
    for attempt in [("open", "/m/b", None), ("create", "/m/a", None)] {
        let reply = touch(&host, attempt);
        assert!(rule(&reply).ends_with("; needed but not granted"), "{:?}", reply.denials);
    }
    let reply = call(&host, "probe_fetch", &json!({"url": "https://api.example/"}));
    assert!(rule(&reply).ends_with("; needed but not granted"), "{:?}", reply.denials);
}
