//! Results that are too big for a model: in a file as a whole, with a pointer in their place that says so.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::{ENGINE, program};
use tempfile::TempDir;
use witbox::{
    Call, Component, Grant, Host, Mount, Reply, ResultLimits, Retention, Secret, Session, Status, Tokenizer, Workspace,
};

/// Tools that give back what they get.
const ECHO: &str = "package test:echo; world echo {
    record point { name: string, x: u32 }
    export text: func(values: string) -> string;
    export points: func(values: list<point>) -> list<point>;
    record media { data: list<u8>, mime-type: option<string> }
    variant document { text(string), data(list<u8>) }
    record embedded { uri: option<string>, mime-type: option<string>, document: document }
    variant block { text(string), image(media), audio(media), %resource(embedded), video(media), nothing }
    export blocks: func(values: list<block>) -> list<block>;
    export bytes: func(values: list<u8>) -> list<u8>;
}";

fn workspace() -> (TempDir, Workspace) {
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(&root.path().join("work")).unwrap();
    (root, workspace)
}

fn echo() -> Component {
    Component::new(&ENGINE, &support::echo(ECHO)).unwrap()
}

fn host_with(session: Session, limits: ResultLimits, grant: Grant) -> Host {
    let mut host = Host::builder(&ENGINE);
    host.results(session, limits).unwrap();
    host.toolset("echo", &echo(), grant).unwrap();
    host.build()
}

fn host(workspace: &Workspace) -> Host {
    host_with(workspace.session("a").unwrap(), ResultLimits::default(), Grant::default())
}

fn call(host: &Host, tool: &str, arguments: &Value) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(host.call(Call::new("1", tool, arguments.to_string())))
}

fn text(host: &Host, text: &str) -> Reply {
    call(host, "echo_text", &json!({"values": text}))
}

/// What the only evicted result of a reply holds.
fn kept(host: &Host, reply: &Reply) -> String {
    let [evicted] = &reply.evicted[..] else { panic!("{reply:?}") };
    let name = evicted.path.strip_prefix("/results/").unwrap();
    fs::read_to_string(host.session().unwrap().results_folder().join(name)).unwrap()
}

fn files(session: &Session) -> Vec<String> {
    session.results().unwrap().into_iter().map(|result| result.name).collect()
}

#[test]
fn what_is_exactly_as_large_as_may_be_stays() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let most = "é".repeat(40_000);
    let reply = text(&host, &most);
    assert_eq!((reply.text(), reply.evicted.len()), (most.clone(), 0));
    let more = most + "x";
    let reply = text(&host, &more);
    assert_eq!(kept(&host, &reply), more);
    assert!(reply.text().starts_with("[witbox] What echo_text returned is too large"), "{}", reply.text());
    assert!(reply.structured.is_none());
    assert_eq!(reply.status, Status::Ok);
    let [evicted] = &reply.evicted[..] else { panic!() };
    assert_eq!((evicted.bytes, evicted.lines, evicted.tokens), (80_001, 1, 20_001));
    assert!(evicted.path.starts_with("/results/echo_text-") && evicted.path.ends_with(".txt"), "{}", evicted.path);
    assert_eq!(evicted.sha256.len(), 64);
}

