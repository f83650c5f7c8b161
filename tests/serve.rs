//! `witbox serve` over standard input and output, as a client sees it.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use support::mcp::{Client, PATIENCE, Place, text};

fn terminate(client: &Client) {
    kill(Pid::from_raw(client.process.id().cast_signed()), Signal::SIGTERM).unwrap();
}

#[test]
fn every_revision_is_spoken() {
    let place = Place::new("");
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = place.stranger(&[]);
        assert_eq!(client.greet(revision), revision);
        assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
        assert!(client.end().0.success());
    }
    let mut client = place.stranger(&[]);
    assert_eq!(client.greet("1999-01-01"), "2025-11-25", "what is unknown is answered with what is known");

    // Without a handshake, each request says what it is.
    let mut client = place.stranger(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({"_meta": meta}));
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let listed = client.request("tools/list", json!({"_meta": meta}));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let arguments = json!({"name": "Ada"});
    let called = client.request("tools/call", json!({"name": "work_hello", "arguments": arguments, "_meta": meta}));
    assert_eq!(text(&called), "Hello, Ada!");
    // It asked for no log, and hears none.
    let counted = client
        .request("tools/call", json!({"name": "work_count", "arguments": {"to": 3, "pause_ms": 1}, "_meta": meta}));
    assert_eq!(counted["result"]["structuredContent"]["result"], 3, "{counted}");
    assert_eq!(client.told(), [] as [Value; 0]);
    let mut wants_log = meta.clone();
    wants_log["io.modelcontextprotocol/logLevel"] = json!("info");
    client.request(
        "tools/call",
        json!({"name": "work_count", "arguments": {"to": 3, "pause_ms": 1}, "_meta": wants_log}),
    );
    assert_eq!(client.told().len(), 3);
}

#[test]
fn tools_are_listed_and_called() {
    let place = Place::new(
        "[toolset.triage]\ncomponent = \"builtin:triage\"\n\
         [toolset.files]\ncomponent = \"builtin:files\"\n[toolset.files.limits]\ninput = 2000\n",
    );
    let mut client = place.client(&[]);
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["work_hello", "work_flood", "work_count", "work_echo"]);
    let [hello, count] = [0, 2].map(|at: usize| &tools[at]);
    assert_eq!(hello["inputSchema"]["required"], json!(["name"]));
    assert_eq!(hello["outputSchema"], Value::Null, "a text is all in the content");
    assert_eq!(count["outputSchema"]["properties"]["result"]["type"], "integer");
    let ls = tools.iter().find(|tool| tool["name"] == "files_ls").unwrap();
    assert_eq!(ls["title"], "List a folder");
    assert_eq!(ls["annotations"]["readOnlyHint"], true);
    assert_eq!(ls["outputSchema"]["properties"].get("_evicted"), None, "it pages");
    let classify = tools.iter().find(|tool| tool["name"] == "triage_classify").unwrap();
    assert_eq!(classify["outputSchema"]["properties"]["_evicted"]["type"], "array");
    assert_eq!(classify["outputSchema"].get("required"), None);
    assert_eq!(count["outputSchema"]["required"], json!(["result"]), "a number is never too big");

    let good = client.call("work_count", json!({"to": 2, "pause_ms": 0}));
    assert_eq!(good["result"]["structuredContent"], json!({"result": 2}));
    assert_eq!((text(&good), &good["result"]["isError"]), ("2", &json!(false)));
    let bad = client.call("work_hello", json!({"name": ""}));
    assert_eq!((text(&bad), &bad["result"]["isError"]), ("name is empty: nobody is greeted without one", &json!(true)));
    let misfit = client.call("work_hello", json!({"nam": "Ada"}));
    assert_eq!(misfit["result"]["isError"], true);
    assert!(text(&misfit).contains("did you mean \"name\"?"), "{misfit}");
    let long = client.call("files_ls", json!({"path": "x".repeat(3000)}));
    assert!(text(&long).contains("at most 2000 are read"), "{long}");
    let unknown = client.call("work_hullo", json!({}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("did you mean `work_hello`?"), "{unknown}");
    // Keys that come twice, and numbers as they were written, which a tree of JSON would lose.
    client.say(b"{\"jsonrpc\":\"2.0\",\"id\":\"twice\",\"method\":\"tools/call\",\"params\":{\"name\":\"work_hello\",\"arguments\":{\"name\":\"A\",\"name\":\"B\"}}}\n");
    let twice = client.next(PATIENCE).unwrap();
    assert_eq!(twice["id"], "twice");
    assert!(text(&twice).contains("twice"), "{twice}");
    let (status, told) = client.end();
    assert!(status.success());
    assert!(told.contains("witbox: work_hullo ") && told.contains("unknown-tool"), "{told}");
}

