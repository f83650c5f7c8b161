//! Where everything is allowed the guard changes nothing: random sequences of operations through a guest, and the same by
//! the system's own calls on a folder beside, have the same outcomes and leave the same trees.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, readlinkat, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde_json::{Value, json};
use support::rng::Rng;
use support::{ENGINE, checkout};
use witbox::{Call, Component, FsRule, Grant, Host, Mount, Operation};

const WAYS: [&str; 16] = [
    "open",
    "open-link",
    "open-write",
    "create",
    "create-new",
    "truncate",
    "open-folder",
    "list",
    "stat",
    "stat-link",
    "read-link",
    "make-folder",
    "rename",
    "remove",
    "remove-folder",
    "create",
];

const PATHS: [&str; 20] = [
    "a",
    "b",
    "d",
    "d/a",
    "d/b",
    "d/e",
    "d/e/a",
    "./a",
    "d/../a",
    "d//b",
    "link-a",
    "link-d",
    "link-d/a",
    "link-d/e/a",
    "link-nothing",
    "loop",
    "d/up",
    "d/up/b",
    "a/x",
    "d/e/../../b",
];

fn tree(root: &Path) {
    fs::create_dir_all(root.join("d/e")).unwrap();
    fs::write(root.join("a"), "first").unwrap();
    fs::write(root.join("d/b"), "second").unwrap();
    for (target, link) in [("a", "link-a"), ("d", "link-d"), ("new", "link-nothing"), ("loop", "loop"), ("..", "d/up")]
    {
        symlink(target, root.join(link)).unwrap();
    }
}

/// Every path with what it is.
fn snapshot(root: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            let what = if kind.is_dir() {
                open.push(path.clone());
                "folder".to_owned()
            } else if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else {
                fs::read_to_string(&path).unwrap()
            };
            all.insert(path.strip_prefix(root).unwrap().display().to_string(), what);
        }
    }
    all
}

/// What the system itself makes of an operation.
fn native(folder: &File, way: &str, path: &str, other: &str) -> String {
    let create = Mode::from_raw_mode(0o666);
    let open = |flags: OFlags| openat(folder, path, flags | OFlags::CLOEXEC, create);
    let done = |done: Result<(), Errno>| done.map(|()| "done".to_owned());
    let read = |file: Result<rustix::fd::OwnedFd, Errno>| {
        let mut bytes = [0; 64];
        let count = rustix::io::read(file?, &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..count]).into_owned())
    };
    let kind = |flags: AtFlags| {
        let stat = statat(folder, path, flags)?;
        Ok(match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::Directory => "DescriptorType::Directory".to_owned(),
            rustix::fs::FileType::Symlink => "DescriptorType::SymbolicLink".to_owned(),
            _ => format!("DescriptorType::RegularFile of {} bytes", stat.st_size),
        })
    };
    let outcome = match way {
        "open" => read(open(OFlags::RDONLY)),
        "open-link" => read(open(OFlags::RDONLY | OFlags::NOFOLLOW)),
        "open-write" => {
            open(OFlags::WRONLY).and_then(|file| rustix::io::write(file, b"touched")).map(|_| "done".to_owned())
        }
        "create" => done(open(OFlags::WRONLY | OFlags::CREATE).map(drop)),
        "create-new" => done(open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL).map(drop)),
        "truncate" => done(open(OFlags::WRONLY | OFlags::TRUNC).map(drop)),
        "open-folder" => done(open(OFlags::RDONLY | OFlags::DIRECTORY).map(drop)),
        "list" => open(OFlags::RDONLY | OFlags::DIRECTORY).and_then(|folder| {
            let names = rustix::fs::Dir::read_from(folder)?
                .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
            let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
            names.sort();
            Ok(names.join(" "))
        }),
        "stat" => kind(AtFlags::empty()),
        "stat-link" => kind(AtFlags::SYMLINK_NOFOLLOW),
        "read-link" => readlinkat(folder, path, Vec::new()).map(|target| target.into_string().unwrap()),
        "make-folder" => done(mkdirat(folder, path, Mode::from_raw_mode(0o777))),
        "rename" => done(renameat(folder, path, folder, other)),
        "remove" => done(unlinkat(folder, path, AtFlags::empty())),
        "remove-folder" => done(unlinkat(folder, path, AtFlags::REMOVEDIR)),
        other => panic!("{other} has no native form"),
    };
    match outcome {
        // A folder's descriptor is none that could be read, as WASI sees it.
        Err(Errno::ISDIR) if matches!(way, "open" | "open-link") => "-bad-descriptor".to_owned(),
        Ok(text) => format!("+{text}"),
        Err(errno) => format!("-{}", name(errno)),
    }
}