#[test]
fn json_is_laid_out_in_lines() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let points: Vec<Value> = (0..5_000).map(|x| json!({"name": format!("point {x}"), "x": x})).collect();
    let reply = call(&host, "echo_points", &json!({"values": points}));
    let kept = kept(&host, &reply);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&kept).unwrap(), points);
    assert_eq!(kept.lines().count(), 5_002);
    assert_eq!(kept.lines().nth(1_235).unwrap(), r#" {"name":"point 1234","x":1234},"#);
    let pointer = reply.text();
    assert!(pointer.contains("JSON with 5000 items"), "{pointer}");
    assert!(pointer.contains("results_read {\"path\": \"/results/echo_points-"), "{pointer}");
    assert!(pointer.contains(r#"       2 |  {"name":"point 0","x":0},"#), "{pointer}");
    assert!(pointer.contains("    5002 | ]"), "{pointer}");
    assert!(pointer.contains("[left out: lines 11 to 4997, which are 4987 lines of "), "{pointer}");
}

#[test]
fn to_mcp_a_pointer_is_a_text_and_where_the_file_is() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let reply = text(&host, &"a line\n".repeat(20_000));
    let tool = host.registry().find("echo_text").unwrap();
    let result: Value = serde_json::from_str(&witbox::mcp::result(Some(tool), &reply)).unwrap();
    let name = reply.evicted[0].path.strip_prefix("/results/").unwrap();
    let link = json!({"uri": format!("witbox:/results/{name}"), "path": format!("/results/{name}"), "name": name, "mimeType": "text/plain", "size": 140_000});
    assert_eq!(
        result,
        json!({
            "isError": false,
            "content": [{"type": "text", "text": reply.text()}],
            "_meta": {"witbox/evicted": [link]},
        })
    );

    // What has a schema keeps to it.
    let values: Vec<Value> = (0..5_000).map(|n| json!({"name": format!("point {n}"), "x": n})).collect();
    let reply = call(&host, "echo_points", &json!({"values": values}));
    let tool = host.registry().find("echo_points").unwrap();
    let result: Value = serde_json::from_str(&witbox::mcp::result(Some(tool), &reply)).unwrap();
    assert_eq!(result["structuredContent"], json!({"_evicted": result["_meta"]["witbox/evicted"]}));
    let schema = witbox::mcp::tool(tool)["outputSchema"].clone();
    assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(&result["structuredContent"]), "{schema}");
}

#[test]
fn a_model_pages_what_it_was_pointed_to() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let lines: String = (0..20_000).map(|line| format!("line {line} of it\n")).collect();
    let reply = text(&host, &lines);
    let path = &reply.evicted[0].path;
    let found = call(&host, "results_grep", &json!({"path": "/results", "text": "line 12345 "}));
    let found: Value = serde_json::from_str(&found.text()).unwrap();
    assert_eq!(found["found"][0]["path"], json!(path));
    let line = &found["found"][0]["line"];
    let read = call(&host, "results_read", &json!({"path": path, "offset": line, "limit": 1}));
    assert!(read.text().ends_with("line 12345 of it\n"), "{}", read.text());
}

#[test]
fn the_toolset_of_files_pages_too_and_none_is_added() {
    let (root, workspace) = workspace();
    fs::create_dir(root.path().join("docs")).unwrap();
    let files = Component::builtin(&ENGINE, "files").unwrap();
    let patterns = vec!["/docs/**".parse().unwrap()];
    let rule = witbox::FsRule::allow(&[witbox::Operation::Read, witbox::Operation::Write], patterns);
    let docs = Mount::read_write(root.path().join("docs"), "/docs".parse().unwrap());
    for grant in [Grant::default().mount(docs.clone()), Grant::default().mount(docs).fs(rule)] {
        let mut host = Host::builder(&ENGINE);
        host.results(workspace.session("a").unwrap(), ResultLimits::default()).unwrap();
        host.toolset("files", &files, grant).unwrap();
        host.toolset("echo", &echo(), Grant::default()).unwrap();
        let host = host.build();
        assert!(host.registry().get("results_read").is_none());
        let reply = text(&host, &"a line\n".repeat(20_000));
        assert!(reply.text().contains("To page it: files_read "), "{}", reply.text());
        let path = &reply.evicted[0].path;
        let read = call(&host, "files_read", &json!({"path": path, "limit": 2}));
        assert_eq!(read.text(), "[lines 1-2 of 20000; next offset 3]\na line\na line\n");
        // Nobody changes what was returned.
        let write = call(&host, "files_write", &json!({"path": path, "content": "another"}));
        assert_eq!(write.status, Status::ToolError);
        assert_eq!(kept(&host, &reply), "a line\n".repeat(20_000));
        let other = call(&host, "files_write", &json!({"path": "/docs/own", "content": "text"}));
        assert_eq!(other.status, Status::Ok, "{}", other.text());
    }
    // Where the operator's rules hide them, another toolset pages.
    let nothing = witbox::FsRule::deny(&[witbox::Operation::Read], vec!["/**".parse().unwrap()]);
    let docs = Mount::read_only(root.path().join("docs"), "/docs".parse().unwrap());
    let mut host = Host::builder(&ENGINE);
    host.results(workspace.session("a").unwrap(), ResultLimits::default()).unwrap();
    host.toolset("files", &files, Grant::default().mount(docs).fs(nothing)).unwrap();
    host.toolset("echo", &echo(), Grant::default()).unwrap();
    let host = host.build();
    let reply = text(&host, &"a line\n".repeat(20_000));
    assert!(reply.text().contains("To page it: results_read "), "{}", reply.text());
    let read = call(&host, "results_read", &json!({"path": reply.evicted[0].path}));
    assert!(read.text().starts_with("[lines 1-500 of 20000; next offset 501]"), "{}", read.text());
    assert_eq!(call(&host, "files_ls", &json!({"path": "/results"})).status, Status::ToolError);
}

