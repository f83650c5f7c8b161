//! What the guard of files does with trees that change under it, with names that lead to what is the host's, and with
//! paths that are made to cost it something.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat};
use serde_json::json;
use support::ENGINE;
use support::probe::{PROBE, call, outcome, probe, probe_beside, rule, touch};
use witbox::{FsRule, Grant, Host, Mount, Operation::*, PathPattern};

fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn read_write(host: &Path, guest: &str) -> Mount {
    Mount::read_write(host, guest.parse().unwrap())
}

/// A guest that may write the folder above a mount of another toolset can't make that mount of something else.
#[test]
fn a_mount_stays_the_folder_that_was_granted() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("a/data")).unwrap();
    fs::write(root.path().join("a/data/file"), "data").unwrap();
    fs::create_dir(root.path().join("b")).unwrap();
    fs::write(root.path().join("b/file"), "other").unwrap();
    let mut host = Host::builder(&ENGINE);
    host.toolset("probe", &PROBE, Grant::default().mount(read_write(&root.path().join("a"), "/a"))).unwrap();
    let data = Mount::read_only(root.path().join("a/data"), "/data".parse().unwrap());
    host.toolset("second", &PROBE, Grant::default().mount(data)).unwrap();
    let host = host.build();
    for attempt in [
        ("rename", "/a/data", Some("/a/moved")),
        ("remove-folder", "/a/data", None),
        ("remove", "/a/data", None),
        ("rename", "/a/new", Some("/a/data")),
    ] {
        call(&host, "probe_touch", &json!({"way": "make-folder", "path": "/a/new"}));
        let reply = touch(&host, attempt);
        assert_eq!(outcome(&reply), "-not-permitted", "{attempt:?}");
        assert!(rule(&reply).contains("a mount"), "{attempt:?} {:?}", reply.denials);
    }
    // And where somebody else does it, what was opened at the start is what the guest has.
    fs::rename(root.path().join("a/data"), root.path().join("a/kept")).unwrap();
    symlink("../b", root.path().join("a/data")).unwrap();
    let reply = call(&host, "second_touch", &json!({"way": "open", "path": "/data/file"}));
    assert_eq!(outcome(&reply), "+data");
}

/// The configuration's name may be a link, or of nothing yet: what a later start would follow stays as it is.
#[test]
fn names_that_lead_to_the_hosts_own_files_are_kept() {
    for attempt in [
        ("remove", "/m/config/witbox.toml", None),
        ("rename", "/m/config/witbox.toml", Some("/m/config/old")),
        ("rename", "/m/mine", Some("/m/config/witbox.toml")),
        ("rename", "/m/config", Some("/m/other")),
        ("remove", "/m/link", None),
        ("rename", "/m/link", Some("/m/other")),
        ("remove", "/m/real/real.toml", None),
        ("open-write", "/m/link", None),
        ("create", "/m/missing.toml", None),
        ("create-new", "/m/missing.toml", None),
        ("make-folder", "/m/missing.toml", None),
        ("rename", "/m/mine", Some("/m/missing.toml")),
        ("make-folder", "/m/no-folder", None),
        ("create", "/m/no-folder", None),
    ] {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("config")).unwrap();
        fs::create_dir_all(root.path().join("real")).unwrap();
        fs::write(root.path().join("real/real.toml"), "real").unwrap();
        fs::write(root.path().join("mine"), "mine").unwrap();
        symlink("config/witbox.toml", root.path().join("link")).unwrap();
        symlink("../real/real.toml", root.path().join("config/witbox.toml")).unwrap();
        let own = ["link", "missing.toml", "no-folder/tool.wasm"].map(|name| root.path().join(name));
        let own: Vec<&Path> = own.iter().map(AsRef::as_ref).collect();
        let reply = touch(&probe_beside(&own, Grant::default().mount(read_write(root.path(), "/m"))), attempt);
        assert_eq!(outcome(&reply), "-not-permitted", "{attempt:?}");
        assert!(rule(&reply).starts_with("it is witbox's own"), "{attempt:?} {:?}", reply.denials);
        assert_eq!(fs::read_to_string(root.path().join("link")).unwrap(), "real", "{attempt:?}");
        assert!(fs::symlink_metadata(root.path().join("missing.toml")).is_err(), "{attempt:?}");
    }
}