#[test]
fn what_is_too_big_is_a_resource_of_its_own_session() {
    let place = Place::new("");
    let mut client = place.client(&["--session", "ada"]);
    let flood = client.call("work_flood", json!({"lines": 100_000}));
    let content = flood["result"]["content"].as_array().unwrap();
    assert!(text(&flood).contains("results_read"), "{flood}");
    assert!(text(&flood).len() < 4_000 && content.len() == 1, "{flood}");
    let link = &flood["result"]["_meta"]["witbox/evicted"][0];
    assert_eq!(link["mimeType"], "text/plain");
    let uri = link["uri"].as_str().unwrap();
    assert!(uri.starts_with("witbox:/results/work_flood-"), "{uri}");

    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], uri);
    assert_eq!(listed["result"]["resources"][0]["size"], link["size"]);
    let whole = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(whole["error"]["code"], -32602, "it has more than is read at once: {whole}");
    let range = client.request("resources/read", json!({"uri": format!("{uri}?offset=20&limit=20")}));
    assert_eq!(range["result"]["contents"][0]["text"], "line 2 of the flood\n");
    let templates = client.request("resources/templates/list", json!({}));
    assert!(templates["result"]["resourceTemplates"][0]["uriTemplate"].as_str().unwrap().contains("offset"));
    for nothing in [
        "witbox:/results/none.txt",
        "witbox:/results/../../../witbox.toml",
        "witbox:/results/%2e%2e",
        "file:///etc/passwd",
        "",
    ] {
        let answer = client.request("resources/read", json!({"uri": nothing}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], nothing);
    }
    for mistake in ["?offset=-1", "?limit=many", "?lines=3"] {
        let answer = client.request("resources/read", json!({"uri": format!("{uri}{mistake}")}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let mut linking = place.client(&["--links"]);
    let linked = linking.call("work_flood", json!({"lines": 100_000}));
    assert_eq!(
        (&linked["result"]["content"][1]["type"], &linked["result"]["content"][1]["uri"]),
        (&json!("resource_link"), &json!(uri))
    );
    let mut other = place.client(&["--session", "bob"]);
    assert_eq!(other.request("resources/list", json!({}))["result"]["resources"], json!([]));
    assert_eq!(other.request("resources/read", json!({"uri": uri}))["error"]["code"], -32002);
}

#[test]
fn progress_comes_in_order_not_too_often_and_never_after_the_answer() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let count = |client: &mut Client, to: u32, pause: u32, meta: Value| {
        client.request(
            "tools/call",
            json!({"name": "work_count", "arguments": {"to": to, "pause_ms": pause}, "_meta": meta}),
        );
        client.told()
    };
    let told = count(&mut client, 20, 20, json!({"progressToken": "p"}));
    let (progress, logs): (Vec<_>, Vec<_>) =
        told.iter().partition(|message| message["method"] == "notifications/progress");
    let done: Vec<f64> = progress.iter().map(|message| message["params"]["progress"].as_f64().unwrap()).collect();
    assert!(done.is_sorted() && done.len() > 3 && done.last() == Some(&20.0), "{done:?}");
    assert!(
        progress.iter().all(|message| message["params"]["progressToken"] == "p" && message["params"]["total"] == 20.0)
    );
    assert_eq!(logs.len(), 20);
    assert_eq!((&logs[0]["params"]["level"], &logs[0]["params"]["logger"]), (&json!("info"), &json!("work_count")));
    assert_eq!(logs[0]["params"]["data"], "step 1");

    client.request("logging/setLevel", json!({"level": "error"}));
    let told = count(&mut client, 5_000, 0, json!({"progressToken": 7}));
    assert!(!told.is_empty() && told.len() < 200, "{}", told.len());
    assert_eq!(told.last().unwrap()["params"]["progress"], 5_000.0, "the last is told, however fast it came");
    assert_eq!(count(&mut client, 10, 5, json!({})), [] as [Value; 0], "nobody asked");
    client.request("logging/setLevel", json!({"level": "debug"}));
    let told = count(&mut client, 5_000, 0, json!({}));
    assert!(told.len() < 1_200, "{}: what comes too fast is left out", told.len());
    assert!(told.iter().any(|message| message["params"]["data"].as_str().unwrap().contains("left out")), "{told:?}");
    assert_eq!(client.next(Duration::from_millis(200)), None);
}

#[test]
fn a_cancelled_call_stops_and_frees_its_place() {
    let place = Place::new("[host]\ncalls = 1\n");
    let mut client = place.client(&[]);
    text(&client.call("work_hello", json!({"name": "Ada"})));
    for pause in [60_000, 1, 0] {
        let id =
            client.ask("tools/call", json!({"name": "work_count", "arguments": {"to": u32::MAX, "pause_ms": pause}}));
        std::thread::sleep(Duration::from_millis(300));
        client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
        let started = Instant::now();
        assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
        // The place is free only when the call is gone. The machine may be busy, and a minute's sleep is far from that.
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        assert!(client.told().iter().all(|message| message["id"] != id));
    }
    client.notify("notifications/cancelled", json!({"requestId": 999}));
    client.notify("notifications/cancelled", json!({"requestId": "none"}));
    text(&client.call("work_hello", json!({"name": "Ada"})));
    assert!(client.end().0.success());
}

#[test]
fn whoever_leaves_has_the_answers_that_were_asked_for() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let id = client.ask("tools/call", json!({"name": "work_count", "arguments": {"to": 10, "pause_ms": 50}}));
    client.close();
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["result"], 10, "{answer}");
    assert!(client.end().0.success());

    let mut client = place.client(&[]);
    let id = client.ask("tools/call", json!({"name": "work_count", "arguments": {"to": 10, "pause_ms": 50}}));
    std::thread::sleep(Duration::from_millis(100));
    terminate(&client);
    assert_eq!(client.answer(id)["result"]["structuredContent"]["result"], 10);
    assert!(client.end().0.success());

    // One that would not end is given up, and still answered.
    let mut client = place.client(&[]);
    let id = client.ask("tools/call", json!({"name": "work_count", "arguments": {"to": u32::MAX, "pause_ms": 1}}));
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    terminate(&client);
    let answer = client.answer(id);
    assert!(text(&answer).contains("the server stops"), "{answer}");
    assert!(client.end().0.success());
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());

    // Whoever never began.
    let mut stranger = place.stranger(&[]);
    stranger.say(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    assert!(stranger.end().0.success());
}

