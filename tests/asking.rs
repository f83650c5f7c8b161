//! Rules that leave it to a person: what is asked, what the answer is good for, and what goes on meanwhile.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use support::ENGINE;
use support::probe::{PROBE, outcome, rule, touch};
use support::program::CACHE_HOME;
use witbox::{Answer, Ask, Call, FsRule, Grant, Host, Limits, Mount, Operation::*, PathPattern, Question, Status};

/// Answers by a function, and keeps what it was asked.
struct Asker<F> {
    asked: Mutex<Vec<Question>>,
    answer: F,
}

#[async_trait::async_trait]
impl<F: AsyncAnswer> Ask for Asker<F> {
    async fn ask(&self, question: &Question) -> Answer {
        self.asked.lock().unwrap().push(question.clone());
        self.answer.answer(question).await
    }
}

#[async_trait::async_trait]
trait AsyncAnswer: Send + Sync {
    async fn answer(&self, question: &Question) -> Answer;
}

#[async_trait::async_trait]
impl AsyncAnswer for Answer {
    async fn answer(&self, _question: &Question) -> Answer {
        *self
    }
}

fn asker<F: AsyncAnswer + 'static>(answer: F) -> Arc<Asker<F>> {
    Arc::new(Asker { asked: Mutex::default(), answer })
}

fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in ["asked/sub", "free", "denied"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    for file in ["asked/a", "asked/b", "free/a", "denied/a"] {
        fs::write(root.path().join(file), file).unwrap();
    }
    symlink("../asked/a", root.path().join("free/link")).unwrap();
    root
}

fn grant(root: &Path, limits: Limits) -> Grant {
    Grant::default()
        .mount(Mount::read_write(root, "/m".parse().unwrap()))
        .fs(FsRule::deny(&[Read, Write], patterns(&["/m/denied/**"])))
        .fs(FsRule::ask(&[Read, Write], patterns(&["/m/asked/**"])))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])))
        .limits(limits)
}

fn host(root: &Path, limits: Limits, asker: Option<Arc<dyn Ask>>) -> Host {
    let mut host = Host::builder(&ENGINE);
    if let Some(asker) = asker {
        host.asker(asker);
    }
    host.toolset("probe", &PROBE, grant(root, limits)).unwrap();
    host.build()
}

#[test]
fn a_yes_lets_that_operation_on_that_path_go_ahead() {
    let root = tree();
    let asker = asker(Answer::Allow);
    let host = host(root.path(), Limits::default(), Some(asker.clone()));
    let reply = touch(&host, ("open", "/m/free/./link", None));
    assert_eq!(outcome(&reply), "+asked/a");
    let question = asker.asked.lock().unwrap().remove(0);
    let expected = Question {
        call: "1".to_owned(),
        tool: "probe_touch".to_owned(),
        toolset: "probe".to_owned(),
        arguments: r#"{"way":"open","path":"/m/free/./link","other":null}"#.to_owned(),
        operation: Read,
        path: "/m/asked/a".to_owned(),
        rule: "fs rule 2: ask read and write on /m/asked/**".to_owned(),
    };
    assert_eq!(question, expected);
    for (attempt, expected, questions) in [
        (("open", "/m/free/a", None), "+free/a", vec![]),
        (("open", "/m/denied/a", None), "-not-permitted", vec![]),
        (("list", "/m", None), "+asked free", vec![]),
        (("stat", "/m/asked/a", None), "+DescriptorType::RegularFile of 7 bytes", vec![(Read, "/m/asked/a")]),
        (("list", "/m/asked", None), "+a b sub", vec![(Read, "/m/asked")]),
        (("open", "/m/asked/nothing", None), "-no-entry", vec![(Read, "/m/asked/nothing")]),
        (("create", "/m/asked/new", None), "+done", vec![(Write, "/m/asked/new")]),
        (
            ("rename", "/m/asked/a", Some("/m/asked/c")),
            "+done",
            vec![(Write, "/m/asked/a"), (Write, "/m/asked/c"), (Read, "/m/asked/a")],
        ),
        (("rename", "/m/asked/sub", Some("/m/free/sub")), "-not-permitted", vec![(Write, "/m/asked/sub")]),
    ] {
        let reply = touch(&host, attempt);
        assert_eq!(outcome(&reply), expected, "{attempt:?}");
        let asked: Vec<Question> = std::mem::take(&mut asker.asked.lock().unwrap());
        let asked: Vec<_> = asked.iter().map(|question| (question.operation, question.path.as_str())).collect();
        assert!(asked.starts_with(&questions) && (!questions.is_empty() || asked.is_empty()), "{attempt:?} {asked:?}");
    }
}

