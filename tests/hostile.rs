//! Each way to misbehave, one small guest for each in `guest-tools/hostile`: what its call ends with, in time, within its
//! memory, leaving nothing behind, while an honest call beside it runs as ever.
//!
//! A guest is a file of WebAssembly text: a component, or a core module for one of the worlds in `wasi.wit`. The comments at
//! its top say what is done and what must come of it.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use tokio::runtime::Runtime;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;
use witbox::{
    Call, Component, Engine, Grant, Host, Limits, Mount, Reply, Status, parse_bytes, parse_duration, parse_fuel,
};

use support::{ENGINE, checkout};

/// What the comments at a file's top say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Misdeed {
    /// What the guest does, in one sentence.
    #[expect(dead_code, reason = "for people")]
    about: String,
    /// The world of a core module.
    #[serde(default = "nothing")]
    world: String,
    /// How the guest writes its texts.
    #[serde(default)]
    encoding: Encoding,
    #[serde(default)]
    arguments: toml::Table,
    #[serde(default)]
    limits: BTreeMap<String, String>,
    /// How many files are in a folder that is mounted; nothing for no folder.
    files: Option<usize>,
    status: String,
    #[serde(default)]
    kind: String,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Encoding {
    #[default]
    Utf8,
    Utf16,
}

fn nothing() -> String {
    "nothing".to_owned()
}

/// What guests have where their file does not say otherwise.
const FUEL: u64 = 200_000_000;
const MEMORY: u64 = 64 << 20;
const TIMEOUT: Duration = Duration::from_secs(20);
/// What a call may take of the host beside its memory: this test's own promise, and the documentation's.
const BESIDE: u64 = 32 << 20;
/// How much later than its timeout a reply may come: a guest that does not give way is dropped behind its back, on a machine
/// with two cores.
const LATE: Duration = Duration::from_millis(750);
/// How long an honest call beside a hostile one may take.
const HONEST: Duration = Duration::from_secs(1);

/// What has the allocator (glibc's) give back at once what is freed. It would keep most of what a first call took, and no
/// second one would seem to take anything.
const GIVING_BACK: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "4096"), ("MALLOC_TRIM_THRESHOLD_", "65536")];

fn main() {
    if std::env::var_os(GIVING_BACK[0].0).is_none() {
        // The allocator reads them when a process starts.
        let mut again = Command::new(std::env::current_exe().unwrap());
        let error = again.args(std::env::args_os().skip(1)).envs(GIVING_BACK).exec();
        panic!("{error}");
    }
    let mut arguments = Arguments::from_args();
    // Memory, threads and descriptors are the whole process's.
    arguments.test_threads = Some(1);
    let mut trials = Vec::new();
    for file in files() {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        trials.push(Trial::test(name, move || run(&file)));
    }
    trials.push(Trial::test("a_thousand_in_a_row_leave_everything_as_it_was", a_thousand_in_a_row));
    trials.push(Trial::test("forty_at_once_starve_nobody", forty_at_once));
    trials.push(Trial::test("a_hundred_thousand_mixed_calls", soak).with_ignored_flag(true));
    libtest_mimic::run(&arguments, trials).exit();
}

fn files() -> Vec<PathBuf> {
    let all = fs::read_dir(checkout("guest-tools/hostile")).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = all.filter(|file| file.extension().is_some_and(|kind| kind == "wat")).collect();
    files.sort();
    assert!(files.len() > 50, "{files:?}");
    files
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Threads that wait for the system end soon after, so that those that stay can be told.
    builder.worker_threads(2).thread_keep_alive(Duration::from_millis(10)).enable_all().build().unwrap()
});

/// A guest under its limits, and an honest one beside it.
struct Case {
    misdeed: Misdeed,
    host: Host,
    limits: Limits,
    _folder: Option<tempfile::TempDir>,
}

impl Case {
    fn of(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let head: String =
            text.lines().map_while(|line| line.strip_prefix(";;! ")).map(|line| format!("{line}\n")).collect();
        let misdeed: Misdeed = toml::from_str(&head).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut limits = Limits { fuel: FUEL, memory: MEMORY, timeout: TIMEOUT, ..Limits::default() };
        for (name, value) in &misdeed.limits {
            match name.as_str() {
                "fuel" => limits.fuel = parse_fuel(value).unwrap(),
                "memory" => limits.memory = parse_bytes(value).unwrap(),
                "timeout" => limits.timeout = parse_duration(value).unwrap(),
                _ => panic!("{name} is no limit"),
            }
        }
        let mut grant = Grant::default().limits(limits.clone());
        let folder = misdeed.files.map(|count| {
            let folder = tempfile::tempdir().unwrap();
            for n in 0..count {
                fs::write(folder.path().join(format!("{n:0200}")), b"").unwrap();
            }
            folder
        });
        if let Some(folder) = &folder {
            grant = grant.mount(Mount::read_write(folder.path(), "/m".parse().unwrap()));
        }
        let mut host = Host::builder(&ENGINE);
        host.toolset("hostile", &component(&text, &misdeed), grant).unwrap();
        host.toolset("honest", &HONEST_TOOL, Grant::default()).unwrap();
        Case { misdeed, host: host.build(), limits, _folder: folder }
    }

