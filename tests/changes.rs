//! What is changed while `witbox serve` runs: it takes effect as a whole or not at all, and no running call hears of it.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;
use support::checkout;
use support::http::{as_client, send as send_to};
use support::mcp::{Client, PATIENCE, Place, Served, text};

const CHANGED: &str = "notifications/tools/list_changed";

/// Puts a guest tool in the place of a component as compilers do: under its name once it is whole.
fn put(place: &Place, guest: &str) {
    let new = place.path().join("tool.new");
    fs::copy(checkout(&format!("guest-tools/dist/{guest}.wasm")), &new).unwrap();
    fs::rename(new, place.path().join("tool.wasm")).unwrap();
}

/// What a server tells its operator, as it does.
struct Told(Receiver<String>);

impl Told {
    fn of(client: &mut Client) -> Self {
        let stderr = BufReader::new(client.process.stderr.take().unwrap());
        let (send, told) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Told(told)
    }

    fn next(&self) -> String {
        self.0.recv_timeout(PATIENCE).unwrap()
    }

    /// Waits until it says something with this in it.
    fn wait_for(&self, what: &str) -> String {
        let mut told = Vec::new();
        loop {
            let line = self.0.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("nobody says {what:?}, but {told:#?}"));
            if line.contains(what) {
                return line;
            }
            told.push(line);
        }
    }

    fn rest(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}

impl Place {
    fn config(&self) -> String {
        fs::read_to_string(self.path().join("witbox.toml")).unwrap()
    }

    fn write(&self, config: &str) {
        fs::write(self.path().join("witbox.toml"), config).unwrap();
    }
}

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn has(client: &mut Client, tool: &str) -> bool {
    tools(client).iter().any(|name| name == tool)
}

/// Waits until a client hears that the list is another.
fn hear(client: &mut Client) {
    let message = client.next(PATIENCE).unwrap();
    assert_eq!(message["method"], CHANGED, "{message}");
}

#[test]
fn a_change_takes_effect_beside_running_calls_or_not_at_all() {
    let place = Place::new("");
    let mut client = place.client(&[]);
    let told = Told::of(&mut client);
    assert!(!has(&mut client, "triage_classify"));
    let running = client.ask("tools/call", json!({"name": "work_count", "arguments": {"to": 20, "pause_ms": 200}}));
    let config = place.config();
    // The tools of the running call go, and others come.
    place.write("[workspace]\ndir = \"work\"\n[toolset.triage]\ncomponent = \"builtin:triage\"\n");
    told.wait_for("a change is in effect");
    let counted = client.answer(running);
    assert_eq!(counted["result"]["structuredContent"]["result"], 20, "{counted}");
    assert_eq!(client.told().iter().filter(|message| message["method"] == CHANGED).count(), 1);
    assert!(has(&mut client, "triage_classify") && !has(&mut client, "work_hello"));
    assert_eq!(client.call("work_hello", json!({"name": "Ada"}))["error"]["code"], -32602);

    for (mistaken, reason) in [
        ("[toolset", "unclosed"),
        ("[toolset.other]\ncomponent = \"none.wasm\"\n", "none.wasm"),
        ("[toolset.other]\ncomponent = \"builtin:other\"\n", "no built-in component"),
    ] {
        place.write(&format!("{config}{mistaken}"));
        let told = told.wait_for("a change is not in effect");
        assert!(told.contains(reason), "{told}");
        assert!(has(&mut client, "triage_classify") && !has(&mut client, "work_hello"), "{told}");
    }
    fs::remove_file(place.path().join("witbox.toml")).unwrap();
    told.wait_for("No such file");
    place.write(&format!("# as it was\n{config}"));
    told.wait_for("a change is in effect");
    hear(&mut client);
    assert_eq!(text(&client.call("work_hello", json!({"name": "Ada"}))), "Hello, Ada!");
    // Remarks are no change.
    place.write(&config);
    place.write(&format!("{config}[toolset.triage]\ncomponent = \"builtin:triage\"\n"));
    told.wait_for("a change is in effect");
    hear(&mut client);
    client.close();
    assert!(client.process.wait().unwrap().success());
    assert_eq!(told.rest(), [] as [String; 0]);
}