/// A denial by a pattern with wildcards hides folders as one without does.
#[test]
fn wildcards_hide_what_they_deny() {
    let root = tempfile::tempdir().unwrap();
    for folder in [".git/refs", "a/.git", "a/src"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    for file in [".git/HEAD", "a/.git/config", "a/src/lib.rs", "config", "config.bak"] {
        fs::write(root.path().join(file), file).unwrap();
    }
    symlink("a/src/lib.rs", root.path().join("alias")).unwrap();
    let grant = Grant::default()
        .mount(read_write(root.path(), "/m"))
        .fs(FsRule::deny(&[Read, Write], patterns(&["/m/**/.git/**", "/m/config{,.bak}", "/m/alias"])))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])));
    let host = probe(grant);
    for (way, path, expected) in [
        ("list", "/m", "+a"),
        ("list", "/m/a", "+src"),
        ("list", "/m/.git", "-not-permitted"),
        ("open-folder", "/m/a/.git", "-not-permitted"),
        ("stat", "/m/.git/refs", "-not-permitted"),
        ("open", "/m/config", "-not-permitted"),
        // A link that is denied is not followed to what is allowed.
        ("open", "/m/alias", "-not-permitted"),
        ("stat-link", "/m/alias", "-not-permitted"),
        ("read-link", "/m/alias", "-not-permitted"),
        ("open", "/m/config.bak", "-not-permitted"),
        ("open", "/m/a/.git/../src/lib.rs", "-not-permitted"),
        ("open", "/m/a/.nothing/../src/lib.rs", "-no-entry"),
        ("open", "/m/a/src/lib.rs", "+a/src/lib.rs"),
    ] {
        assert_eq!(outcome(&touch(&host, (way, path, None))), expected, "{way} {path}");
    }
}

/// A guest that may make links gains nothing by them, and makes none where it may not write.
#[test]
fn links_that_a_guest_makes_meet_the_same_rules() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("m/private")).unwrap();
    fs::write(root.path().join("m/private/file"), "secret").unwrap();
    fs::write(root.path().join("m/file"), "open").unwrap();
    fs::write(root.path().join("outside"), "outside").unwrap();
    let mount = || read_write(&root.path().join("m"), "/m");
    let rules = |mount| {
        Grant::default()
            .mount(mount)
            .fs(FsRule::deny(&[Read, Write], patterns(&["/m/private/**"])))
            .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])))
    };
    let without = touch(&probe(rules(mount())), ("make-link", "/m/link", Some("file")));
    assert_eq!(outcome(&without), "-not-permitted");
    assert!(rule(&without).ends_with("write symlinks = true in its mount"));
    let host = probe(rules(mount().making_links().quota(1_000, 5)));
    for (path, target, made, opened) in [
        ("/m/good", "file", "+done", "+open"),
        ("/m/to-private", "private/file", "+done", "-not-permitted"),
        ("/m/out", "../outside", "+done", "-not-permitted"),
        ("/m/absolute", "/etc/passwd", "+done", "-not-permitted"),
        ("/m/private/link", "../file", "-not-permitted", "-not-permitted"),
        ("/m/good", "file", "-exist", "+open"),
        ("/m/slash/", "file", "-no-entry", "-no-entry"),
        ("/m/loop", "loop", "+done", "-loop"),
        ("/m/sixth", "file", "-insufficient-space", "-no-entry"),
    ] {
        assert_eq!(outcome(&touch(&host, ("make-link", path, Some(target)))), made, "{path}");
        assert_eq!(outcome(&touch(&host, ("open", path, None))), opened, "{path}");
    }
    let read_only = Mount::read_only(root.path().join("m"), "/m".parse().unwrap()).making_links();
    let reply = touch(&probe(rules(read_only)), ("make-link", "/m/new", Some("file")));
    assert_eq!(outcome(&reply), "-not-permitted");
}

/// Mounts that overlap would give one object two sets of rules.
#[test]
fn mounts_do_not_overlap() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    fs::create_dir_all(root.path().join("allowed")).unwrap();
    fs::create_dir_all(root.path().join("allowed_evil")).unwrap();
    symlink("a/b", root.path().join("alias")).unwrap();
    let folder = |name: &str| root.path().join(name);
    for (first, second, expected) in [
        ((folder("a"), "/x"), (folder("a/b"), "/y"), Some("overlap on the host")),
        ((folder("a"), "/x"), (folder("a"), "/y"), Some("overlap on the host")),
        ((folder("a"), "/x"), (folder("alias"), "/y"), Some("overlap on the host")),
        ((folder("a"), "/x"), (folder("allowed"), "/x/y"), Some("overlap in what the guest sees")),
        ((folder("a"), "/x"), (folder("missing"), "/y"), Some("No such file")),
        ((folder("allowed"), "/allowed"), (folder("allowed_evil"), "/allowed_evil"), None),
    ] {
        let grant = Grant::default().mount(read_write(&first.0, first.1)).mount(read_write(&second.0, second.1));
        let added = Host::builder(&ENGINE).toolset("probe", &PROBE, grant).map(|_| ());
        let error = added.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected.unwrap_or_default()) && expected.is_some() != error.is_empty(), "{error}");
    }
}