    fn call(&self, n: usize) -> Call {
        let arguments = serde_json::to_string(&self.misdeed.arguments).unwrap();
        Call::new(format!("hostile {n}"), "hostile_run", arguments)
    }

    fn check(&self, reply: &Reply) -> Result<(), Failed> {
        let kind = reply.error.as_ref().map_or("", |error| error.kind.as_str());
        if (reply.status.as_str(), kind) != (self.misdeed.status.as_str(), self.misdeed.kind_or_status()) {
            return Err(format!("{} {kind}, and not {:?}: {}", reply.status, self.misdeed, cut(&reply.text())).into());
        }
        let latest = self.limits.timeout + LATE;
        if reply.usage.wall > latest {
            return Err(format!("its reply took {:?}", reply.usage.wall).into());
        }
        Ok(())
    }
}

impl Misdeed {
    fn kind_or_status(&self) -> &str {
        match self.status.as_str() {
            "ok" => "",
            status if self.kind.is_empty() => status,
            _ => &self.kind,
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

/// A component from a guest's text.
fn component(text: &str, misdeed: &Misdeed) -> Component {
    let bytes = wat::parse_str(text).unwrap();
    if is_component(&bytes) {
        return Component::new(&ENGINE, &bytes).unwrap();
    }
    let mut resolve = Resolve::default();
    let wit = fs::read_to_string(checkout("guest-tools/hostile/wasi.wit")).unwrap();
    let package = resolve.push_str("wasi.wit", &wit).unwrap();
    let world = resolve.select_world(&[package], Some(&misdeed.world)).unwrap();
    let mut module = bytes;
    let encoding = match misdeed.encoding {
        Encoding::Utf8 => StringEncoding::UTF8,
        Encoding::Utf16 => StringEncoding::UTF16,
    };
    embed_component_metadata(&mut module, &resolve, world, encoding).unwrap();
    let bytes = ComponentEncoder::default().module(&module).unwrap().encode().unwrap();
    Component::new(&ENGINE, &bytes).unwrap()
}

/// Whether a binary is a component: its layer is one.
fn is_component(bytes: &[u8]) -> bool {
    bytes.get(6) == Some(&1)
}

static HONEST_TOOL: LazyLock<Component> = LazyLock::new(|| Component::builtin(&ENGINE, "triage").unwrap());

fn honest(n: usize) -> Call {
    Call::new(
        format!("honest {n}"),
        "honest_classify",
        r#"{"dtc_codes": ["P0301"], "telemetry_flags": [], "recall_ids": []}"#,
    )
}

/// Runs honest calls one after the other until something is done; says how many there were and how long the slowest took.
async fn beside<T>(host: &Host, done: impl Future<Output = T>) -> (T, usize, Duration) {
    let mut done = std::pin::pin!(done);
    let (mut count, mut slowest) = (0, Duration::ZERO);
    loop {
        let started = Instant::now();
        tokio::select! {
            biased;
            value = &mut done => return (value, count, slowest),
            reply = host.call(honest(count)) => {
                assert_eq!(reply.status, Status::Ok, "{reply:?}");
                slowest = slowest.max(started.elapsed());
                count += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn run(file: &Path) -> Result<(), Failed> {
    let case = Case::of(file);
    // Once, so that what is made once is there: threads, code, the pool.
    case.check(&RUNTIME.block_on(case.host.call(case.call(0))))?;
    assert_eq!(RUNTIME.block_on(case.host.call(honest(0))).status, Status::Ok);
    let before = Process::settled();
    reset_peak();
    let (reply, honest, slowest) = RUNTIME.block_on(beside(&case.host, case.host.call(case.call(1))));
    let peak = status("VmHWM") - before.resident.min(status("VmHWM"));
    case.check(&reply)?;
    let allowed = case.limits.memory + BESIDE;
    if peak > allowed {
        return Err(format!("it took {peak} bytes of the host's memory, and {allowed} are allowed").into());
    }
    if slowest > HONEST {
        return Err(format!("one of {honest} honest calls beside it took {slowest:?}").into());
    }
    before.is_left().map_err(Failed::from)
}

fn a_thousand_in_a_row() -> Result<(), Failed> {
    let quick: Vec<Case> =
        files().iter().map(|file| Case::of(file)).filter(|case| case.misdeed.status != "timeout").collect();
    // On one thread: what the allocator keeps for each thread would come to be there one after the other.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.thread_keep_alive(Duration::from_millis(10)).enable_all().build()?;
    let round = |rounds: usize| -> Result<(), Failed> {
        for n in 0..rounds {
            let case = &quick[n % quick.len()];
            case.check(&runtime.block_on(case.host.call(case.call(n))))?;
        }
        Ok(())
    };
    // Until the allocator has what it keeps.
    round(1_500)?;
    let before = Process::settled();
    round(1_000)?;
    before.is_left().map_err(Failed::from)
}

/// Every way to misbehave that is over soon, among honest calls, sixteen at once.
fn soak() -> Result<(), Failed> {
    const CALLS: usize = 100_000;
    let mut cases: Vec<Case> = files().iter().map(|file| Case::of(file)).collect();
    let is_quick = |case: &Case| {
        let reply = RUNTIME.block_on(case.host.call(case.call(0)));
        case.check(&reply).unwrap();
        reply.usage.wall < Duration::from_millis(5)
    };
    cases.retain(is_quick);
    assert!(cases.len() > 20, "{}", cases.len());
    let cases = std::sync::Arc::new(cases);
    // What so many at once need is there after some thousand.
    mixed(&cases, 5_000);
    let before = Process::settled();
    mixed(&cases, CALLS);
    before.is_left().map_err(Failed::from)
}

fn mixed(cases: &std::sync::Arc<Vec<Case>>, calls: usize) {
    RUNTIME.block_on(async {
        let workers = (0..16).map(|worker| {
            let cases = cases.clone();
            tokio::spawn(async move {
                for n in (worker..calls).step_by(16) {
                    let case = &cases[n % cases.len()];
                    if n % 3 == 0 {
                        case.check(&case.host.call(case.call(n)).await).unwrap();
                    } else {
                        assert_eq!(case.host.call(honest(n)).await.status, Status::Ok);
                    }
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await.unwrap();
        }
    });
}

/// Forty guests that compute for ever, on two cores: a short call, and the host's own clock, go on.
fn forty_at_once() -> Result<(), Failed> {
    let engine = Engine::builder()
        .capacity(witbox::Capacity { calls: 50, memory: 64 << 30, ..witbox::Capacity::default() })
        .build()?;
    let spin = wat::parse_str(
        r#"(component (core module $m (func (export "run") (loop (br 0)))) (core instance $i (instantiate $m))
          (func (export "run") (canon lift (core func $i "run"))))"#,
    )?;
    let limits = Limits { fuel: u64::MAX, timeout: Duration::from_secs(3), ..Limits::default() };
    let mut host = Host::builder(&engine);
    host.toolset("hostile", &Component::new(&engine, &spin)?, Grant::default().limits(limits))?;
    host.toolset("honest", &HONEST_TOOL, Grant::default())?;
    let host = host.build();
    let calls = (0..40).map(|n| Call::new(format!("{n}"), "hostile_run", "{}")).collect();
    let clock = async {
        let mut latest = Duration::ZERO;
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(2) {
            let asked = Instant::now();
            tokio::time::sleep(Duration::from_millis(10)).await;
            latest = latest.max(asked.elapsed());
        }
        latest
    };
    let all = async { tokio::join!(host.call_all(calls), clock) };
    let ((replies, latest), honest, slowest) = RUNTIME.block_on(beside(&host, all));
    if replies.iter().any(|reply| reply.status != Status::Timeout || reply.usage.wall > Duration::from_millis(3_750)) {
        return Err(format!("{replies:?}").into());
    }
    if latest > Duration::from_millis(300) || slowest > Duration::from_secs(1) || honest < 10 {
        return Err(
            format!("the clock was {latest:?} late; the slowest of {honest} honest calls took {slowest:?}").into()
        );
    }
    Ok(())
}

/// What a process holds.
#[derive(Debug)]
struct Process {
    resident: u64,
    threads: u64,
    descriptors: usize,
    temporary: usize,
}

impl Process {
    fn now() -> Self {
        Process {
            resident: status("VmRSS"),
            threads: status("Threads"),
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            temporary: fs::read_dir(std::env::temp_dir()).unwrap().count(),
        }
    }

    /// Once the threads that wait for the system have ended.
    fn settled() -> Self {
        std::thread::sleep(Duration::from_millis(60));
        Process::now()
    }

    /// Whether the process holds no more than this; what ends behind a reply's back is given some time.
    fn is_left(&self) -> Result<(), String> {
        let mut now = Process::settled();
        let started = Instant::now();
        let room = (self.resident / 20).max(8 << 20);
        while now.resident > self.resident + room
            || now.threads > self.threads
            || now.descriptors > self.descriptors
            || now.temporary > self.temporary
        {
            if started.elapsed() > Duration::from_secs(5) {
                return Err(format!("there were {self:?}, and are {now:?}"));
            }
            now = Process::settled();
        }
        Ok(())
    }
}

/// A number of the kernel's on this process; of bytes, where it counts kilobytes.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    let mut words = line.split_whitespace();
    let number: u64 = words.next().unwrap().parse().unwrap();
    if words.next() == Some("kB") { number << 10 } else { number }
}

/// Has the kernel forget the most memory that the process ever had.
fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}