#[test]
fn another_component_runs_once_somebody_agrees() {
    let place = Place::new("[toolset.mine]\ncomponent = \"tool.wasm\"\n");
    put(&place, "greet");
    let mut client = place.client(&[]);
    let told = Told::of(&mut client);
    let greet = |client: &mut Client| {
        let greeted = client.call("mine_greet", json!({"people": [{"name": "Ada"}]}));
        assert_eq!(greeted["result"]["isError"], false, "{greeted}");
        text(&greeted).to_owned()
    };
    let greeting = greet(&mut client);
    // A record that is lost makes no other component the first.
    fs::remove_file(place.path().join("work/components/mine.json")).unwrap();
    put(&place, "triage");
    // Nothing is in effect yet.
    let line = told.next();
    assert!(line.contains("has changed since it was first used"), "{line}");
    assert!(line.contains("`witbox agree mine`") && line.contains("goes on with the one that it has"), "{line}");
    assert_eq!(greet(&mut client), greeting);
    // Also where something else changes meanwhile.
    place.write(&format!("{}[toolset.triage]\ncomponent = \"builtin:triage\"\n", place.config()));
    hear(&mut client);
    assert!(has(&mut client, "mine_greet") && has(&mut client, "triage_classify"));

    assert!(place.witbox(&["agree", "mine"]).output().unwrap().status.success());
    hear(&mut client);
    assert!(has(&mut client, "mine_classify") && !has(&mut client, "mine_greet"));
    let classified = client.call("mine_classify", json!({"dtc_codes": [], "telemetry_flags": [], "recall_ids": []}));
    assert_eq!(classified["result"]["isError"], false, "{classified}");
    assert!(client.end().0.success());
}