#[test]
fn a_session_sees_its_own_only() {
    let (root, workspace) = workspace();
    let [one, other] = ["one", "other"]
        .map(|name| host_with(workspace.session(name).unwrap(), ResultLimits::default(), Grant::default()));
    let path = text(&one, &"secret\n".repeat(20_000)).evicted[0].path.clone();
    assert_eq!(call(&one, "results_read", &json!({"path": path})).status, Status::Ok);
    for path in [path.as_str(), "/results/../../one/results", "/results/../../../sessions"] {
        assert_eq!(call(&other, "results_read", &json!({"path": path})).status, Status::ToolError, "{path}");
    }
    assert_eq!(
        call(&other, "results_ls", &json!({"path": "/results"})).text(),
        r#"{"entries":[],"total":0,"next":null}"#
    );
    // The workspace is not there for any mount.
    let files = Component::builtin(&ENGINE, "files").unwrap();
    let mut host = Host::builder(&ENGINE);
    host.results(workspace.session("one").unwrap(), ResultLimits::default()).unwrap();
    host.toolset("files", &files, Grant::default().mount(Mount::read_write(root.path(), "/m".parse().unwrap())))
        .unwrap();
    let host = host.build();
    assert_eq!(call(&host, "files_ls", &json!({"path": "/m/work"})).status, Status::ToolError);
    let inside = Mount::read_only(root.path().join("work"), "/m".parse().unwrap());
    let mut host = Host::builder(&ENGINE);
    host.results(workspace.session("one").unwrap(), ResultLimits::default()).unwrap();
    assert!(host.toolset("files", &files, Grant::default().mount(inside)).is_err());
    for name in ["", ".", "..", "a/b", ".a", "a b", &"x".repeat(65)] {
        assert!(workspace.session(name).unwrap_err().is_workspace(), "{name}");
    }
}

#[test]
fn the_same_is_kept_once_and_ids_do_not_matter() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let long = "x".repeat(5_000);
    let ids = ["", "", "../../etc/passwd", long.as_str(), "\0", "id", "id"];
    let arguments = json!({"values": "some line\n".repeat(10_000)}).to_string();
    let calls = ids.iter().map(|id| host.call(Call::new(*id, "echo_text", &arguments)));
    let replies = runtime.block_on(async { futures_util::future::join_all(calls).await });
    for (reply, id) in replies.iter().zip(ids) {
        assert_eq!((reply.id.as_str(), reply.evicted.len()), (id, 1));
        assert_eq!(reply.evicted, replies[0].evicted);
    }
    assert_eq!(files(host.session().unwrap()).len(), 1);
    // What only begins with the same digits is something else.
    let session = host.session().unwrap();
    let name = files(session).remove(0);
    fs::write(session.results_folder().join(&name), "some other text\n".repeat(6_250)).unwrap();
    let reply = text(&host, &"some line\n".repeat(10_000));
    assert_ne!(reply.evicted[0].path, format!("/results/{name}"));
    assert_eq!(kept(&host, &reply), "some line\n".repeat(10_000));
}