#[test]
fn a_no_and_nobody_are_denials_that_say_so() {
    let root = tree();
    let no = asker(Answer::Deny);
    let refused = host(root.path(), Limits::default(), Some(no.clone()));
    let nobody = host(root.path(), Limits::default(), None);
    for (way, path) in
        [("open", "/m/asked/a"), ("open", "/m/asked/nothing"), ("open", "/m/free/link"), ("list", "/m/asked")]
    {
        let reply = touch(&refused, (way, path, None));
        assert_eq!(outcome(&reply), "-not-permitted", "{path}");
        assert!(rule(&reply).ends_with("; a person refused it"), "{:?}", reply.denials);
        let reply = touch(&nobody, (way, path, None));
        assert_eq!(outcome(&reply), "-not-permitted", "{path}");
        assert!(rule(&reply).ends_with("put a rule with allow before this one"), "{:?}", reply.denials);
    }
    assert_eq!(no.asked.lock().unwrap().len(), 4);
}

struct Slow(Duration);

#[async_trait::async_trait]
impl AsyncAnswer for Slow {
    async fn answer(&self, _question: &Question) -> Answer {
        tokio::time::sleep(self.0).await;
        Answer::Allow
    }
}

#[test]
fn the_clock_of_a_call_stands_while_a_person_decides() {
    let root = tree();
    let limits = Limits { timeout: Duration::from_millis(500), ..Limits::default() };
    let patient = host(root.path(), limits.clone(), Some(asker(Slow(Duration::from_millis(1_500)))));
    assert_eq!(outcome(&touch(&patient, ("open", "/m/asked/a", None))), "+asked/a");
    let limits = Limits { ask_timeout: Duration::from_millis(100), ..limits };
    let impatient = host(root.path(), limits, Some(asker(Slow(Duration::from_secs(600)))));
    let started = Instant::now();
    let reply = touch(&impatient, ("open", "/m/asked/a", None));
    assert_eq!(outcome(&reply), "-not-permitted");
    assert!(rule(&reply).ends_with("; nobody answered in time"), "{:?}", reply.denials);
    assert!(started.elapsed() < Duration::from_secs(60));
}

/// Waits until a file is there, and counts how many questions are open at once.
struct WhenThere {
    file: PathBuf,
    open: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait::async_trait]
impl AsyncAnswer for WhenThere {
    async fn answer(&self, _question: &Question) -> Answer {
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(open, Ordering::SeqCst);
        while !self.file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.open.fetch_sub(1, Ordering::SeqCst);
        Answer::Allow
    }
}

#[test]
fn one_question_is_open_at_a_time_and_siblings_go_on() {
    let root = tree();
    let file = root.path().join("free/made");
    let asker = asker(WhenThere { file, open: AtomicUsize::default(), most: AtomicUsize::default() });
    let host = host(root.path(), Limits::default(), Some(asker.clone()));
    let call = |id: usize, way: &str, path: &str| {
        Call::new(id.to_string(), "probe_touch", json!({"way": way, "path": path}).to_string())
    };
    // The last call makes the file that the answers to the others wait for.
    let mut calls: Vec<Call> = (0..4).map(|id| call(id, "open", "/m/asked/a")).collect();
    calls.push(call(4, "create", "/m/free/made"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let replies = runtime.block_on(host.call_all(calls));
    let outcomes: Vec<String> = replies.iter().map(outcome).collect();
    assert_eq!(outcomes, ["+asked/a", "+asked/a", "+asked/a", "+asked/a", "+done"]);
    assert_eq!(asker.answer.most.load(Ordering::SeqCst), 1);
}

/// Makes another object of the path before it says yes.
struct Swap(PathBuf);

#[async_trait::async_trait]
impl AsyncAnswer for Swap {
    async fn answer(&self, _question: &Question) -> Answer {
        fs::remove_file(self.0.join("asked/a")).unwrap();
        symlink("../denied/a", self.0.join("asked/a")).unwrap();
        Answer::Allow
    }
}

#[test]
fn an_answer_is_good_for_the_object_that_was_asked_about() {
    let root = tree();
    let host = host(root.path(), Limits::default(), Some(asker(Swap(root.path().to_owned()))));
    let reply = touch(&host, ("open", "/m/asked/a", None));
    assert_eq!(outcome(&reply), "-not-permitted");
    assert_eq!(reply.denials[0].target, "/m/denied/a");
}

/// What may not be read does not come to be asked about by another name.
#[test]
fn nothing_is_renamed_to_where_it_is_asked_about() {
    let root = tree();
    let asker = asker(Answer::Allow);
    let mut host = Host::builder(&ENGINE);
    host.asker(asker.clone());
    let grant = Grant::default()
        .mount(Mount::read_write(root.path(), "/m".parse().unwrap()))
        .fs(FsRule::deny(&[Read], patterns(&["/m/denied/**"])))
        .fs(FsRule::ask(&[Read], patterns(&["/m/asked/**"])))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])));
    host.toolset("probe", &PROBE, grant).unwrap();
    let reply = touch(&host.build(), ("rename", "/m/denied/a", Some("/m/asked/harmless")));
    assert_eq!(outcome(&reply), "-not-permitted");
    assert!(asker.asked.lock().unwrap().is_empty());
}

