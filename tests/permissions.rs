//! Rules for files hold whatever a guest writes and whatever lies in the mount.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use support::ENGINE;
use support::probe::{Attempt, PROBE, call, outcome, probe, probe_beside, rule, touch};
use witbox::{Call, Component, FsRule, Grant, Host, Mount, Operation::*, PathPattern, Reply, Status};

/// What is mounted at `/docs`, and what lies beside it.
fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let docs = root.path().join("docs");
    for folder in ["private/sub", "ok/deep", "write-only", "[...slug]"] {
        fs::create_dir_all(docs.join(folder)).unwrap();
    }
    for (file, text) in [
        ("open.txt", "open"),
        ("private/secret.txt", "secret"),
        ("ok/deep/file.txt", "deep"),
        ("ok/other.txt", "other"),
        ("write-only/drop.txt", "dropped"),
        ("[...slug]/page.txt", "page"),
        ("a\nb", "newline"),
        ("..hidden", "hidden"),
    ] {
        fs::write(docs.join(file), text).unwrap();
    }
    fs::write(docs.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "bytes").unwrap();
    fs::write(root.path().join("outside.txt"), "outside").unwrap();
    fs::create_dir(root.path().join("docs_evil")).unwrap();
    fs::write(root.path().join("docs_evil/file.txt"), "evil").unwrap();
    for (target, link) in [
        ("private/secret.txt", "link-to-secret"),
        ("private", "link-to-private"),
        ("ok/deep", "link-to-deep"),
        ("../private/secret.txt", "ok/link-up"),
        ("../outside.txt", "link-out"),
        ("../docs_evil", "link-evil"),
        ("/etc/passwd", "link-absolute"),
        ("loop", "loop"),
        ("private/new.txt", "dangling-private"),
        ("ok/new.txt", "dangling-ok"),
        ("/proc/self/environ", "link-proc"),
    ] {
        symlink(target, docs.join(link)).unwrap();
    }
    fs::hard_link(docs.join("private/secret.txt"), docs.join("hard-to-secret")).unwrap();
    assert!(Command::new("mkfifo").arg(docs.join("fifo")).status().unwrap().success());
    root
}

fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn rules(root: &Path) -> Grant {
    Grant::default()
        .mount(Mount::read_write(root.join("docs"), "/docs".parse().unwrap()))
        .fs(FsRule::deny(&[Read, Write], patterns(&["/docs/private/**"])))
        .fs(FsRule::allow(&[Write], patterns(&["/docs/write-only/**"])))
        .fs(FsRule::deny(&[Read], patterns(&["/docs/write-only/**"])))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/docs/**"])))
}

fn all(grant: Grant, attempts: &[Attempt<'_>]) -> Vec<Reply> {
    let host = probe(grant);
    attempts.iter().map(|attempt| touch(&host, *attempt)).collect()
}

/// Attempts that no checkout's tree allows, each on a tree of its own, and what comes of them; the others are in
/// `permissions/files.cases.toml`.
const ATTEMPTS: &[(&str, &str, Option<&str>, &str)] = &[
    ("open", "/docs/a\nb", None, "+newline"),
    ("stat", "/docs/ok", None, "+DescriptorType::Directory of 4096 bytes"),
    // Other names, and what is neither a file nor a folder.
    ("open", "/docs/hard-to-secret", None, "-not-permitted"),
    ("truncate", "/docs/hard-to-secret", None, "-not-permitted"),
    ("stat", "/docs/hard-to-secret", None, "-not-permitted"),
    ("stat-link", "/docs/hard-to-secret", None, "-not-permitted"),
    ("set-times", "/docs/hard-to-secret", None, "-not-permitted"),
    ("open", "/docs/fifo", None, "-not-permitted"),
    ("open-write", "/docs/fifo", None, "-not-permitted"),
];

#[test]
fn every_attempt_comes_out_as_the_rules_say() {
    let mut wrong = Vec::new();
    for (way, path, other, expected) in ATTEMPTS {
        let root = tree();
        let replies = all(rules(root.path()), &[(way, path, *other)]);
        let got = outcome(&replies[0]);
        if got != *expected {
            wrong.push(format!("{way} {path:?} {other:?}: expected {expected}, got {got}"));
        }
        let secret = fs::read_to_string(root.path().join("docs/private/secret.txt"));
        assert_eq!(secret.unwrap(), "secret", "{way} {path:?}");
        assert_eq!(fs::read_to_string(root.path().join("outside.txt")).unwrap(), "outside", "{way} {path:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_refusal_is_a_denial_that_names_its_rule() {
    let root = tree();
    let replies = all(
        rules(root.path()),
        &[
            ("open", "/docs/ok/../private/secret.txt", None),
            ("open", "/docs/fifo", None),
            ("open", "/docs/open.txt", None),
        ],
    );
    let denial = &replies[0].denials[0];
    assert_eq!(
        (denial.operation.as_str(), denial.target.as_str(), denial.rule.as_str()),
        ("read", "/docs/private/secret.txt", "fs rule 1: deny read and write on /docs/private/**")
    );
    assert_eq!(replies[1].denials[0].operation, "read");
    assert!(replies[2].denials.is_empty());
    let replies = all(rules(root.path()), &[("open", "/docs/link-out", None), ("open", "/docs/link-absolute", None)]);
    for reply in replies {
        assert_eq!(reply.denials[0].rule, "it leads out of the folder that the guest holds");
    }
}

/// Of two calls of one message that write to the same file, whatever they call it, one does and the other is told; which one
/// comes last would be chance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_calls_of_a_message_do_not_write_over_each_other() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("sub")).unwrap();
    fs::write(root.path().join("sub/there"), "there").unwrap();
    let files = Component::builtin(&ENGINE, "files").unwrap();
    let mut host = Host::builder(&ENGINE);
    for (name, folder) in [("one", root.path().to_owned()), ("two", root.path().join("sub"))] {
        let mount = Mount::read_write(folder, "/m".parse().unwrap());
        host.toolset(name, &files, Grant::default().mount(mount)).unwrap();
    }
    let host = host.build();
    for (one, two, clash) in [
        (
            ("write", json!({"path": "/m/sub/new", "content": "one"})),
            ("write", json!({"path": "/m/new", "content": "two"})),
            true,
        ),
        (("write", json!({"path": "/m/sub/there", "content": "one"})), ("delete", json!({"path": "/m/there"})), true),
        (
            ("write", json!({"path": "/m/sub/d/a", "content": "one"})),
            ("write", json!({"path": "/m/d/b", "content": "two"})),
            false,
        ),
        (("write", json!({"path": "/m/sub/new", "content": "one"})), ("ls", json!({})), false),
    ] {
        for _ in 0..10 {
            fs::write(root.path().join("sub/there"), "there").unwrap();
            let calls = vec![
                Call::new("1", format!("one_{}", one.0), one.1.to_string()),
                Call::new("2", format!("two_{}", two.0), two.1.to_string()),
            ];
            let replies = host.call_all(calls).await;
            let refused: Vec<&Reply> = replies.iter().filter(|reply| !reply.denials.is_empty()).collect();
            assert_eq!(refused.len(), usize::from(clash), "{replies:?}");
            for reply in refused {
                assert_eq!(reply.status, Status::ToolError);
                assert_eq!(rule(reply), "another call of the same message writes to it; call again in the next one");
            }
            // The next message is another.
            let reply =
                host.call(Call::new("1", "two_write", json!({"path": "/m/new", "content": "x"}).to_string())).await;
            assert_eq!(reply.status, Status::Ok, "{reply:?}");
        }
    }
}

#[test]
fn a_mount_that_is_open_from_the_start_is_listed_under_the_rules_too() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "a").unwrap();
    let grant = Grant::default().mount(Mount::read_write(root.path(), "/m".parse().unwrap()));
    let grant = grant.fs(FsRule::allow(&[Write], vec!["/m/**".parse().unwrap()]));
    let host = probe(grant);
    let reply = touch(&host, ("list", "/m", None));
    assert_eq!(outcome(&reply), "-not-permitted");
    assert_eq!(reply.denials.len(), 1);
}

#[test]
fn listings_show_what_may_be_read_and_the_ways_to_it() {
    let root = tree();
    let replies = all(rules(root.path()), &[("list", "/docs", None)]);
    let listed = outcome(&replies[0]);
    let names: Vec<&str> = listed.trim_start_matches('+').split(' ').collect();
    assert!(names.contains(&"open.txt") && names.contains(&"..hidden"), "{listed}");
    assert!(!names.contains(&"private") && !names.contains(&"write-only"), "{listed}");

    let narrow = Grant::default()
        .mount(Mount::read_only(root.path().join("docs"), "/docs".parse().unwrap()))
        .fs(FsRule::allow(&[Read], patterns(&["/docs/ok/deep/**"])));
    let replies = all(
        narrow,
        &[
            ("list", "/docs", None),
            ("list", "/docs/ok", None),
            ("list", "/docs/ok/deep", None),
            ("open", "/docs/ok/deep/file.txt", None),
            ("open", "/docs/ok/other.txt", None),
            ("stat", "/docs/ok", None),
            ("list", "/docs/private", None),
        ],
    );
    let outcomes: Vec<String> = replies.iter().map(outcome).collect();
    assert_eq!(
        outcomes,
        [
            "+ok",
            "+deep",
            "+file.txt",
            "+deep",
            "-not-permitted",
            "+DescriptorType::Directory of 4096 bytes",
            "-not-permitted"
        ]
    );
    assert_eq!(replies[4].denials[0].rule, "no fs rule matched; add an allow last");
}

#[test]
fn no_rule_lifts_a_read_only_mount() {
    let root = tree();
    let grant = Grant::default()
        .mount(Mount::read_only(root.path().join("docs"), "/docs".parse().unwrap()))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/docs/**"])));
    for attempt in [
        ("open-write", "/docs/open.txt", None),
        ("truncate", "/docs/open.txt", None),
        ("create", "/docs/new.txt", None),
        ("make-folder", "/docs/made", None),
        ("rename", "/docs/open.txt", Some("/docs/moved.txt")),
        ("remove", "/docs/open.txt", None),
        ("set-times", "/docs/open.txt", None),
    ] {
        let replies = all(grant.clone(), &[attempt]);
        assert_eq!(outcome(&replies[0]), "-not-permitted", "{attempt:?}");
        assert_eq!(replies[0].denials[0].rule, "its mount is read-only");
    }
    assert_eq!(fs::read_to_string(root.path().join("docs/open.txt")).unwrap(), "open");
}

/// One guest swaps a folder for a link to the denied one while others open through it.
#[test]
fn a_race_lets_nothing_through() {
    let root = tree();
    let docs = root.path().join("docs");
    fs::create_dir(docs.join("swapped")).unwrap();
    fs::write(docs.join("swapped/secret.txt"), "harmless").unwrap();
    let host = probe(rules(root.path()));
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swaps = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let swapper = std::thread::spawn({
        let (docs, stop, swaps) = (docs.clone(), stop.clone(), swaps.clone());
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::rename(docs.join("swapped"), docs.join("kept")).unwrap();
                symlink("private", docs.join("swapped")).unwrap();
                fs::remove_file(docs.join("swapped")).unwrap();
                fs::rename(docs.join("kept"), docs.join("swapped")).unwrap();
                swaps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let arguments = json!({"way": "open", "path": "/docs/swapped/secret.txt"}).to_string();
    let mut seen = std::collections::BTreeMap::new();
    while swaps.load(std::sync::atomic::Ordering::Relaxed) < 10_000 {
        let calls = (0..100).map(|index| Call::new(index.to_string(), "probe_touch", &arguments)).collect();
        for reply in runtime.block_on(host.call_all(calls)) {
            *seen.entry(outcome(&reply)).or_insert(0) += 1;
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(!seen.contains_key("+secret"), "{seen:?}");
    assert!(seen.contains_key("+harmless"), "{seen:?}");
}

/// A guest that may write all of a folder still may not change what it runs under.
#[test]
fn what_is_witboxs_own_is_not_changed() {
    for attempt in [
        ("open-write", "/m/witbox.toml", None),
        ("truncate", "/m/./witbox.toml", None),
        ("truncate", "/m/link", None),
        ("create", "/m/link", None),
        ("set-times", "/m/witbox.toml", None),
        ("remove", "/m/witbox.toml", None),
        ("rename", "/m/witbox.toml", Some("/m/old.toml")),
        ("rename", "/m/mine.toml", Some("/m/witbox.toml")),
        ("rename", "/m/tools", Some("/m/elsewhere")),
        ("rename", "/m/tools/deep", Some("/m/deep")),
        ("remove", "/m/tools/deep/tool.wasm", None),
        ("open-write", "/m/tools/deep/tool.wasm", None),
        ("rename", "/m/mine.toml", Some("/m/tools/deep/tool.wasm")),
    ] {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("tools/deep")).unwrap();
        for file in ["witbox.toml", "mine.toml", "tools/deep/tool.wasm"] {
            fs::write(root.path().join(file), file).unwrap();
        }
        symlink("witbox.toml", root.path().join("link")).unwrap();
        let own = [root.path().join("witbox.toml"), root.path().join("tools/deep/tool.wasm")];
        let own: Vec<&Path> = own.iter().map(AsRef::as_ref).collect();
        let grant = Grant::default().mount(Mount::read_write(root.path(), "/m".parse().unwrap()));
        let read = ("open", "/m/witbox.toml", None);
        let host = probe_beside(&own, grant);
        let reply = touch(&host, attempt);
        assert_eq!(outcome(&reply), "-not-permitted", "{attempt:?}");
        assert!(rule(&reply).starts_with("it is witbox's own"), "{:?}", reply.denials);
        assert_eq!(outcome(&touch(&host, read)), "+witbox.toml", "{attempt:?}");
        assert_eq!(fs::read_to_string(root.path().join("tools/deep/tool.wasm")).unwrap(), "tools/deep/tool.wasm");
    }
}

/// A mount of everything is still none of processes and devices.
#[test]
fn the_kernels_file_systems_are_never_reached() {
    let root = || Mount::read_only("/", "/host".parse().unwrap());
    let attempts =
        [("open", "/host/proc/self/environ", None), ("list", "/host/proc", None), ("list", "/host/sys", None)];
    for mount in [root(), root().crossing_devices()] {
        for reply in all(Grant::default().mount(mount), &attempts) {
            assert_eq!(outcome(&reply), "-not-permitted");
            assert_eq!(reply.denials[0].rule, "it is on another file system than its mount");
        }
    }
    for path in ["/host/dev/null", "/host/dev/shm"] {
        let replies = all(Grant::default().mount(root().crossing_devices()), &[("open", path, None)]);
        assert_eq!(outcome(&replies[0]), "-not-permitted");
        assert_eq!(replies[0].denials[0].rule, "it is on another file system than its mount");
    }
    for host in ["/proc", "/proc/self", "/sys", "/dev", "/dev/pts"] {
        let grant = Grant::default().mount(Mount::read_only(host, "/m".parse().unwrap()));
        let error = Host::builder(&ENGINE).toolset("probe", &PROBE, grant).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("never mounted"), "{host}: {error}");
    }
}

/// What calls add to a mount is bounded for all of them together, and deleting gives nothing back.
#[test]
fn a_mount_takes_no_more_than_its_quota() {
    let root = tempfile::tempdir().unwrap();
    let mount = Mount::read_write(root.path(), "/m".parse().unwrap()).quota(100_000, 5);
    let host = probe(Grant::default().mount(mount));
    let create = |path: &str, bytes: u64| call(&host, "probe_create", &json!({"path": path, "bytes": bytes}));
    let denial = |reply: &Reply| rule(reply).to_owned();

    assert_eq!(outcome(&create("/m/one", 60_000)), "+60000 bytes");
    assert_eq!(outcome(&create("/m/one", 30_000)), "+30000 bytes", "cut to nothing, it grows again");
    let full = create("/m/two", 60_000);
    assert!(outcome(&full).starts_with('-') && denial(&full) == "max-bytes of its mount is 100000", "{full:?}");
    touch(&host, ("remove", "/m/one", None));
    let full = create("/m/three", 20_000);
    assert!(denial(&full) == "max-bytes of its mount is 100000", "deleting gives nothing back: {full:?}");
    let held: u64 = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(held <= 100_000, "{held}");

    let touch = |way: &str, path: &str| touch(&host, (way, path, None));
    assert_eq!(outcome(&touch("make-folder", "/m/folder")), "+done");
    assert_eq!(outcome(&touch("make-folder", "/m/folder")), "-exist");
    assert_eq!(outcome(&touch("create", "/m/five")), "+done");
    for (way, path) in [("create", "/m/six"), ("create-new", "/m/six"), ("make-folder", "/m/six")] {
        let full = touch(way, path);
        assert_eq!(outcome(&full), "-insufficient-space", "{way}");
        assert_eq!(denial(&full), "max-files of its mount is 5");
    }
    assert_eq!(outcome(&touch("create", "/m/five")), "+done", "what is there is not new");
    for way in ["grow", "write-far"] {
        let full = touch(way, "/m/five");
        assert_eq!(outcome(&full), "-insufficient-space", "{way}");
        assert_eq!(
            (full.denials[0].operation.as_str(), denial(&full).as_str()),
            ("grow", "max-bytes of its mount is 100000")
        );
    }
    assert_eq!(fs::metadata(root.path().join("five")).unwrap().len(), 0);
}

#[test]
fn a_pattern_outside_of_every_mount_is_an_error() {
    let root = tree();
    let grant = Grant::default()
        .mount(Mount::read_only(root.path().join("docs"), "/docs".parse().unwrap()))
        .fs(FsRule::allow(&[Read], patterns(&["/dosc/**"])));
    let error = Host::builder(&ENGINE).toolset("probe", &PROBE, grant).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("the pattern `/dosc/**` is outside of every mount"), "{error}");
}