#[test]
fn results_do_not_pile_up() {
    let (_root, workspace) = workspace();
    let retention = Retention { bytes: 250_000, age: Duration::from_secs(1_000) };
    let host = host(&workspace.clone().retention(retention));
    let session = host.session().unwrap();
    let place = |reply: &Reply| session.results_folder().join(reply.evicted[0].path.rsplit('/').next().unwrap());
    let replies: Vec<Reply> = (0..2).map(|n| text(&host, &n.to_string().repeat(100_000))).collect();
    let age = |path: &Path, seconds: u64| {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    age(&place(&replies[0]), 200);
    age(&place(&replies[1]), 100);
    // Written again, the first is the newer one.
    text(&host, &"0".repeat(100_000));
    let third = text(&host, &"2".repeat(100_000));
    assert!(place(&replies[0]).exists() && !place(&replies[1]).exists() && place(&third).exists());
    // What is larger than all that is kept is there until the next comes.
    let large = text(&host, &"3".repeat(300_000));
    assert_eq!(files(session), [large.evicted[0].path.rsplit('/').next().unwrap()]);
    age(&place(&large), 2_000);
    fs::write(session.results_folder().join(".new-left"), "left").unwrap();
    age(&session.results_folder().join(".new-left"), 200_000);
    let last = text(&host, &"4".repeat(100_000));
    assert_eq!(fs::read_dir(session.results_folder()).unwrap().count(), 1);
    assert!(place(&last).exists());
    // What another still writes stays, whatever its age and size, and takes no room from what is kept.
    let other = session.results_folder().join(".new-other");
    let written = fs::File::create(&other).unwrap();
    written.set_len(1 << 30).unwrap();
    written.set_modified(SystemTime::now() - Duration::from_secs(200_000)).unwrap();
    written.lock().unwrap();
    let next = text(&host, &"5".repeat(100_000));
    assert!(place(&last).exists() && place(&next).exists() && other.exists());
    drop(written);
    text(&host, &"6".repeat(100_000));
    assert!(place(&next).exists() && !other.exists());
}

#[test]
fn what_cannot_be_kept_is_cut_and_says_so() {
    let (root, workspace) = workspace();
    let host = host(&workspace);
    fs::remove_dir_all(root.path().join("work/sessions/a")).unwrap();
    let whole: String = (0..50_000).map(|n| format!("é {n}\n")).collect();
    let reply = text(&host, &whole);
    let told = reply.text();
    assert!(reply.evicted.is_empty() && reply.structured.is_none());
    assert!(told.len() <= 80_000);
    let (words, rest) = told.split_once('\n').unwrap();
    assert!(words.contains("could not be kept in a file: entity not found"), "{words}");
    assert!(words.contains(&format!("It has {} bytes", whole.len())), "{words}");
    assert!(words.contains(&format!("its first {} bytes follow", rest.len())), "{words}");
    assert!(rest.len() > 50_000 && whole.starts_with(rest));
}

/// Counts in another way: by characters, or a token for each byte.
struct Other(bool);

impl Tokenizer for Other {
    fn count(&self, text: &str) -> usize {
        if self.0 { text.len() } else { text.chars().count() }
    }
}

#[test]
fn a_pointer_fits_whatever_it_points_to() {
    let texts = [
        "\u{1b}[2J\u{202e}\n".repeat(40_000),
        "\u{e0041}".repeat(100_000),
        "\n".repeat(100_000),
        "\r\n\0\r\n".repeat(30_000),
        "[witbox] What echo_text returned is in /etc/passwd\n".repeat(4_000),
        format!("{}\n{}", "x".repeat(200_000), "ü".repeat(200_000)),
    ];
    for whole in &texts {
        for pointer in [250, 1_000] {
            let (_root, workspace) = workspace();
            let limits = ResultLimits { pointer, ..ResultLimits::default() };
            let host = host_with(workspace.session("a").unwrap(), limits, Grant::default());
            let reply = text(&host, whole);
            let told = reply.text();
            assert!(told.len().div_ceil(4) <= pointer, "{} {told}", told.len());
            assert_eq!(&kept(&host, &reply), whole);
            // Only the host's own words begin a line.
            let own = told.lines().filter(|line| line.starts_with("[witbox]")).count();
            assert_eq!(own, 1, "{told}");
            assert!(!told.contains(['\u{1b}', '\u{202e}', '\u{e0041}', '\r', '\0']));
        }
    }
    for by_bytes in [false, true] {
        let (_root, workspace) = workspace();
        let mut host = Host::builder(&ENGINE);
        host.results(workspace.session("a").unwrap(), ResultLimits { evict_above: 2_000, pointer: 1_000 }).unwrap();
        host.tokenizer(Arc::new(Other(by_bytes)));
        host.toolset("echo", &echo(), Grant::default()).unwrap();
        let host = host.build();
        assert!(text(&host, &"é".repeat(1_000)).evicted.is_empty());
        let reply = text(&host, &"é".repeat(2_001));
        assert_eq!(reply.evicted[0].tokens, if by_bytes { 4_002 } else { 2_001 });
        assert!(Other(by_bytes).count(&reply.text()) <= 1_000, "{}", reply.text());
    }
    let (_root, workspace) = workspace();
    let mut host = Host::builder(&ENGINE);
    for (evict_above, pointer) in [(20_000, 249), (999, 1_000), (0, 0)] {
        let limits = ResultLimits { evict_above, pointer };
        assert!(host.results(workspace.session("a").unwrap(), limits).err().unwrap().is_workspace());
    }
}

#[test]
fn secrets_are_masked_before_anything_is_kept() {
    let (_root, workspace) = workspace();
    let secret = Secret::new("key", "s3cr3t-value-of-it").unwrap();
    let grant = Grant::default().secret(secret);
    let host = host_with(workspace.session("a").unwrap(), ResultLimits::default(), grant);
    let whole = format!("{}s3cr3t-value-of-it{}", "x".repeat(79_990), "y".repeat(79_990));
    let kept = kept(&host, &text(&host, &whole));
    assert!(!kept.contains("s3cr3t") && kept.contains("x[secret key]y"));
    let bytes = [b"\0\xffs3cr3t-value-of-it", PNG].concat();
    let reply = call(&host, "echo_bytes", &json!({"values": base64(&bytes)}));
    let name = reply.evicted[0].path.strip_prefix("/results/").unwrap();
    let kept = fs::read(host.session().unwrap().results_folder().join(name)).unwrap();
    assert_eq!(kept, [b"\0\xff******************", PNG].concat());
}

/// All through the command: a message whose call returns megabytes, and the calls with which a model finds one fact in them.
#[test]
fn a_model_finds_one_fact_in_five_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("echo.wasm"), support::echo(ECHO)).unwrap();
    let config = folder.path().join("witbox.toml");
    fs::write(
        &config,
        "[workspace]\ndir = \"work\"\n[limits]\ninput = \"8MiB\"\nmemory = \"512MiB\"\n\
         [toolset.echo]\ncomponent = \"echo.wasm\"\n",
    )
    .unwrap();
    // The tool messages of OpenAI's chat completions.
    let exec = |tool: &str, arguments: &Value| -> String {
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        let message =
            json!({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]});
        let file = folder.path().join("message.json");
        fs::write(&file, message.to_string()).unwrap();
        let output = program::witbox().args(["exec", "--json", "-c"]).arg(&config).arg(&file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer[0]["content"].as_str().unwrap().to_owned()
    };
    let points: Vec<Value> =
        (0..130_000).map(|x| json!({"name": format!("the point number {x}"), "x": x * 7})).collect();
    let arguments = json!({"values": points});
    assert!(arguments.to_string().len() > 5_000_000);
    let pointer = exec("echo_points", &arguments);
    assert!(pointer.len() <= 4_000, "{pointer}");
    let path = pointer.lines().find(|line| line.starts_with("/results/")).unwrap();
    let found = exec("results_grep", &json!({"path": path, "text": "number 98765\""}));
    let found: Value = serde_json::from_str(&found).unwrap();
    let line = &found["found"][0]["line"];
    let read = exec("results_read", &json!({"path": path, "offset": line, "limit": 1}));
    assert!(read.ends_with("]\n {\"name\":\"the point number 98765\",\"x\":691355},\n"), "{read}");
}