/// A folder that holds something denied is not moved away from its rule, nor one of another rule to where it is allowed.
#[test]
fn folders_move_under_one_rule_only() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["a/secret", "free/sub"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join("a/secret/file"), "secret").unwrap();
    let grant = Grant::default()
        .mount(read_write(root.path(), "/m"))
        .fs(FsRule::deny(&[Read], patterns(&["/m/a/secret/**"])))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])));
    let host = probe(grant);
    for (from, to, expected) in [
        ("/m/a", "/m/b", "-not-permitted"),
        ("/m/a/secret", "/m/public", "-not-permitted"),
        ("/m/free/sub", "/m/a/secret/sub", "-not-permitted"),
        ("/m/free", "/m/a/free", "+done"),
    ] {
        assert_eq!(outcome(&touch(&host, ("rename", from, Some(to)))), expected, "{from} {to}");
    }
}

/// Mounts are to each other what file systems are, and a hard link is another name under whichever mode.
#[test]
fn nothing_is_carried_from_one_mount_to_another() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["ro", "rw", "rw2"] {
        fs::create_dir(root.path().join(folder)).unwrap();
        fs::write(root.path().join(folder).join("file"), folder).unwrap();
    }
    fs::hard_link(root.path().join("ro/file"), root.path().join("rw/same")).unwrap();
    let grant = Grant::default()
        .mount(Mount::read_only(root.path().join("ro"), "/ro".parse().unwrap()))
        .mount(read_write(&root.path().join("rw"), "/rw"))
        .mount(read_write(&root.path().join("rw2"), "/rw2"));
    let host = probe(grant);
    for (way, path, other, expected) in [
        ("rename", "/rw/file", Some("/rw2/moved"), "-cross-device"),
        ("rename", "/ro/file", Some("/rw/moved"), "-not-permitted"),
        ("rename", "/rw/file", Some("/ro/moved"), "-not-permitted"),
        ("link", "/ro/file", Some("/rw/linked"), "-not-permitted"),
        ("open-write", "/rw/same", None, "-not-permitted"),
        ("truncate", "/rw/same", None, "-not-permitted"),
        ("set-times", "/rw/same", None, "-not-permitted"),
        ("open", "/rw/same", None, "+ro"),
        // Nor is the other name taken away, so that only this one would be asked about.
        ("remove", "/rw/same", None, "-not-permitted"),
        ("rename", "/rw/file", Some("/rw/same"), "-not-permitted"),
        ("rename", "/rw/same", Some("/rw/moved"), "-not-permitted"),
    ] {
        assert_eq!(outcome(&touch(&host, (way, path, other))), expected, "{way} {path}");
    }
    assert_eq!(fs::read_to_string(root.path().join("ro/file")).unwrap(), "ro");
}

/// Paths as long and as deep as the system takes them, and longer, under rules that look at every folder.
#[test]
fn long_and_deep_paths_are_bounded() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = openat(CWD, root.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..1_500 {
        mkdirat(&folder, "a", Mode::from_raw_mode(0o700)).unwrap();
        folder = openat(&folder, "a", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    openat(&folder, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o600)).unwrap();
    let hidden: Vec<String> = (0..20).map(|index| format!("/m/**/a/**/a*a*a/**/b{index}/**")).collect();
    let hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
    let grant = Grant::default()
        .mount(read_write(root.path(), "/m"))
        .fs(FsRule::deny(&[Read, Write], patterns(&hidden)))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])));
    let host = probe(grant);
    let deep = "a/".repeat(1_500);
    let up = format!("/m/{}{}", "a/".repeat(1_000), "../".repeat(300));
    for (way, path, expected) in [
        ("open", format!("/m/{deep}file"), "+"),
        ("create", format!("/m/{deep}new"), "+done"),
        ("stat", format!("/m/{deep}nothing"), "-no-entry"),
        ("open", up, "-loop"),
        ("open", format!("/m/{}x", "a/".repeat(2_100)), "-name-too-long"),
        ("open", format!("/m/{}", "x".repeat(1_000_000)), "-name-too-long"),
        ("open", format!("/m/{}", "x".repeat(4_000)), "-name-too-long"),
    ] {
        let reply = touch(&host, (way, &path, None));
        assert_eq!(outcome(&reply), expected, "{way} a path of {} bytes", path.len());
    }
    // Taken apart from below: the path from the root is too long for the system, too.
    remove_deep(root.path());
}

fn remove_deep(root: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folders = vec![openat(CWD, root, flags, Mode::empty()).unwrap()];
    while let Ok(next) = openat(folders.last().unwrap(), "a", flags, Mode::empty()) {
        folders.push(next);
    }
    let last = folders.pop().unwrap();
    for file in ["file", "new"] {
        rustix::fs::unlinkat(&last, file, AtFlags::empty()).unwrap();
    }
    while let Some(folder) = folders.pop() {
        rustix::fs::unlinkat(&folder, "a", AtFlags::REMOVEDIR).unwrap();
    }
}