fn name(errno: Errno) -> String {
    let names = [
        (Errno::NOENT, "no-entry"),
        (Errno::EXIST, "exist"),
        (Errno::NOTDIR, "not-directory"),
        (Errno::ISDIR, "is-directory"),
        (Errno::NOTEMPTY, "not-empty"),
        (Errno::LOOP, "loop"),
        (Errno::INVAL, "invalid"),
        (Errno::BUSY, "busy"),
    ];
    let known = names.into_iter().find(|(known, _)| *known == errno);
    known.map_or_else(|| format!("{errno:?}"), |(_, name)| name.to_owned())
}

/// A folder's size is the file system's business.
fn comparable(outcome: &str) -> String {
    match outcome.strip_prefix("+DescriptorType::") {
        Some(kind) if !kind.starts_with("RegularFile") => {
            format!("+DescriptorType::{}", kind.split(' ').next().unwrap())
        }
        _ => outcome.to_owned(),
    }
}

#[test]
fn with_everything_allowed_the_guard_changes_nothing() {
    let bytes = fs::read(checkout("guest-tools/dist/probe.wasm")).unwrap();
    let probe = Component::new(&ENGINE, &bytes).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rng = Rng::new(std::env::var("WITBOX_SEED").map_or(7, |seed| seed.parse().unwrap()));
    for round in 0..40 {
        let (guarded, plain) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        tree(guarded.path());
        tree(plain.path());
        let folder = File::open(plain.path()).unwrap();
        let mut grant = Grant::default().mount(Mount::read_write(guarded.path(), "/m".parse().unwrap()));
        // Without rules, and with one that allows all: the guard takes other ways.
        if round % 2 == 0 {
            let all = vec!["/m/**".parse().unwrap()];
            grant = grant.fs(FsRule::allow(&[Operation::Read, Operation::Write], all));
        }
        let mut host = Host::builder(&ENGINE);
        host.toolset("probe", &probe, grant).unwrap();
        let host = host.build();
        let mut story = Vec::new();
        for _ in 0..60 {
            let (way, path, other) = (*rng.pick(&WAYS), *rng.pick(&PATHS), *rng.pick(&PATHS));
            // Moved up, this link would lead out of the folder, which only the guard keeps from happening.
            if way == "rename" && (path == "d/up" || other == "d/up") {
                continue;
            }
            let arguments = json!({"way": way, "path": format!("/m/{path}"), "other": format!("/m/{other}")});
            let reply = runtime.block_on(host.call(Call::new("1", "probe_touch", arguments.to_string())));
            let value: Value = serde_json::from_str(reply.structured.as_ref().unwrap().get()).unwrap();
            let got = match (value["allowed"].as_str(), value["refused"].as_str()) {
                (Some(text), _) => format!("+{text}"),
                (_, text) => format!("-{}", text.unwrap()),
            };
            let expected = native(&folder, way, path, other);
            story.push(format!("{way} {path} {other}: {expected}"));
            assert_eq!(comparable(&got), expected, "{}\n{:?}", story.join("\n"), reply.denials);
        }
        assert_eq!(snapshot(guarded.path()), snapshot(plain.path()), "{}", story.join("\n"));
    }
}