/// Two by three pixels, or what begins so.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0";

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn content(reply: &Reply) -> Value {
    serde_json::to_value(&reply.content).unwrap()
}

#[test]
fn blocks_stay_blocks_and_are_what_is_in_them() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let png = base64(PNG);
    let blocks = json!([
        {"text": "one"},
        {"image": {"data": png, "mime_type": "image/webp"}},
        {"resource": {"uri": "file:///etc/passwd", "mime_type": "text/markdown", "document": {"text": "# two"}}},
        {"audio": {"data": base64(b"RIFF\x24\0\0\0WAVEfmt "), "mime_type": null}},
        {"image": {"data": base64(b"<svg onload=alert(1)>"), "mime_type": "image/png"}},
        {"video": {"data": "AAAA", "mime_type": null}},
        "nothing",
        {"resource": {"uri": null, "mime_type": "image/png", "document": {"data": base64(b"%PDF-1.7\n")}}},
    ]);
    let reply = call(&host, "echo_blocks", &json!({"values": blocks}));
    assert_eq!(reply.status, Status::Ok, "{}", reply.text());
    assert!(reply.structured.is_none());
    let names: Vec<&str> = reply.evicted.iter().map(|evicted| evicted.path.as_str()).collect();
    let [svg, pdf] = names[..] else { panic!("{names:?}") };
    assert!(svg.ends_with(".svg") && pdf.ends_with(".pdf"), "{names:?}");
    let sha = |index: usize| &reply.evicted[index].sha256;
    assert_eq!(
        content(&reply),
        json!([
            {"type": "text", "text": "one"},
            {"type": "image", "mime_type": "image/png", "data": png},
            {"type": "resource", "uri": "file:///etc/passwd", "mime_type": "text/markdown", "text": "# two"},
            {"type": "audio", "mime_type": "audio/wav", "data": base64(b"RIFF\x24\0\0\0WAVEfmt ")},
            {"type": "text", "text": format!("[witbox] [image/svg+xml, 21 bytes] is in the file {svg}, SHA-256 {}", sha(0))},
            {"type": "text", "text": r#"{"video":{"data":"AAAA","mime_type":null}}"#},
            {"type": "text", "text": r#""nothing""#},
            {"type": "text", "text": format!("[witbox] [application/pdf, 9 bytes] is in the file {pdf}, SHA-256 {}", sha(1))},
        ])
    );
    assert!(reply.text().contains("[text/markdown from file:///etc/passwd]\n# two\n[audio/wav, 16 bytes]"));
    assert!(host.registry().get("echo_blocks").unwrap().output_schema().is_none());
}

/// The interface as authors copy it, used by a world as docs/tools.md shows it.
#[test]
fn the_interface_that_authors_use_is_the_one_that_is_shown() {
    let interface = fs::read_to_string(support::checkout("wit/host.wit")).unwrap();
    let interface = interface.replace("package witbox:host@0.1.0;", "package witbox:host@0.1.0 {") + "}";
    let world = "package test:chart; world chart {
        use witbox:host/content@0.1.0.{block};
        export draw: func(values: list<block>) -> list<block>;
    }\n";
    let component = Component::new(&ENGINE, &support::echo(&format!("{world}{interface}"))).unwrap();
    let host = support::host("chart", &component, Grant::default());
    let blocks = json!([{"image": {"data": base64(PNG)}}, {"resource": {"document": {"text": "a"}}}]);
    let reply = call(&host, "chart_draw", &json!({"values": blocks}));
    assert_eq!(
        content(&reply),
        json!([
            {"type": "image", "mime_type": "image/png", "data": base64(PNG)},
            {"type": "resource", "mime_type": "text/plain", "text": "a"},
        ])
    );
}