#[test]
fn what_is_no_message_is_answered_and_others_go_on() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}{}}}\n",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let deep_arguments = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"work_hello\",\"arguments\":{}{}}}}}\n",
        "{\"name\":".repeat(100_000),
        "1".to_owned() + &"}".repeat(100_000)
    );
    let cases: [(&[u8], i64); 8] = [
        (b"nonsense\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3\n", -32700),
        (b"\xff\xfe{}\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"work_echo\",\"arguments\":{\"text\":\"\xff\"}}}\n", -32700),
        (deep.as_bytes(), -32700),
        (b"[]\n", -32600),
        (b"42\n", -32600),
        (b"{\"id\":5}\n", -32600),
    ];
    for (message, code) in cases {
        client.say(message);
        let answer = client.next(PATIENCE).unwrap();
        assert_eq!(
            answer["error"]["code"],
            code,
            "{}: {answer}",
            String::from_utf8_lossy(&message[..message.len().min(80)])
        );
        assert_ne!(answer.get("id"), Some(&Value::Null), "an id that is none is left out");
    }
    client.say(deep_arguments.as_bytes());
    assert_eq!(text(&client.next(PATIENCE).unwrap()), "/name: expected a string, got an object");
    client.say(b"\n  \r\n");
    assert_eq!(client.request("no/such/method", json!({}))["error"]["code"], -32601);
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 5})),
        ("logging/setLevel", json!({"level": "loud"})),
        ("resources/read", json!({"uri": 5})),
    ] {
        assert_eq!(client.request(method, params)["error"]["code"], -32602, "{method}");
    }
    assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
    assert!(client.end().0.success());
}

