//! The toolset of files: pages that are the file, and searches that find what others find.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::ENGINE;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use witbox::{Call, Component, Grant, Host, Limits, Mount, Reply, ResultLimits, Status, Workspace};

/// A host with a folder at `/m`, whose tools return so many bytes at once.
struct Files {
    host: Host,
    runtime: Runtime,
    root: TempDir,
    _work: TempDir,
}

impl Files {
    fn new(page: usize) -> Self {
        let root = tempfile::tempdir().unwrap();
        let files = Files::of(root.path(), page);
        Files { root, ..files }
    }

    fn of(folder: &Path, page: usize) -> Self {
        let work = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(&work.path().join("work")).unwrap();
        let mut host = Host::builder(&ENGINE);
        // A token is four bytes.
        let limits = ResultLimits { evict_above: page / 4, pointer: 250 };
        host.results(workspace.session("a").unwrap(), limits).unwrap();
        let limits = Limits { fuel: 100_000_000_000, ..Limits::default() };
        let grant = Grant::default().mount(Mount::read_write(folder, "/m".parse().unwrap())).limits(limits);
        host.toolset("files", &Component::builtin(&ENGINE, "files").unwrap(), grant).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Files { host: host.build(), runtime, root: tempfile::tempdir().unwrap(), _work: work }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.root.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.root.path().join(name)).unwrap()).unwrap()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Reply {
        let call = Call::new("1", format!("files_{tool}"), arguments.to_string());
        let reply = self.runtime.block_on(self.host.call(call));
        assert!(reply.evicted.is_empty(), "{reply:?}");
        reply
    }

    fn value(&self, tool: &str, arguments: &Value) -> Value {
        let reply = self.call(tool, arguments);
        assert_eq!(reply.status, Status::Ok, "{}", reply.text());
        serde_json::from_str(reply.structured.unwrap().get()).unwrap()
    }

    fn refusal(&self, tool: &str, arguments: &Value) -> String {
        let reply = self.call(tool, arguments);
        assert_eq!(reply.status, Status::ToolError, "{}", reply.text());
        reply.text()
    }

    /// What the first line of a page says, and the page.
    fn page(&self, arguments: &Value) -> (String, String) {
        let text = self.call("read", arguments).text();
        let (header, page) = text.split_once('\n').unwrap();
        (header.to_owned(), page.to_owned())
    }
}

/// The arguments for what a page's header says comes next.
fn next(header: &str) -> Option<(&'static str, u64)> {
    let number = |words: &str| header.split_once(words)?.1.trim_end_matches(']').parse().ok();
    number("next offset ")
        .map(|offset| ("offset", offset))
        .or_else(|| number("next from_byte ").map(|from| ("from_byte", from)))
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ -~]{0,60}".prop_map(String::from),
        2 => "[é漢🦀\u{301}]{0,300}".prop_map(String::from),
        1 => (700usize..2_000).prop_map(|length| "x".repeat(length)),
        4 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\u{feff}".to_owned()),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