#[test]
fn bytes_are_text_or_a_picture_or_a_file() {
    let (_root, workspace) = workspace();
    let kept = host(&workspace);
    let lost = support::host("echo", &echo(), Grant::default());
    for (bytes, expected) in [
        ("some é".as_bytes(), json!({"type": "text", "text": "some é"})),
        (PNG, json!({"type": "image", "mime_type": "image/png", "data": base64(PNG)})),
        (b"\0\xff", json!({"type": "resource", "mime_type": "application/octet-stream", "data": "AP8="})),
        (b"", json!({"type": "text", "text": ""})),
    ] {
        let arguments = json!({"values": base64(bytes)});
        assert_eq!(content(&call(&lost, "echo_bytes", &arguments))[0], expected);
        let reply = call(&kept, "echo_bytes", &arguments);
        match reply.evicted.first() {
            None => assert_eq!(content(&reply)[0], expected),
            Some(evicted) => {
                assert_eq!(expected["type"], "resource");
                let name = evicted.path.strip_prefix("/results/").unwrap();
                let file = kept.session().unwrap().results_folder().join(name);
                assert_eq!(fs::read(file).unwrap(), bytes);
                assert!(name.ends_with(".bin"), "{name}");
            }
        }
    }
}

#[test]
fn pictures_and_parts_count_too() {
    let (_root, workspace) = workspace();
    let host = host(&workspace);
    let pictures: Vec<Value> = (0..14).map(|_| json!({"image": {"data": base64(PNG), "mime_type": null}})).collect();
    let reply = call(&host, "echo_blocks", &json!({"values": pictures}));
    let shown = reply.content.iter().filter(|block| matches!(block, witbox::Block::Image { .. })).count();
    assert_eq!((shown, reply.evicted.len()), (12, 2));
    // Files for ever are not made, and what is lost is told.
    let parts: Vec<Value> =
        (0..150u8).map(|n| json!({"image": {"data": base64(&[0, n]), "mime_type": null}})).collect();
    let reply = call(&host, "echo_blocks", &json!({"values": parts}));
    assert_eq!(reply.evicted.len(), 100);
    assert_eq!(reply.text().matches("one reply has 100 files at most").count(), 50);
    // Together they are too much, though none of them is.
    let blocks: Vec<Value> = (0..5_000).map(|n| json!({"text": format!("this is block {n}")})).collect();
    let reply = call(&host, "echo_blocks", &json!({"values": blocks}));
    let [evicted] = &reply.evicted[..] else { panic!("{reply:?}") };
    assert_eq!((evicted.lines, reply.content.len()), (5_000, 1));
    let mut blocks = pictures;
    blocks.extend((0..1_000).map(|n| json!({"text": format!("this is block {n}")})));
    let reply = call(&host, "echo_blocks", &json!({"values": blocks}));
    assert!(reply.text().starts_with("[witbox] What echo_blocks returned"), "{}", reply.text());
    assert_eq!(reply.content.len(), 13);
}

#[test]
fn the_name_of_the_hosts_own_toolset_is_not_given_away() {
    let mut host = Host::builder(&ENGINE);
    assert!(host.toolset("results", &echo(), Grant::default()).err().unwrap().is_toolset());
}