#[test]
fn a_hundred_megabytes_are_passed_over() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let before = client.resident();
    for (start, end, id) in [
        (
            "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{\"name\":\"work_echo\",\"arguments\":{\"text\":\"",
            "\"}}}\n",
            json!(77),
        ),
        (
            "{\"method\":\"tools/call\",\"params\":{\"name\":\"work_echo\",\"arguments\":{\"text\":\"",
            "\"}},\"jsonrpc\":\"2.0\",\"id\":\"last\"}\n",
            json!("last"),
        ),
        (
            "{\"method\":\"tools/call\",\"params\":{\"name\":\"work_echo\",\"arguments\":{\"text\":\"",
            "\",\"id\":5}}}\n",
            Value::Null,
        ),
    ] {
        client.say(start.as_bytes());
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            client.say(&piece);
        }
        client.say(end.as_bytes());
        let answer = client.next(PATIENCE).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &id), "{answer}");
        assert!(client.resident() < before + (24 << 20), "{} KiB more", (client.resident() - before) >> 10);
    }
    assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
}

#[test]
fn an_id_is_of_one_open_request() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let call = json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": {"name": "work_count", "arguments": {"to": 5, "pause_ms": 50}}});
    client.request("logging/setLevel", json!({"level": "error"}));
    client.send(&call);
    client.send(&call);
    let mut answers = [client.next(PATIENCE).unwrap(), client.next(PATIENCE).unwrap()];
    answers.sort_by_key(|answer| answer.get("error").is_none());
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!("same"), &json!(-32600)));
    assert_eq!(answers[1]["result"]["structuredContent"]["result"], 5, "{answers:?}");
    // It is free again once it is answered.
    client.send(&call);
    assert_eq!(client.next(PATIENCE).unwrap()["result"]["structuredContent"]["result"], 5);
}

#[test]
fn ten_thousand_calls_at_once_are_all_answered() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let before = client.resident();
    let mut input = client.process_input();
    let sending = std::thread::spawn(move || {
        for id in 10_000..20_000 {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "work_echo", "arguments": {"text": id.to_string()}}});
            std::io::Write::write_all(&mut input, format!("{call}\n").as_bytes()).unwrap();
        }
        input
    });
    let mut answered = HashSet::new();
    while answered.len() < 10_000 {
        let answer = client.next(PATIENCE).unwrap();
        let id = answer["id"].as_u64().unwrap();
        assert_eq!(text(&answer), id.to_string());
        assert!(answered.insert(id), "{id} twice");
    }
    drop(sending.join().unwrap());
    assert!(client.resident() < before + (64 << 20), "{} KiB more", (client.resident() - before) >> 10);
    assert!(client.end().0.success());
}

#[test]
fn a_client_that_does_not_read_is_waited_for() {
    let place = Place::new("");
    let mut process = place.witbox(&["serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    let content = "x".repeat(60_000);
    let sending = std::thread::spawn(move || {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let mut say =
            |message: &Value| std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).unwrap();
        say(&hello);
        for id in 1..=4_000 {
            say(
                &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "work_echo", "arguments": {"text": content}}}),
            );
        }
    });
    // Until it is full.
    let status = format!("/proc/{}/status", process.id());
    let resident = || {
        let text = std::fs::read_to_string(&status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    };
    let mut last = 0;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(200));
        let now = resident();
        if now > 20 && now == last {
            break;
        }
        last = now;
    }
    assert!(!sending.is_finished(), "it read all that it cannot answer");
    assert!(resident() < 200, "{} MiB", resident());
    let answers = std::io::BufRead::lines(std::io::BufReader::new(output))
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let ids: HashSet<u64> = answers.filter_map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(ids.len(), 4_001);
    sending.join().unwrap();
    assert!(process.wait().unwrap().success());
}

#[test]
fn cancelled_calls_leave_room_for_others() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    text(&client.call("work_hello", json!({"name": "Ada"})));
    // More than may be open at once, each cancelled before it ends.
    for _ in 0..1_200 {
        let id = client.ask("tools/call", json!({"name": "work_count", "arguments": {"to": 10_000, "pause_ms": 50}}));
        client.notify("notifications/cancelled", json!({"requestId": id}));
    }
    assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
    assert!(client.end().0.success());
}