#[test]
fn pages_put_together_are_the_file() {
    let files = Files::new(1_000);
    let check = |text: &str, first: (&str, u64), limit: u64| {
        let (mut whole, mut at) = (String::new(), Some(first));
        for _ in 0..5_000 {
            let Some((key, value)) = at else { break };
            let limit = if key == "offset" { limit } else { 10_000 };
            let (header, page) = files.page(&json!({"path": "/m/text", key: value, "limit": limit}));
            assert!(header.len() + page.len() <= 1_000, "{} {header}", page.len());
            whole.push_str(&page);
            at = next(&header);
        }
        assert_eq!(whole, text, "from {first:?}");
    };
    // Of so many bytes each, or of one character that has more.
    let check_bytes = |text: &str, limit: u64| {
        let (mut whole, mut at) = (String::new(), Some(0));
        for _ in 0..200 {
            let Some(from) = at else { break };
            let (header, page) = files.page(&json!({"path": "/m/text", "from_byte": from, "limit": limit}));
            assert!(page.len() as u64 <= limit.max(4), "{header}");
            whole.push_str(&page);
            at = next(&header).map(|(_, from)| from);
        }
        assert!(text.starts_with(&whole) && (at.is_some() || whole == text), "{limit}");
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 32, ..ProptestConfig::default() });
    runner
        .run(&(texts(), 1u64..50), |(text, limit)| {
            files.write("text", &text);
            check(&text, ("offset", 1), limit);
            check(&text, ("from_byte", 0), limit);
            check_bytes(&text, limit);
            // By lines alone, where each fits.
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            if let Some(total) = files.value("info", &json!({"path": "/m/text"}))["lines"].as_u64() {
                assert_eq!(total, lines.len() as u64);
            }
            for (line, number) in lines.iter().zip(1..).filter(|(line, _)| line.len() < 700) {
                let (header, page) = files.page(&json!({"path": "/m/text", "offset": number, "limit": 1}));
                assert_eq!(page, *line, "{header}");
                assert!(header.starts_with(&format!("[lines {number}-{number} of {}", lines.len())), "{header}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn reading_says_what_it_does_not_show() {
    let files = Files::new(20_000);
    files.write("empty", "");
    files.write("three", "one\ntwo\nthree");
    files.write("latin", b"caf\xe9\nna\xefve\n");
    files.write("binary", b"PNG\0\x01\x02");
    files.write("crlf", "\u{feff}one\r\ntwo\r\n");
    files.write("long", "x".repeat(100_000) + "\nend");
    let reads = |arguments: Value| {
        let text = files.call("read", &arguments).text();
        text.lines().next().unwrap().to_owned()
    };
    for (arguments, expected) in [
        (json!({"path": "/m/empty"}), "[empty file]"),
        (json!({"path": "/m/empty", "from_byte": 0}), "[no bytes of 0]"),
        (json!({"path": "/m/three"}), "[lines 1-3 of 3]"),
        (json!({"path": "/m/three", "offset": 2, "limit": 1}), "[lines 2-2 of 3; next offset 3]"),
        (json!({"path": "/m/three", "limit": 0}), "[no lines asked for, of 3]"),
        (json!({"path": "/m/three", "offset": 0}), "offset: lines are counted from 1"),
        (json!({"path": "/m/three", "offset": 4}), "offset: line 4 is behind the end, the file has 3"),
        (json!({"path": "/m/empty", "offset": 2}), "offset: line 2 is behind the end, the file has 0"),
        (
            json!({"path": "/m/three", "offset": u64::MAX}),
            "offset: line 18446744073709551615 is behind the end, the file has 3",
        ),
        (json!({"path": "/m/three", "from_byte": 13}), "from_byte: 13 is behind the end, the file has 13 bytes"),
        (json!({"path": "/m/three", "from_byte": 8}), "[bytes 8-12 of 13]"),
        (json!({"path": "/m/three", "from_byte": 0, "limit": 4}), "[bytes 0-3 of 13; next from_byte 4]"),
        (json!({"path": "/m/three", "from_byte": 0, "offset": 1}), "from_byte: a line is given by offset already"),
        (json!({"path": "/m/latin"}), "[lines 1-2 of 2, 2 bytes that are no UTF-8 as \\xNN]"),
        (
            json!({"path": "/m/binary"}),
            "/m/binary: it is binary, 6 bytes with a NUL among them; from_byte reads it all the same",
        ),
        (json!({"path": "/m/binary", "from_byte": 0}), "[bytes 0-5 of 6]"),
        (json!({"path": "/m/crlf"}), "[lines 1-2 of 2]"),
        (json!({"path": "/m/long"}), "[line 1 of 2, its first 19797 bytes; next from_byte 19797]"),
        (json!({"path": "/m/long", "offset": 2}), "[lines 2-2 of 2]"),
        (json!({"path": "/m"}), "/m: it is a folder"),
        (json!({"path": "/m/nothing"}), "/m/nothing: there is no such file or folder"),
        (
            json!({"path": "/m/../etc/passwd"}),
            "/m/../etc/passwd: it leads out of what is mounted, or cannot be changed there",
        ),
    ] {
        assert_eq!(reads(arguments.clone()), expected, "{arguments}");
    }
    assert_eq!(files.page(&json!({"path": "/m/latin"})).1, "caf\\xe9\nna\\xefve\n");
    assert_eq!(files.page(&json!({"path": "/m/crlf"})).1, "\u{feff}one\r\ntwo\r\n");
    // What takes four bytes for one fits, too.
    files.write("wild", vec![0xff; 100_000]);
    files.write("wild-lines", b"\xff\xff\xff\n".repeat(50_000));
    for arguments in [
        json!({"path": "/m/wild", "from_byte": 0}),
        json!({"path": "/m/wild"}),
        json!({"path": "/m/wild-lines", "limit": 50_000}),
    ] {
        let (header, page) = files.page(&arguments);
        assert!(header.len() + page.len() <= 20_000 && next(&header).is_some(), "{} {header}", page.len());
    }
    files.write("a..b", "dots");
    assert_eq!(files.page(&json!({"path": "/m/a..b"})).1, "dots");
}

/// Lines that are longer than what is searched at once.
#[test]
fn what_lies_across_the_pieces_of_a_line_is_found_once() {
    let files = Files::new(20_000);
    let piece = 4 << 20;
    let counts = |text: &str, regex: bool| -> u64 {
        let arguments = json!({"path": "/m/long", "text": text, "regex": regex, "show": "counts"});
        files.value("grep", &arguments)["counts"].as_array().unwrap().iter().map(|c| c["count"].as_u64().unwrap()).sum()
    };
    for across in [0, 1, 3, 5] {
        let before = "x".repeat(piece - across);
        files.write("long", format!("first\n{}needle{}needle{}\nneedle\nlast", &before[6..], before, before));
        assert_eq!(counts("needle", false), 2, "{across}");
        let found = files.value("grep", &json!({"path": "/m/long", "text": "needle", "context": 1}));
        let found = found["found"].as_array().unwrap();
        let places: Vec<(u64, u64)> = found
            .iter()
            .map(|found| (found["line"].as_u64().unwrap(), found["from_byte"].as_u64().unwrap_or_default()))
            .collect();
        let from = places[0].1;
        assert_eq!((places.len(), places[0].0, places[1]), (2, 2, (3, 0)), "{across}");
        assert_eq!(found[1]["after"], json!(["last"]));
        let (_, text) = files.page(&json!({"path": "/m/long", "from_byte": from, "limit": 600}));
        assert!(text.contains("needle"), "{across}: {from}");
        assert_eq!((counts("^x", true), counts("x$", true), counts("^last$", true), counts("e$", true)), (1, 1, 1, 1));
        assert_eq!((counts("x+", true), counts("^needle", true), counts("zzz", false)), (1, 1, 0));
    }
    files.write("long", format!("{}needle", "x".repeat(3 * piece)));
    assert_eq!((counts("needle$", true), counts("^x+needle$", true)), (1, 0), "a match may be 64 KiB long");
}

/// A file of more than two gigabytes, with nothing but its end in it.
#[test]
fn the_end_of_a_huge_file_is_reached() {
    use std::io::{Seek as _, SeekFrom, Write as _};

    let files = Files::new(20_000);
    let hole = (2u64 << 30) + 12_345;
    let mut file = fs::File::create(files.root.path().join("huge")).unwrap();
    file.seek(SeekFrom::Start(hole)).unwrap();
    file.write_all("\nthe end\n".as_bytes()).unwrap();
    let (header, page) = files.page(&json!({"path": "/m/huge", "from_byte": hole + 1}));
    let (first, last) = (hole + 1, hole + 8);
    assert_eq!((header.as_str(), page.as_str()), (&*format!("[bytes {first}-{last} of {}]", last + 1), "the end\n"));
    let refused = files.call("read", &json!({"path": "/m/huge"})).text();
    assert!(refused.contains("it is binary"), "{refused}");
    assert_eq!(files.value("ls", &json!({"path": "/m"}))["entries"][0]["size"], hole + 9);
    let refused = files.refusal("edit", &json!({"path": "/m/huge", "old": "the end", "new": "x"}));
    assert!(refused.starts_with("/m/huge: "), "{refused}");
}

#[test]
fn edits_are_exact_or_say_what_is_near() {
    let files = Files::new(20_000);
    let text = "fn main() {\n    let one = 1;\n    let two = 2;\n}\n";
    for (old, new, all, expected) in [
        ("one = 1", "one = 11", false, Ok((1, 2))),
        ("    let ", "    let mut ", true, Ok((2, 2))),
        ("\n}", "\n    done();\n}", false, Ok((1, 3))),
        (text, "", false, Ok((1, 1))),
        (
            "let",
            "const",
            false,
            Err("old: it is 2 times in /m/a.rs, on lines 2, 3; give more of the text around the place, or all"),
        ),
        ("", "x", false, Err("old: an empty text is everywhere; give the text around the place")),
        ("let", "let", true, Err("new: it is the same as old")),
        (
            "  let one = 1;\n  let two = 2;",
            "x",
            false,
            Err(
                "old: it is nowhere in /m/a.rs; it differs in white space alone from lines 2-3:\n    let one = 1;\n    let two = 2;",
            ),
        ),
        (
            "let ones = 1;",
            "x",
            false,
            Err("old: it is nowhere in /m/a.rs; the nearest is lines 2-2:\n    let one = 1;"),
        ),
        (
            "something else",
            "x",
            false,
            Err("old: it is nowhere in /m/a.rs; nothing is near it; read the file and copy the text from there"),
        ),
    ] {
        files.write("a.rs", text);
        let arguments = json!({"path": "/m/a.rs", "old": old, "new": new, "all": all});
        match expected {
            Ok((replaced, line)) => {
                assert_eq!(files.value("edit", &arguments), json!({"replaced": replaced, "line": line}));
                let count = if all { usize::MAX } else { 1 };
                assert_eq!(files.read("a.rs"), text.replacen(old, new, count), "{old}");
            }
            Err(refusal) => {
                assert_eq!(files.refusal("edit", &arguments), refusal);
                assert_eq!(files.read("a.rs"), text);
            }
        }
    }
    files.write("crlf", "one\r\ntwo\r\n");
    let refusal = files.refusal("edit", &json!({"path": "/m/crlf", "old": "one\ntwo", "new": "x"}));
    assert!(refusal.ends_with("its lines end in \\r\\n, and those of old in \\n"), "{refusal}");
    files.write("latin", b"caf\xe9 one\n");
    files.value("edit", &json!({"path": "/m/latin", "old": "one", "new": "two"}));
    assert_eq!(fs::read(files.root.path().join("latin")).unwrap(), b"caf\xe9 two\n");
}

#[test]
fn files_are_made_moved_and_deleted() {
    let files = Files::new(20_000);
    let write = |path: &str, content: &str, append: bool| {
        files.value("write", &json!({"path": path, "content": content, "append": append}))
    };
    assert_eq!(write("/m/d/e/a", "one\n", false), json!(4));
    assert_eq!(write("/m/d/e/a", "two\n", true), json!(8));
    assert_eq!(files.read("d/e/a"), "one\ntwo\n");
    assert_eq!(write("/m/b", "b", true), json!(1));
    let info = files.value("info", &json!({"path": "/m/d/e/a"}));
    assert_eq!((&info["kind"], &info["size"], &info["lines"]), (&json!("file"), &json!(8), &json!(2)));
    assert!(info["modified"].as_u64().unwrap() > 1_600_000_000);
    let moved = |path: &str, to: &str, replace: bool| json!({"path": path, "to": to, "replace": replace});
    assert_eq!(
        files.refusal("move", &moved("/m/b", "/m/d/e/a", false)),
        "/m/d/e/a: it is there already; replace lets it go"
    );
    assert!(files.refusal("move", &moved("/m/b", "/m/d/e", true)).contains("only a file takes the place of a file"));
    assert_eq!(files.call("move", &moved("/m/b", "/m/d/e/a", true)).status, Status::Ok);
    assert_eq!(files.read("d/e/a"), "b");
    assert_eq!(files.call("move", &moved("/m/d/e", "/m/x/y", false)).status, Status::Ok);
    assert_eq!(files.read("x/y/a"), "b");
    let delete = |path: &str, recursive: bool| json!({"path": path, "recursive": recursive});
    assert_eq!(
        files.refusal("delete", &delete("/m/x", false)),
        "/m/x: the folder is not empty; recursive deletes all that is in it"
    );
    assert_eq!(
        files.refusal("move", &moved("/m/x/y/a", "/results/a", false)),
        "/results/a: it leads out of what is mounted, or cannot be changed there"
    );
    assert_eq!(files.value("delete", &delete("/m/x", true)), json!(3));
    assert_eq!(files.value("delete", &delete("/m/d", false)), json!(1));
    assert!(files.refusal("delete", &delete("/m/d", false)).contains("there is no such file"));
    std::os::unix::fs::symlink("/etc/passwd", files.root.path().join("link")).unwrap();
    assert_eq!(files.value("delete", &delete("/m/link", true)), json!(1));
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn what_is_found_is_paged_too() {
    let files = Files::new(3_000);
    fs::create_dir(files.root.path().join("many")).unwrap();
    let names: Vec<String> = (0..300).map(|n| format!("file-{n:03}.txt")).collect();
    for name in &names {
        files.write(&format!("many/{name}"), "needle\n");
    }
    let all = |tool: &str, arguments: Value, items: &str| {
        let (mut found, mut offset) = (Vec::new(), json!(0));
        while !offset.is_null() {
            let mut arguments = arguments.clone();
            arguments["offset"] = offset;
            let part = files.value(tool, &arguments);
            assert!(part.to_string().len() <= 3_000, "{}", part.to_string().len());
            assert_eq!(part["total"], 300);
            found.extend(part[items].as_array().unwrap().clone());
            offset = part["next"].clone();
        }
        found
    };
    let listed = all("ls", json!({"path": "/m/many"}), "entries");
    let listed: Vec<&str> = listed.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(listed, names);
    let globbed = all("glob", json!({"pattern": "**/file-*.txt", "path": "/m"}), "paths");
    let globbed: Vec<String> = globbed.iter().map(|path| path.as_str().unwrap().to_owned()).collect();
    assert_eq!(globbed, names.iter().map(|name| format!("/m/many/{name}")).collect::<Vec<_>>());
    let found = files.value("grep", &json!({"path": "/m", "text": "needle", "limit": 1_000}));
    assert!(found.to_string().len() <= 3_000 && found["more"] == true, "{found}");
    assert!(files.refusal("ls", &json!({"path": "/m/many", "offset": 301})).contains("the folder has 300 entries"));
    for (pattern, count) in [
        ("*.txt", 0),
        ("many/*.txt", 300),
        ("**/file-00?.txt", 10),
        ("**/file-{001,002}.txt", 2),
        ("/m/many/file-1*", 100),
    ] {
        assert_eq!(files.value("glob", &json!({"pattern": pattern, "path": "/m"}))["total"], count, "{pattern}");
    }
    assert!(files.refusal("glob", &json!({"pattern": "[", "path": "/m"})).starts_with("pattern: "));
}

#[test]
fn searches_show_what_is_around_and_where_to_read_on() {
    let files = Files::new(20_000);
    files.write("a.txt", "one\ntwo needle\r\nthree\nfour Needle\nfive\n");
    files.write(
        "long.json",
        format!("{{\"x\":\"{}\",\"needle\":\"é{}\"}}\nlast needle", "y".repeat(50_000), "z".repeat(50_000)),
    );
    files.write("binary", b"needle\0");
    let found = |arguments: Value| files.value("grep", &arguments);
    let lines = |found: &Value| -> Vec<(u64, String)> {
        let found = found["found"].as_array().unwrap();
        found
            .iter()
            .map(|found| (found["line"].as_u64().unwrap(), found["text"].as_str().unwrap().to_owned()))
            .collect()
    };
    let plain = found(json!({"path": "/m/a.txt", "text": "needle", "context": 1}));
    assert_eq!(lines(&plain), [(2, "two needle".to_owned())]);
    assert_eq!((&plain["found"][0]["before"], &plain["found"][0]["after"]), (&json!(["one"]), &json!(["three"])));
    let cased = found(json!({"path": "/m/a.txt", "text": "NEEDLE", "ignore_case": true}));
    assert_eq!(lines(&cased).len(), 2);
    let regex = found(json!({"path": "/m/a.txt", "text": "^f.*e$", "regex": true}));
    assert_eq!(lines(&regex), [(4, "four Needle".to_owned()), (5, "five".to_owned())]);
    // A line is a line: no pattern matches over its end.
    assert_eq!(lines(&found(json!({"path": "/m/a.txt", "text": "two\\s+needle\\s+three", "regex": true}))), []);
    assert_eq!(lines(&found(json!({"path": "/m/a.txt", "text": "ne\\s", "regex": true}))), []);
    assert!(
        files
            .refusal("grep", &json!({"path": "/m", "text": "(", "regex": true}))
            .starts_with("text: regex parse error")
    );
    assert_eq!(files.refusal("grep", &json!({"path": "/m", "text": ""})), "text: an empty text is in every line");
    let long = found(json!({"path": "/m/long.json", "text": "needle"}));
    let first = &long["found"][0];
    let (text, from) = (first["text"].as_str().unwrap(), &first["from_byte"]);
    assert!(text.len() <= 503 && text.contains("\"needle\":\"é"), "{text}");
    let (_, page) = files.page(&json!({"path": "/m/long.json", "from_byte": from}));
    assert!(page.starts_with(text));
    assert_eq!((&long["found"][1]["line"], &long["found"][1]["text"]), (&json!(2), &json!("last needle")));
    let counts = found(json!({"path": "/m", "text": "needle", "show": "counts"}));
    assert_eq!(counts["counts"], json!([{"path": "/m/a.txt", "count": 1}, {"path": "/m/long.json", "count": 2}]));
    assert_eq!((&counts["skipped"], &counts["found"]), (&json!(1), &json!([])));
    assert_eq!(found(json!({"path": "/m", "text": "needle", "limit": 1}))["more"], true);
    assert_eq!(lines(&found(json!({"path": "/m", "text": "needle", "glob": "*.txt"}))).len(), 1);
    fs::create_dir_all(files.root.path().join("sub/target")).unwrap();
    files.write(".gitignore", "target/\n*.json\n!sub/keep.json\n");
    files.write("sub/keep.json", "needle");
    files.write("sub/target/x", "needle");
    files.write("sub/.gitignore", "own\n");
    files.write("sub/own", "needle");
    let paths = |gitignore: bool| -> Vec<String> {
        let found = found(json!({"path": "/m", "text": "needle", "show": "counts", "gitignore": gitignore}));
        let counts = found["counts"].as_array().unwrap();
        counts.iter().map(|count| count["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(true), ["/m/a.txt", "/m/sub/keep.json"]);
    assert_eq!(paths(false), ["/m/a.txt", "/m/long.json", "/m/sub/keep.json", "/m/sub/own", "/m/sub/target/x"]);
}

/// The sources of some crates, as cargo keeps them.
fn sources() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"), PathBuf::from);
    let registries = fs::read_dir(home.join("registry/src")).unwrap();
    let crates = registries.flat_map(|registry| fs::read_dir(registry.unwrap().path()).unwrap());
    let wanted = ["regex-automata-", "wit-parser-", "toml-"];
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        wanted
            .iter()
            .any(|wanted| name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
    };
    let crates: Vec<PathBuf> = crates.map(|entry| entry.unwrap().path()).filter(is_wanted).collect();
    assert!(crates.len() >= wanted.len(), "{crates:?}");
    crates
}

fn output(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn searches_find_what_grep_and_find_do() {
    for folder in sources() {
        let files = Files::of(&folder, 20_000);
        for (text, flag, arguments) in [
            ("fn new(", "-F", json!({})),
            ("ERROR", "-Fi", json!({"ignore_case": true})),
            ("^pub (fn|struct) [A-Za-z]+", "-E", json!({"regex": true})),
            ("[0-9]{3,}$", "-E", json!({"regex": true})),
        ] {
            let mut arguments = arguments;
            arguments["path"] = json!("/m");
            arguments["text"] = json!(text);
            arguments["show"] = json!("counts");
            arguments["limit"] = json!(1_000);
            let found = files.value("grep", &arguments);
            let ours: Vec<String> = found["counts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|counted| format!("{}:{}", &counted["path"].as_str().unwrap()[3..], counted["count"]))
                .collect();
            let mut grep = Command::new("grep");
            let told = output(grep.current_dir(&folder).args(["-rcI", flag, "-e", text, "."]).env("LC_ALL", "C"));
            let mut theirs: Vec<String> = told
                .lines()
                .filter(|line| !line.ends_with(":0"))
                .map(|line| line.trim_start_matches("./").to_owned())
                .collect();
            theirs.sort();
            let mut sorted = ours.clone();
            sorted.sort();
            assert_eq!(sorted, theirs, "{text} in {}", folder.display());
            // The lines themselves, of the first file that has some.
            let Some(first) = ours.first().map(|first| first.split(':').next().unwrap().to_owned()) else { continue };
            arguments["path"] = json!(format!("/m/{first}"));
            arguments["show"] = json!("lines");
            let found = files.value("grep", &arguments);
            let ours: Vec<String> = found["found"]
                .as_array()
                .unwrap()
                .iter()
                .map(|found| format!("{}:{}", found["line"], found["text"].as_str().unwrap()))
                .collect();
            let told = output(Command::new("grep").current_dir(&folder).args(["-n", flag, "-e", text, &first]));
            let theirs: Vec<&str> = told.lines().take(ours.len()).collect();
            assert_eq!(ours, theirs, "{text} in {first}");
        }
        let found = files.value("glob", &json!({"pattern": "**/*.rs", "path": "/m", "limit": 100_000}));
        let told = output(Command::new("find").current_dir(&folder).args([".", "-name", "*.rs"]));
        assert_eq!(found["total"], told.lines().count());
        for path in found["paths"].as_array().unwrap().iter().take(20) {
            let about = files.value("info", &json!({"path": path}));
            let file = folder.join(&path.as_str().unwrap()[3..]);
            let told = output(Command::new("wc").args(["-lc"]).arg(&file));
            let counts: Vec<u64> = told.split_whitespace().take(2).map(|count| count.parse().unwrap()).collect();
            assert_eq!(
                (about["lines"].as_u64().unwrap(), about["size"].as_u64().unwrap()),
                (counts[0], counts[1]),
                "{path}"
            );
        }
    }
}