/// What a guest wrote in a path is shown to the operator, but not all of a megabyte of it.
#[test]
fn a_denial_shows_the_start_of_a_long_path() {
    let root = tempfile::tempdir().unwrap();
    let grant =
        Grant::default().mount(read_write(root.path(), "/m")).fs(FsRule::allow(&[Read], patterns(&["/m/seen/**"])));
    let reply = touch(&probe(grant), ("open", &format!("/m/{}", "y/".repeat(1_500)), None));
    assert_eq!(outcome(&reply), "-not-permitted");
    let target = &reply.denials[0].target;
    assert!(target.starts_with("/m/y") && target.len() < 1_100, "{} bytes", target.len());
}

/// `explain` asks what a call asks, so both say the same of each kind of object.
#[test]
fn explain_agrees_with_the_guard() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["open/sub", "closed"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join("open/file"), "file").unwrap();
    fs::write(root.path().join("closed/file"), "file").unwrap();
    fs::hard_link(root.path().join("closed/file"), root.path().join("open/hard")).unwrap();
    for (target, link) in [("../closed/file", "open/link"), ("loop", "open/loop"), ("../../..", "open/out")] {
        symlink(target, root.path().join(link)).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(root.path().join("open/fifo")).status().unwrap().success());
    let grant = Grant::default()
        .mount(read_write(root.path(), "/m"))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/open/**"])));
    let host = probe(grant.clone());
    for (path, may_read, may_write) in [
        ("/m/open/file", true, true),
        ("/m/open/new", true, true),
        ("/m/open/hard", false, false),
        ("/m/open/link", false, false),
        ("/m/open/loop", false, false),
        ("/m/open/out", false, false),
        ("/m/open/fifo", false, false),
        ("/m/closed/file", false, false),
        ("/m/closed/nothing", false, false),
        ("/m/closed", false, false),
    ] {
        let path_of: witbox::GuestPath = path.parse().unwrap();
        for (operation, way, may) in [(Read, "stat", may_read), (Write, "set-times", may_write)] {
            let explained = witbox::explain(&grant, operation, &path_of).unwrap();
            assert_eq!(explained.allowed, may, "{operation} {path}: {}", explained.rule);
            let outcome = outcome(&touch(&host, (way, path, None)));
            assert!(outcome.starts_with('+') == may || outcome == "-no-entry", "{operation} {path}: {outcome}");
        }
    }
}

#[test]
fn descriptors_are_bounded_and_folders_are_not() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "file").unwrap();
    fs::create_dir(root.path().join("full")).unwrap();
    let folder = openat(CWD, root.path().join("full"), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for index in 0..100_000 {
        openat(&folder, format!("{index}"), OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o600)).unwrap();
    }
    let host = probe(Grant::default().mount(read_write(root.path(), "/m")));
    let reply = call(&host, "probe_hold", &json!({"path": "/m/file", "times": 100_000}));
    let held: u32 = reply.text().parse().unwrap();
    assert!((100..=128).contains(&held), "{held}");
    assert_eq!(rule(&reply), "a call holds at most 128 files and folders open");
    assert_eq!(call(&host, "probe_hold_mounts", &json!({"times": 100_000})).status, witbox::Status::Limit);
    assert_eq!(outcome(&call(&host, "probe_reopen", &json!({"path": "/m/file", "times": 2_000}))), "+2000 times");
    // A folder may be as large as it likes: it is read in parts.
    assert_eq!(outcome(&touch(&host, ("list", "/m/full", None))).split(' ').count(), 100_000);
}

/// A descriptor keeps what it was opened for, and no more.
#[test]
fn what_was_opened_to_be_read_is_not_changed() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "text").unwrap();
    let read_only = Mount::read_only(root.path(), "/m".parse().unwrap());
    let by_rule =
        Grant::default().mount(read_write(root.path(), "/m")).fs(FsRule::allow(&[Read], patterns(&["/m/**"])));
    for grant in [Grant::default().mount(read_only), by_rule] {
        let before = fs::metadata(root.path().join("file")).unwrap().modified().unwrap();
        for path in ["/m/file", "/m"] {
            let reply = call(&probe(grant.clone()), "probe_change_opened", &json!({"path": path}));
            assert_eq!(reply.text(), "[]", "{path}");
        }
        assert_eq!(fs::read_to_string(root.path().join("file")).unwrap(), "text");
        assert_eq!(fs::metadata(root.path().join("file")).unwrap().modified().unwrap(), before);
    }
}