#[test]
fn nobody_has_to_read_standard_error() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    // Nobody reads it until the end.
    for _ in 0..400 {
        client.call(&"x".repeat(20_000), json!({}));
    }
    assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
    let started = Instant::now();
    terminate(&client);
    assert!(client.process.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[test]
fn a_client_that_does_not_read_keeps_no_server_from_ending() {
    let place = Place::new("");
    for (signal, is_nonsense) in [(true, false), (false, false), (true, true)] {
        let mut server = place.witbox(&["serve"]);
        let mut process = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut input, _output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let mut say = |text: String| std::io::Write::write_all(&mut input, text.as_bytes()).unwrap();
        say(format!("{hello}\n"));
        // Their errors are more than the pipe holds.
        if is_nonsense {
            say("nonsense\n".repeat(50_000));
        }
        for id in 1..=if is_nonsense { 0 } else { 200 } {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "work_echo", "arguments": {"text": "x".repeat(20_000)}}});
            say(format!("{call}\n"));
        }
        std::thread::sleep(Duration::from_secs(1));
        let started = Instant::now();
        if signal {
            kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGTERM).unwrap();
        } else {
            drop(input);
        }
        assert!(process.wait().unwrap().success());
        assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
    }
}

#[test]
fn what_a_client_repeats_or_adds_takes_no_memory() {
    let place = Place::new("");
    let mut client = place.stranger(&[]);
    // What comes before a conversation is of none.
    client.notify("notifications/initialized", json!({}));
    client.send(&json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    client.greet("2025-11-25");
    text(&client.call("work_hello", json!({"name": "Ada"})));
    let before = client.resident();
    for _ in 0..20_000 {
        client.notify("notifications/initialized", json!({}));
    }
    let meta = json!({"x": vec![0; 500_000]});
    let large =
        client.request("tools/call", json!({"name": "work_hello", "arguments": {"name": "Ada"}, "_meta": meta}));
    assert!(large["error"]["message"].as_str().unwrap().contains("at most 65536 are read"), "{large}");
    let large = client.request("tools/list", json!({"cursor": "x".repeat(2_000_000)}));
    assert_eq!(large["error"]["code"], -32600, "{large}");
    assert!(client.resident() < before + (16 << 20), "{} KiB more", (client.resident() - before) >> 10);
    for (uri, code) in [("witbox:/results/", -32002), ("witbox:/results", -32002)] {
        assert_eq!(client.request("resources/read", json!({"uri": uri}))["error"]["code"], code);
    }
    let flood = client.call("work_flood", json!({"lines": 100_000}));
    let uri = flood["result"]["_meta"]["witbox/evicted"][0]["uri"].as_str().unwrap();
    let past = client.request("resources/read", json!({"uri": format!("{uri}?offset={}", u64::MAX)}));
    assert_eq!(past["result"]["contents"][0]["text"], "", "{past}");
}

#[test]
fn two_tools_stand_for_hundreds() {
    let place = Place::new(
        "[toolset.files]\ncomponent = \"builtin:files\"\n[toolset.triage]\ncomponent = \"builtin:triage\"\n",
    );
    let mut client = place.client(&["--expose", "search"]);
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["find_tools", "call_tool", "files_read", "files_grep"], "with those that page results");
    assert!(tools[0]["description"].as_str().unwrap().contains("work, files, triage"), "{}", tools[0]);
    let found = |client: &mut Client, query: &str| {
        let answer = client.call("find_tools", json!({"query": query, "limit": 3}));
        let found: Vec<Value> = serde_json::from_str(text(&answer)).unwrap_or_default();
        found.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (query, tool) in [
        ("greet somebody", "work_hello"),
        ("classify a vehicle by its trouble codes", "triage_classify"),
        ("search for a pattern in files", "files_grep"),
        ("replacing text in a file", "files_edit"),
        ("rename or move files", "files_move"),
        ("triage", "triage_classify"),
    ] {
        let found = found(&mut client, query);
        assert!(found.iter().any(|name| name == tool), "{query}: {found:?}");
        assert!(found.len() <= 3);
    }
    let nothing = client.call("find_tools", json!({"query": "xyzzy"}));
    assert!(text(&nothing).contains("there are tools of work, files, triage"), "{nothing}");
    let schema = client.call("find_tools", json!({"query": "greet", "limit": 1}));
    let schema: Value = serde_json::from_str(text(&schema)).unwrap();
    assert_eq!(schema[0]["inputSchema"]["required"], json!(["name"]));

    let call = |client: &mut Client, arguments: Value| client.call("call_tool", arguments);
    assert_eq!(text(&call(&mut client, json!({"name": "work_hello", "arguments": {"name": "Ada"}}))), "Hello, Ada!");
    assert_eq!(
        text(&call(&mut client, json!({"name": "work_hello", "arguments": "{\"name\": \"Ada\"}"}))),
        "Hello, Ada!"
    );
    assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!", "by its own name too");
    for (arguments, told) in [
        (json!({"name": "work_hullo", "arguments": {}}), "did you mean `work_hello`?"),
        (json!({"name": "call_tool", "arguments": {"name": "work_hello"}}), "no tool is named `call_tool`"),
        (json!({"name": "work_hello"}), "missing \"name\""),
        (json!({"tool": "work_hello"}), "call_tool: unknown field `tool`"),
        (json!({}), "call_tool: missing field `name`"),
    ] {
        let answer = call(&mut client, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains(told), "{answer}");
    }
    assert_eq!(client.call("find_tools", json!({}))["result"]["isError"], true);
    let flood = call(&mut client, json!({"name": "work_flood", "arguments": {"lines": 50_000}}));
    assert!(text(&flood).contains("files_read"), "{flood}");
}

#[test]
fn the_entry_for_a_client_starts_the_server() {
    let place = Place::new("");
    let config = |client: &str, more: &[&str]| {
        let arguments = [&["mcp", "config", "--client", client], more].concat();
        let output = place.witbox(&arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (String::from_utf8(output.stdout).unwrap(), told, output.status.code())
    };
    for (client, key) in [
        ("claude-desktop", "mcpServers"),
        ("claude-code", "mcpServers"),
        ("cursor", "mcpServers"),
        ("vscode", "servers"),
        ("zed", "context_servers"),
    ] {
        let (entry, told, code) = config(client, &[]);
        assert_eq!(code, Some(0), "{told}");
        assert!(told.starts_with("witbox: this goes into "), "{told}");
        let entry: Value = serde_json::from_str(&entry).unwrap();
        let entry = &entry[key]["witbox"];
        // From another folder, as clients start it from anywhere.
        let mut command = std::process::Command::new(entry["command"].as_str().unwrap());
        command
            .args(entry["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()))
            .current_dir("/");
        let mut client = Client::of(&mut command);
        client.greet("2025-11-25");
        assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
    }
    let (codex, ..) = config("codex", &["--name", "my tools", "--session", "ada"]);
    let codex: toml::Table = codex.parse().unwrap();
    let arguments = codex["mcp_servers"]["my tools"]["args"].as_array().unwrap();
    assert_eq!(arguments.last().and_then(toml::Value::as_str), Some("ada"));
    let (grant, ..) = config("cursor", &["-t", "builtin:files", "--mount", ".:/here:rw", "--fuel", "2G"]);
    let grant: Value = serde_json::from_str(&grant).unwrap();
    let mount = format!("{}:/here:rw", place.path().display());
    assert_eq!(
        grant["mcpServers"]["witbox"]["args"],
        json!(["serve", "-t", "builtin:files", "--mount", mount, "--fuel", "2G"])
    );
    let url = ["--url", "https://tools.example/mcp", "--token-env", "TOKEN"];
    let (code, ..) = config("claude-code", &url);
    let code: Value = serde_json::from_str(&code).unwrap();
    assert_eq!(
        code["mcpServers"]["witbox"],
        json!({"type": "http", "url": "https://tools.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}})
    );
    let (codex, ..) = config("codex", &url);
    assert!(codex.contains("bearer_token_env_var = \"TOKEN\""), "{codex}");
    assert_eq!(config("zed", &url).2, Some(2));
    assert_eq!(config("cursor", &["--url", "tools.example"]).2, Some(2));
}

/// What a server lists, page by page.
fn listed(client: &mut Client) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.request("resources/list", params)["result"].take();
        all.extend(page["resources"].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return all;
        }
    }
}

#[test]
fn mounts_that_are_shown_are_read_by_the_rules_of_their_toolset() {
    let place = Place::new(
        "[toolset.files]\ncomponent = \"builtin:files\"\n\
         [[toolset.files.mount]]\nhost = \"docs\"\nguest = \"/docs\"\nmode = \"rw\"\nresources = true\n\
         [[toolset.files.mount]]\nhost = \"other\"\nguest = \"/other\"\n\
         [[toolset.files.fs]]\ndeny = [\"read\", \"write\"]\npaths = [\"/docs/private/**\"]\n\
         [[toolset.files.fs]]\nask = [\"read\"]\npaths = [\"/docs/asked.txt\"]\n\
         [[toolset.files.fs]]\nallow = [\"read\", \"write\"]\npaths = [\"/docs/**\", \"/other/**\"]\n\
         [toolset.files.secret.key]\nfrom-env = \"KEY\"\norigin = \"https://api.example\"\nheader = \"x-key\"\nformat = \"{}\"\n\
         [toolset.more]\ncomponent = \"builtin:data\"\n\
         [[toolset.more.mount]]\nhost = \"more\"\nguest = \"/\"\nresources = true\n",
    );
    let config = place.path().join("witbox.toml");
    let text_of = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text_of.replace(
            "component = \"builtin:files\"\n",
            "component = \"builtin:files\"\nhttp = [\"https://api.example\"]\n",
        ),
    )
    .unwrap();
    for folder in ["docs/private", "docs/a b/ü", "other", "more/deep/er"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    let long = "grüße\n".repeat(200_000);
    for (file, content) in [
        ("docs/readme.md", "# Hello"),
        ("docs/private/plan.txt", "no"),
        ("docs/asked.txt", "no"),
        ("docs/a b/ü/x#?.txt", "a strange name"),
        ("docs/key.txt", "it is sesame-sesame-sesame."),
        ("docs/long.txt", &long),
        ("docs/empty", ""),
        ("other/unseen.txt", "no"),
        ("more/deep/er/one.csv", "a,b\n"),
        ("secret", "no"),
    ] {
        fs::write(place.path().join(file), content).unwrap();
    }
    fs::write(place.path().join("docs/picture.png"), b"\x89PNG\r\n\x1a\n\0\xff").unwrap();
    std::os::unix::fs::symlink("../secret", place.path().join("docs/out.txt")).unwrap();
    std::os::unix::fs::symlink("private/plan.txt", place.path().join("docs/in.txt")).unwrap();
    let mut client = Client::of(place.witbox(&["serve"]).env("KEY", "sesame-sesame-sesame"));
    client.greet("2025-11-25");
    client.call("work_flood", json!({"lines": 100_000}));

    let all = listed(&mut client);
    let uris: Vec<&str> = all.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert!(uris[0].starts_with("witbox:/results/work_flood-"), "{uris:?}");
    let files = [
        "witbox://files/docs/a%20b/%C3%BC/x%23%3F.txt",
        "witbox://files/docs/empty",
        "witbox://files/docs/key.txt",
        "witbox://files/docs/long.txt",
        "witbox://files/docs/picture.png",
        "witbox://files/docs/readme.md",
        "witbox://more/deep/er/one.csv",
    ];
    assert_eq!(uris[1..], files);
    assert_eq!(all[6], json!({"uri": files[5], "name": "readme.md", "mimeType": "text/markdown", "size": 7}));
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 2);

    let mut read = |uri: &str| {
        let answer = client.request("resources/read", json!({"uri": uri}));
        match answer["result"]["contents"].get(0) {
            Some(contents) => {
                assert_eq!(contents["uri"], uri);
                contents.clone()
            }
            None => answer["error"].clone(),
        }
    };
    assert_eq!(read(files[0])["text"], "a strange name");
    assert_eq!(read(files[1])["text"], "");
    assert_eq!(read(files[2])["text"], "it is [secret key].");
    assert_eq!(read(files[3])["code"], -32602, "it has more than is read at once");
    assert_eq!(read(&format!("{}?offset=3&limit=2", files[3]))["text"], "ß", "characters that begin there");
    assert_eq!(read(&format!("{}?offset=99999999&limit=2", files[3]))["text"], "");
    let picture = read(files[4]);
    assert_eq!((&picture["mimeType"], &picture["blob"]), (&json!("image/png"), &json!("iVBORw0KGgoA/w==")));
    assert_eq!(read(files[6])["text"], "a,b\n");
    for nothing in [
        "witbox://files/docs/private/plan.txt",
        "witbox://files/docs/in.txt",
        "witbox://files/docs/out.txt",
        "witbox://files/docs/asked.txt",
        "witbox://files/docs/none.txt",
        "witbox://files/docs/../other/unseen.txt",
        "witbox://files/docs/%2e%2e/%2E%2E/secret",
        "witbox://files/docs/..%2f..%2fsecret",
        "witbox://files/docs/key.txt%00",
        "witbox://files/docs/%ff",
        "witbox://files/docs",
        "witbox://files/",
        "witbox://files",
        "witbox://",
        "witbox://files/other/unseen.txt",
        "witbox://files/results",
        "witbox://work/docs/readme.md",
        "witbox://more/docs/readme.md",
        "witbox://FILES/docs/readme.md",
    ] {
        assert_eq!(read(nothing)["code"], -32002, "{nothing}");
    }
    let (status, told) = client.end();
    assert!(status.success());
    assert!(told.contains("files_read_resource resource: denied: read /docs/private/plan.txt"), "{told}");
    assert!(!told.contains("sesame"), "{told}");
}

#[test]
fn a_long_list_of_resources_comes_in_pages() {
    let place = Place::new(
        "[toolset.files]\ncomponent = \"builtin:files\"\n[[toolset.files.mount]]\nhost = \"docs\"\nguest = \"/docs\"\nresources = true\n",
    );
    let folders = ["docs", "docs/m", "docs/m/n"];
    for folder in folders {
        fs::create_dir(place.path().join(folder)).unwrap();
        (0..300).for_each(|n| fs::write(place.path().join(folder).join(format!("{n:03}.txt")), "x").unwrap());
    }
    let mut client = place.client(&[]);
    let all = listed(&mut client);
    let unique: HashSet<&str> = all.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert_eq!((all.len(), unique.len()), (900, 900));
    let page = client.request("resources/list", json!({}));
    // What is gone meanwhile moves nothing.
    let last = page["result"]["resources"][249]["name"].as_str().unwrap();
    fs::remove_file(place.path().join("docs").join(last)).unwrap();
    let next = client.request("resources/list", json!({"cursor": page["result"]["nextCursor"]}));
    assert_eq!(next["result"]["resources"][0]["name"], "250.txt");
    for cursor in ["", "nonsense", "mount:files", "mount:none:", "result", "mount:files:../.."] {
        let answer = client.request("resources/list", json!({"cursor": cursor}));
        assert!(answer["error"]["code"] == -32602 || answer["result"]["resources"] == json!([]), "{cursor}: {answer}");
    }
}

#[test]
fn what_witbox_keeps_is_shown_to_nobody() {
    let place = Place::new(
        "[toolset.files]\ncomponent = \"builtin:files\"\nhttp = [\"https://api.example\"]\n\
         [[toolset.files.mount]]\nhost = \".\"\nguest = \"/place\"\nresources = true\n\
         [toolset.files.secret.key]\nfrom-file = \"secret\"\norigin = \"https://api.example\"\nheader = \"x-key\"\nformat = \"{}\"\n",
    );
    fs::write(place.path().join("secret"), "sesame-sesame-sesame").unwrap();
    let mut client = place.client(&[]);
    client.call("work_flood", json!({"lines": 100_000}));
    let name = fs::read_dir(place.path().join("work/sessions/default/results")).unwrap().next().unwrap().unwrap();
    let kept = [
        "witbox://files/place/secret".to_owned(),
        format!("witbox://files/place/work/sessions/default/results/{}", name.file_name().display()),
    ];
    let all = listed(&mut client);
    let uris: Vec<&str> = all.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert!(uris.contains(&"witbox://files/place/witbox.toml"), "{uris:?}");
    assert!(!uris.iter().any(|uri| uri.starts_with("witbox://files/place/work")), "{uris:?}");
    for uri in &kept {
        assert!(!uris.contains(&uri.as_str()), "{uri}");
        assert_eq!(client.request("resources/read", json!({"uri": uri}))["error"]["code"], -32002, "{uri}");
    }
}