/// A guest that asks for ever is told so, and costs nothing more.
#[test]
fn questions_are_bounded() {
    let root = tree();
    for index in 0..100 {
        fs::write(root.path().join(format!("asked/{index}")), "x").unwrap();
    }
    let no = asker(Answer::Deny);
    let allowed = Grant::default()
        .mount(Mount::read_only(root.path(), "/m".parse().unwrap()))
        .fs(FsRule::allow(&[Read], patterns(&["/m/asked"])))
        .fs(FsRule::ask(&[Read], patterns(&["/m/**"])));
    let mut host = Host::builder(&ENGINE);
    host.asker(no.clone()).toolset("probe", &PROBE, allowed).unwrap();
    let arguments = json!({"path": "/m/asked", "most": 1000, "sample": 1});
    let reply = support::probe::call(&host.build(), "probe_survey_folder", &arguments);
    assert_eq!(reply.status, Status::Ok, "{}", reply.text());
    assert_eq!(no.asked.lock().unwrap().len(), 32);
    assert!(reply.denials.iter().any(|denial| denial.rule.ends_with("; it has asked for too much in one call")));
}

struct Panics;

#[async_trait::async_trait]
impl AsyncAnswer for Panics {
    async fn answer(&self, _question: &Question) -> Answer {
        panic!("no answer");
    }
}

#[test]
fn an_asker_that_panics_costs_its_call_alone() {
    let root = tree();
    let host = host(root.path(), Limits::default(), Some(asker(Panics)));
    let call = |id: &str, path: &str| Call::new(id, "probe_touch", json!({"way": "open", "path": path}).to_string());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let replies =
        runtime.block_on(host.call_all(vec![call("1", "/m/asked/a"), call("2", "/m/free/a"), call("3", "/m/asked/b")]));
    let statuses: Vec<Status> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [Status::Failed, Status::Ok, Status::Failed]);
}

/// The command asks at the terminal, also where its standard output goes elsewhere.
#[test]
fn the_command_asks_at_the_terminal() {
    let root = tree();
    fs::write(
        root.path().join("witbox.toml"),
        "[toolset.files]\ncomponent = \"builtin:files\"\n[[toolset.files.mount]]\nhost = \"asked\"\nguest = \"/m\"\n\
         [[toolset.files.fs]]\nask = [\"read\"]\npaths = [\"/m/**\"]\n",
    )
    .unwrap();
    let command = format!(
        "{} call -c {}/witbox.toml read '{{\"path\": \"/m/a\"}}'",
        env!("CARGO_BIN_EXE_witbox"),
        root.path().display()
    );
    for (before, typed, expected) in [
        ("", "y\n", "asked/a"),
        ("", "n\n", "a person refused it"),
        // What is typed before the question is no answer to it.
        ("y\ny\ny\ny\n", "n\n", "a person refused it"),
    ] {
        let mut child = Command::new("script")
            .env("XDG_CACHE_HOME", &*CACHE_HOME)
            .env("XDG_STATE_HOME", &*CACHE_HOME)
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        input.write_all(before.as_bytes()).unwrap();
        let mut told = String::new();
        let mut buffer = [0; 1024];
        let is_asked = |told: &str| told.matches("[y/N]").count();
        let mut answered = 0;
        loop {
            let read = output.read(&mut buffer).unwrap_or_default();
            if read == 0 {
                break;
            }
            told.push_str(&String::from_utf8_lossy(&buffer[..read]));
            while answered < is_asked(&told) {
                input.write_all(typed.as_bytes()).unwrap();
                answered += 1;
            }
        }
        child.wait().unwrap();
        assert!(told.contains("/m/a") && told.contains("fs rule 1: ask read on /m/**"), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}