#[test]
fn who_writes_a_tool_sees_it_at_once() {
    let place = Place::new("[toolset.mine]\ncomponent = \"tool.wasm\"\nreload = true\n");
    let compiled = |name| fs::read(checkout(&format!("guest-tools/dist/{name}.wasm"))).unwrap();
    put(&place, "greet");
    let by_flags = ["-t", "tool.wasm", "--reload"];
    for (arguments, prefix) in [(&[][..], "mine"), (&by_flags, "tool")] {
        put(&place, "greet");
        let mut client = place.client(arguments);
        let told = Told::of(&mut client);
        assert!(has(&mut client, &format!("{prefix}_greet")));
        put(&place, "triage");
        hear(&mut client);
        assert!(has(&mut client, &format!("{prefix}_classify")));
        // What is no component yet takes nothing away.
        fs::write(place.path().join("tool.wasm"), &compiled("greet")[..1000]).unwrap();
        told.wait_for("not a valid component");
        assert!(has(&mut client, &format!("{prefix}_classify")));
        fs::remove_file(place.path().join("tool.wasm")).unwrap();
        fs::write(place.path().join("tool.wasm"), compiled("greet")).unwrap();
        hear(&mut client);
        assert!(has(&mut client, &format!("{prefix}_greet")));
        assert!(client.end().0.success());
    }
    for arguments in [&["serve", "--reload"][..], &["serve", "-t", "builtin:files", "--reload"]] {
        assert_eq!(place.witbox(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
    // Whoever does not ask for it keeps what it was.
    let mut client = place.client(&["-t", "tool.wasm"]);
    assert!(has(&mut client, "tool_greet"));
    put(&place, "triage");
    assert_eq!(client.next(std::time::Duration::from_secs(2)), None);
    assert!(has(&mut client, "tool_greet"));
}

#[test]
fn what_was_given_up_is_not_taken_back() {
    let files = |more: &str| {
        format!(
            "[toolset.files]\ncomponent = \"builtin:files\"\n[[toolset.files.mount]]\nhost = \"docs\"\nguest = \"/docs\"\nmode = \"rw\"\n\
             max-files = 2\n{more}"
        )
    };
    let place = Place::new(&files(""));
    for folder in ["docs/in", "other"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("secret"), "a secret of some length").unwrap();
    let mut client = place.client(&[]);
    let told = Told::of(&mut client);
    let config = place.config();
    let write = |client: &mut Client, name: &str| {
        let written = client.call("files_write", json!({"path": name, "content": "x"}));
        written["result"]["isError"] == false
    };
    assert!(write(&mut client, "/docs/one"));
    let secret = |name: &str| {
        format!(
            "[toolset.files.secret.key]\nfrom-file = \"{name}\"\norigin = \"https://api.example\"\nheader = \"x-key\"\nformat = \"{{}}\"\n"
        )
    };
    for (more, reason) in [
        ("[[toolset.files.mount]]\nhost = \"other\"\nguest = \"/other\"\n".to_owned(), "to read other"),
        ("[toolset.web]\ncomponent = \"builtin:triage\"\nhttp = [\"https://api.example\"]\n".to_owned(), "port 443"),
        (secret("secret"), "to read the secret `key`"),
        ("[host]\nmemory = \"8GiB\"\n".to_owned(), "another [host]"),
    ] {
        place.write(&format!("{config}{more}"));
        let told = told.wait_for("start the server anew");
        assert!(told.contains(reason), "{told}");
    }
    // Less than before fits, and what calls have added counts on.
    place.write(&config.replace("\"/docs\"", "\"/papers\""));
    told.wait_for("a change is in effect");
    assert!(
        !write(&mut client, "/docs/two") && write(&mut client, "/papers/two") && !write(&mut client, "/papers/three")
    );
    place.write(&config.replace("\"docs\"", "\"docs/in\"").replace("\"/docs\"", "\"/in\""));
    told.wait_for("a change is in effect");
    assert!(write(&mut client, "/in/one"));
    assert!(place.path().join("docs/in/one").exists());
    assert!(client.end().0.success());
}

#[test]
fn secrets_are_kept_where_their_files_are_out_of_reach() {
    let place = Place::new("");
    fs::write(place.path().join("secret"), "a secret of some length").unwrap();
    let config = format!(
        "{}[toolset.files]\ncomponent = \"builtin:files\"\nhttp = [\"https://api.example\"]\n[toolset.files.secret.key]\nfrom-file = \"secret\"\n\
         origin = \"https://api.example\"\nheader = \"x-key\"\nformat = \"{{}}\"\n",
        place.config()
    );
    place.write(&config);
    let mut client = place.client(&[]);
    let told = Told::of(&mut client);
    place.write(&format!("{config}[toolset.triage]\ncomponent = \"builtin:triage\"\n"));
    told.wait_for("a change is in effect");
    hear(&mut client);
    assert!(has(&mut client, "files_read") && has(&mut client, "triage_classify"));
    let echoed = client.call("work_echo", json!({"text": "it is a secret of some length, is it?"}));
    assert!(!text(&echoed).contains("a secret of some length"), "{echoed}");
    assert!(client.end().0.success());
}

#[test]
fn a_file_behind_links_is_watched_where_it_is() {
    let place = Place::new("");
    let path = |name: &str| place.path().join(name);
    fs::create_dir(path("one")).unwrap();
    fs::create_dir(path("two")).unwrap();
    let config = place.config().replace("dir = \"work\"", &format!("dir = {:?}", path("work")));
    fs::write(path("one/witbox.toml"), &config).unwrap();
    fs::write(path("two/witbox.toml"), format!("{config}[toolset.triage]\ncomponent = \"builtin:triage\"\n")).unwrap();
    // As orchestrators lay out files that they exchange together.
    std::os::unix::fs::symlink("one", path("current")).unwrap();
    fs::remove_file(path("witbox.toml")).unwrap();
    std::os::unix::fs::symlink("current/witbox.toml", path("witbox.toml")).unwrap();
    let mut client = place.client(&[]);
    assert!(!has(&mut client, "triage_classify"));
    std::os::unix::fs::symlink("two", path("next")).unwrap();
    fs::rename(path("next"), path("current")).unwrap();
    hear(&mut client);
    assert!(has(&mut client, "triage_classify"));
    fs::write(path("two/witbox.toml"), &config).unwrap();
    hear(&mut client);
    assert!(!has(&mut client, "triage_classify"));
    assert!(client.end().0.success());
}

#[test]
fn clients_come_and_go() {
    const ADA: &str = "ada-0123456789-0123456789";
    const BOB: &str = "bob-0123456789-0123456789";
    let place = Place::new("[client.ada]\ntoken-file = \"ada\"\n");
    let write = |place: &Path, name: &str, token: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let new = place.join("token.new");
        fs::write(&new, token).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(new, place.join(name)).unwrap();
    };
    write(place.path(), "ada", ADA);
    write(place.path(), "bob", BOB);
    let config = place.config();
    let mut served = Served::with(place, &[]);
    let address = served.address;
    let status = |token: &str| as_client(address, token, "tools/list", &json!({})).status;
    let becomes = |token: &str, wanted: u16| {
        let started = std::time::Instant::now();
        while status(token) != wanted {
            assert!(started.elapsed() < PATIENCE, "{token} is still answered with {}", status(token));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    assert_eq!((status(ADA), status(BOB)), (200, 401));
    served.place.write(&format!("{config}[client.bob]\ntoken-file = \"bob\"\n"));
    becomes(BOB, 200);
    assert_eq!(status(ADA), 200);
    // A token that is exchanged.
    let newer = "ada-9876543210-9876543210";
    write(served.place.path(), "ada", newer);
    becomes(newer, 200);
    assert_eq!((status(ADA), status(BOB)), (401, 200));
    // A running call of who goes is answered.
    let running = std::thread::spawn(move || {
        as_client(address, BOB, "tools/call", &json!({"name": "work_count", "arguments": {"to": 10, "pause_ms": 100}}))
    });
    // And what waits for something to happen is closed.
    let (send, closed) = channel();
    let authorization = format!("Bearer {BOB}");
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bob", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client});
    let opened = send_to(address, "POST", &[("authorization", &authorization)], &message.to_string());
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    std::thread::spawn(move || {
        let headers = [("authorization", authorization.as_str()), ("mcp-session-id", &session)];
        send.send(send_to(address, "GET", &headers, "").status)
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    served.place.write(&config);
    becomes(BOB, 401);
    assert_eq!(closed.recv_timeout(PATIENCE), Ok(200));
    let counted = running.join().unwrap();
    assert_eq!(counted.messages().pop().unwrap()["result"]["structuredContent"]["result"], 10);
    // A token that cannot be read is not the one before.
    served
        .place
        .write(&format!("{}[toolset.triage]\ncomponent = \"builtin:triage\"\n", config.replace("\"ada\"", "\"none\"")));
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!as_client(address, newer, "tools/list", &json!({})).body.contains("triage_classify"));
    // Two of one token could not be told apart.
    write(served.place.path(), "bob", newer);
    served.place.write(&format!("{config}[client.bob]\ntoken-file = \"bob\"\n"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(status(newer), 200);
    served.stop();

    // Where whoever asks is served, clients come at the next start; and where nobody asks over HTTP they are nobody.
    let place = Place::new("");
    let config = place.config();
    let mut served = Served::with(place, &["--no-auth"]);
    served.place.write(&format!(
        "{config}[client.ada]\ntoken-file = \"ada\"\n[toolset.triage]\ncomponent = \"builtin:triage\"\n"
    ));
    let has_triage = || as_client(served.address, "", "tools/list", &json!({})).body.contains("triage_classify");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!has_triage());
    served.place.write(&format!("{config}[toolset.triage]\ncomponent = \"builtin:triage\"\n"));
    let started = std::time::Instant::now();
    while !has_triage() {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    served.stop();
    let mut client = served.place.client(&[]);
    let told = Told::of(&mut client);
    served.place.write(&format!("{config}[client.ada]\ntoken-file = \"ada\"\n"));
    told.wait_for("a change is in effect");
    hear(&mut client);
}
