//! Each way to misbehave is stopped by the limit that is for it, while honest calls beside it run as ever.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::time::Duration;

use support::{ENGINE, host};
use witbox::{Call, Capacity, Component, Engine, Grant, Limits, Placement, Reply, Status};

fn probe(limits: Limits) -> witbox::Host {
    let component = Component::builtin(&ENGINE, "probe").unwrap();
    host("probe", &component, Grant::default().limits(limits))
}

fn limits() -> Limits {
    Limits { fuel: 500_000_000, memory: 64 << 20, timeout: Duration::from_secs(20), ..Limits::default() }
}

fn kind(reply: &Reply) -> &str {
    reply.error.as_ref().map_or("", |error| error.kind.as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_calls_are_stopped_and_honest_ones_beside_them_are_not() {
    let hostile = [
        ("probe_spin", "{}", Status::Limit, "fuel"),
        ("probe_allocate_all", "{}", Status::Limit, "memory"),
        ("probe_recurse", r#"{"depth": 100000000}"#, Status::Limit, "stack"),
        ("probe_flood_stdout", r#"{"bytes": 100000000}"#, Status::Limit, "stdout"),
        ("probe_flood_stderr", r#"{"bytes": 100000000}"#, Status::Limit, "stderr"),
        ("probe_answer", r#"{"bytes": 20000000}"#, Status::Limit, "output"),
        ("probe_crash", r#"{"message": "boom"}"#, Status::Trap, "trap"),
        ("probe_exit", r#"{"code": 0}"#, Status::Trap, "trap"),
    ];
    let mut calls = Vec::new();
    for (index, (tool, arguments, ..)) in hostile.iter().enumerate() {
        calls.push(Call::new(format!("hostile {index}"), *tool, *arguments));
        calls.push(Call::new(format!("honest {index}"), "probe_answer", r#"{"bytes": 3}"#));
    }
    let replies = probe(limits()).call_all(calls.clone()).await;
    assert_eq!(replies.len(), calls.len());
    for (call, reply) in calls.iter().zip(&replies) {
        assert_eq!((&call.id, &call.tool), (&reply.id, &reply.tool), "replies come in the order of the calls");
    }
    for ((tool, _, status, limit), pair) in hostile.iter().zip(replies.chunks(2)) {
        assert_eq!((pair[0].status, kind(&pair[0])), (*status, *limit), "{tool}: {:?}", pair[0]);
        assert!(!pair[0].text().is_empty(), "{tool} has a reason that a model can read");
        assert_eq!((pair[1].status, pair[1].text().as_str()), (Status::Ok, "xxx"), "beside {tool}");
    }
}

#[tokio::test]
async fn a_call_that_waits_in_the_host_ends_at_its_timeout() {
    let mut limits = limits();
    limits.timeout = Duration::from_millis(200);
    let reply = probe(limits).call(Call::new("1", "probe_sleep", r#"{"milliseconds": 3600000}"#)).await;
    assert_eq!(reply.status, Status::Timeout);
    assert!(reply.usage.wall >= Duration::from_millis(200), "{:?}", reply.usage);
}

#[tokio::test(flavor = "current_thread")]
async fn a_guest_that_computes_gives_way_even_on_one_thread() {
    let mut limits = limits();
    limits.fuel = u64::MAX;
    limits.timeout = Duration::from_millis(300);
    let calls = vec![Call::new("spin", "probe_spin", "{}"), Call::new("short", "probe_answer", r#"{"bytes": 1}"#)];
    let replies = probe(limits).call_all(calls).await;
    assert_eq!(replies[0].status, Status::Timeout);
    assert_eq!(replies[1].status, Status::Ok);
    assert!(replies[1].usage.wall < replies[0].usage.wall);
}

#[tokio::test]
async fn fuel_stops_a_guest_at_the_same_count_every_time() {
    let host = probe(limits());
    let call = || Call::new("1", "probe_answer", r#"{"bytes": 1000}"#);
    let first = host.call(call()).await.usage.fuel;
    assert!(first > 0);
    assert_eq!(host.call(call()).await.usage.fuel, first);
}

#[tokio::test]
async fn cancelled_calls_have_replies_too() {
    let host = probe(Limits::default());
    let calls = vec![
        Call::new("short", "probe_answer", r#"{"bytes": 1}"#),
        Call::new("long", "probe_sleep", r#"{"milliseconds": 3600000}"#),
    ];
    let replies = host.call_all_until(calls, tokio::time::sleep(Duration::from_millis(500))).await;
    let statuses: Vec<_> = replies.iter().map(|reply| (reply.id.as_str(), reply.status)).collect();
    assert_eq!(statuses, [("short", Status::Ok), ("long", Status::Cancelled)]);
}

#[tokio::test]
async fn missing_empty_and_doubled_ids_have_one_reply_each_and_do_not_run() {
    let host = probe(limits());
    let call = |id: &str| Call::new(id, "probe_answer", r#"{"bytes": 1}"#);
    let replies = host.call_all(vec![call("a"), call(""), call("a"), call("b")]).await;
    let statuses: Vec<_> = replies.iter().map(|reply| (reply.id.as_str(), reply.status)).collect();
    assert_eq!(statuses, [("a", Status::Ok), ("", Status::Invalid), ("a", Status::Invalid), ("b", Status::Ok)]);
    assert_eq!(replies[1].usage.fuel + replies[2].usage.fuel, 0);
    assert!(replies[2].text().contains("call 1 of the message"), "{}", replies[2].text());
}

#[tokio::test]
async fn memory_of_all_instances_counts_together() {
    // Two memories of 40 pages each, under a budget of 60.
    let component = support::wat(
        r#"(component
          (core module $a (memory 40) (func (export "run")))
          (core instance $one (instantiate $a))
          (core instance $two (instantiate $a))
          (func (export "run") (canon lift (core func $two "run"))))"#,
    );
    let mut limits = limits();
    limits.memory = 60 * 65536;
    let reply =
        host("t", &component, Grant::default().limits(limits.clone())).call(Call::new("1", "t_run", "{}")).await;
    assert_eq!((reply.status, kind(&reply)), (Status::Limit, "memory"), "{reply:?}");
    limits.memory = 80 * 65536;
    let reply = host("t", &component, Grant::default().limits(limits)).call(Call::new("1", "t_run", "{}")).await;
    assert_eq!(reply.status, Status::Ok);
    assert_eq!(reply.usage.memory_bytes, 80 * 65536);
}

#[tokio::test]
async fn things_of_the_host_are_counted() {
    // Seventy memories, and a resource that is made for ever.
    let memories: String = (0..70).map(|n| format!("(core instance $i{n} (instantiate $a))")).collect();
    let many = format!(
        r#"(component
          (core module $a (memory 1) (func (export "run")))
          {memories}
          (func (export "run") (canon lift (core func $i0 "run"))))"#
    );
    let handles = r#"(component
      (type $thing (resource (rep i32)))
      (core func $new (canon resource.new $thing))
      (core module $m
        (import "host" "new" (func $new (param i32) (result i32)))
        (func (export "run") (loop (drop (call $new (i32.const 0))) (br 0))))
      (core instance $i (instantiate $m (with "host" (instance (export "new" (func $new))))))
      (func (export "run") (canon lift (core func $i "run"))))"#;
    for text in [many.as_str(), handles] {
        let grant = Grant::default().limits(limits());
        let reply = host("t", &support::wat(text), grant).call(Call::new("1", "t_run", "{}")).await;
        assert_eq!((reply.status, kind(&reply)), (Status::Limit, "objects"), "{reply:?}");
    }
}

#[tokio::test]
async fn bytes_of_the_output_limit_are_returned_and_more_are_not() {
    let component =
        Component::new(&ENGINE, &support::echo("package t:t; world w { export echo: func(v: list<u8>) -> list<u8>; }"))
            .unwrap();
    let mut limits = limits();
    limits.input = 20 << 20;
    limits.output = 4 << 20;
    // Each byte takes forty on its way in, and on its way out.
    limits.memory = 300 << 20;
    let host = host("t", &component, Grant::default().limits(limits));
    // Four characters for three bytes.
    for (characters, status) in [(4 << 20, Status::Ok), ((4 << 20) + 4, Status::Limit)] {
        let text = "A".repeat(characters);
        let reply = host.call(Call::new("1", "t_echo", format!(r#"{{"v": "{text}"}}"#))).await;
        assert_eq!(reply.status, status, "{characters}: {:?}", reply.error);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn components_that_pass_each_other_long_strings_are_stopped_in_time() {
    // The engine transcodes sixty megabytes for each turn of a loop that costs next to no fuel.
    let component = support::wat(
        r#"(component
          (component $reader
            (core module $m (memory (export "memory") 2000)
              (func (export "f") (param i32 i32))
              (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0)))
            (core instance $i (instantiate $m))
            (func (export "f") (param "s" string)
              (canon lift (core func $i "f") (memory (core memory $i "memory"))
                (realloc (core func $i "realloc")) string-encoding=utf16)))
          (instance $reader (instantiate $reader))
          (component $writer
            (import "f" (func $f (param "s" string)))
            (core module $memory (memory (export "memory") 1000))
            (core instance $memory (instantiate $memory))
            (core func $f' (canon lower (func $f) (memory (core memory $memory "memory"))))
            (core module $m
              (import "i" "f" (func $f (param i32 i32)))
              (func (export "run") (loop (call $f (i32.const 0) (i32.const 60000000)) (br 0))))
            (core instance $i (instantiate $m (with "i" (instance (export "f" (func $f'))))))
            (func (export "run") (canon lift (core func $i "run"))))
          (instance $writer (instantiate $writer (with "f" (func $reader "f"))))
          (export "run" (func $writer "run")))"#,
    );
    let mut limits = limits();
    limits.memory = 256 << 20;
    limits.timeout = Duration::from_millis(500);
    let host = host("t", &component, Grant::default().limits(limits));
    let reply = host.call(Call::new("1", "t_run", "{}")).await;
    assert_eq!(reply.status, Status::Timeout, "{reply:?}");
    assert!(reply.usage.fuel < 1_000_000, "fuel alone would not have stopped it: {:?}", reply.usage);
}

/// A host with an engine of its own, for calls that get in each other's way.
fn probe_within(capacity: Capacity, limits: Limits) -> witbox::Host {
    let engine = Engine::builder().capacity(capacity).build().unwrap();
    let mut builder = witbox::Host::builder(&engine);
    let component = Component::builtin(&engine, "probe").unwrap();
    builder.toolset("probe", &component, Grant::default().limits(limits)).unwrap();
    builder.build()
}

fn sleeps(count: usize, milliseconds: u64) -> Vec<Call> {
    let call = |n| Call::new(format!("{n}"), "probe_sleep", format!(r#"{{"milliseconds": {milliseconds}}}"#));
    (0..count).map(call).collect()
}

fn count(replies: &[Reply], status: Status) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_the_queue_are_answered_at_once() {
    let capacity = Capacity { calls: 2, queue: 3, ..Capacity::default() };
    let replies = probe_within(capacity, limits()).call_all(sleeps(8, 300)).await;
    assert_eq!((count(&replies, Status::Ok), count(&replies, Status::Limit)), (5, 3));
    for reply in replies.iter().filter(|reply| reply.status == Status::Limit) {
        assert_eq!(kind(reply), "queue");
        assert!(reply.text().contains("call again later"), "{}", reply.text());
        assert_eq!(reply.usage.fuel, 0);
    }
    // Two by two, in the order in which they came.
    let walls: Vec<_> =
        replies.iter().filter(|reply| reply.status == Status::Ok).map(|reply| reply.usage.wall).collect();
    assert!(walls[0] < walls[2] && walls[2] < walls[4], "{walls:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_place_counts() {
    let engine = Engine::builder().capacity(Capacity { calls: 1, ..Capacity::default() }).build().unwrap();
    let component = Component::builtin(&engine, "probe").unwrap();
    let mut builder = witbox::Host::builder(&engine);
    builder.toolset("probe", &component, Grant::default().limits(limits())).unwrap();
    let limits = Limits { timeout: Duration::from_millis(200), ..limits() };
    builder.toolset("hasty", &component, Grant::default().limits(limits)).unwrap();
    let mut calls = sleeps(1, 600);
    calls.push(Call::new("short", "hasty_answer", r#"{"bytes": 1}"#));
    let replies = builder.build().call_all(calls).await;
    assert_eq!((replies[0].status, replies[1].status), (Status::Ok, Status::Timeout));
    assert!(replies[1].text().contains("did not start"), "{}", replies[1].text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_wait_for_the_memory_that_they_may_use() {
    let limits = limits();
    let capacity = Capacity { calls: 8, memory: 2 * limits.memory, ..Capacity::default() };
    let replies = probe_within(capacity, limits).call_all(sleeps(3, 200)).await;
    assert_eq!(count(&replies, Status::Ok), 3);
    assert!(replies[2].usage.wall >= Duration::from_millis(400), "{:?}", replies[2].usage);
    assert!(replies[1].usage.wall < replies[2].usage.wall);
}

#[test]
fn a_call_that_could_never_have_its_memory_is_refused_at_load() {
    let engine = Engine::builder().capacity(Capacity { memory: 1 << 20, ..Capacity::default() }).build().unwrap();
    let component = Component::builtin(&engine, "probe").unwrap();
    let mut builder = witbox::Host::builder(&engine);
    let error = builder.toolset("probe", &component, Grant::default()).map(drop).unwrap_err();
    assert!(error.is_toolset() && error.to_string().contains("all calls together 1048576"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_that_are_given_up_leave_no_place_taken() {
    let capacity = Capacity { calls: 2, ..Capacity::default() };
    let host = probe_within(capacity, limits());
    for round in 0..100u64 {
        let calls = sleeps(10, 3_600_000);
        let replies = host.call_all_until(calls, tokio::time::sleep(Duration::from_micros(round * 50))).await;
        assert_eq!(count(&replies, Status::Cancelled), 10, "{replies:?}");
    }
    let replies = host.call_all(sleeps(12, 1)).await;
    assert_eq!(count(&replies, Status::Ok), 12, "{replies:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reply_comes_in_time_though_the_guest_does_not_give_way() {
    // Each turn of the loop fills a gigabyte, and no turn gives way in the middle.
    let component = support::wat(
        r#"(component
          (core module $m (memory 16384)
            (func (export "run") (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 1073741824)) (br 0))))
          (core instance $i (instantiate $m))
          (func (export "run") (canon lift (core func $i "run"))))"#,
    );
    let limits = Limits { fuel: u64::MAX, memory: 1 << 30, timeout: Duration::from_millis(50), ..Limits::default() };
    let host = host("t", &component, Grant::default().limits(limits));
    let reply = host.call(Call::new("1", "t_run", "{}")).await;
    assert_eq!(reply.status, Status::Timeout, "{reply:?}");
    // The operation alone takes longer than that, as the machine of a test does nothing else.
    assert!(reply.usage.wall < Duration::from_millis(200), "{:?}", reply.usage);
}

#[tokio::test]
async fn a_component_that_the_pool_has_no_room_for_runs_all_the_same() {
    let run = r#"(core instance $i (instantiate $m))
      (func (export "run") (result u32) (canon lift (core func $i "run"))))"#;
    let export = r#"(func (export "run") (result i32) (i32.const 7)))"#;
    let many = |what: &str, count: usize| what.repeat(count);
    let memories: String = (0..5).map(|n| format!("(core instance $i{n} (instantiate $m))")).collect();
    let instances: String = (0..300).map(|n| format!("(core instance $i{n} (instantiate $m))")).collect();
    let cases = [
        ("a plain one", true, format!("(component (core module $m (memory 1) (table 1 funcref) {export} {run}")),
        (
            "two tables in a module",
            false,
            format!("(component (core module $m {} {export} {run}", many("(table 1 funcref)", 2)),
        ),
        (
            "two memories in a module",
            false,
            format!("(component (core module $m {} {export} {run}", many("(memory 1)", 2)),
        ),
        ("five memories", false, format!("(component (core module $m (memory 1) {export} {memories} {run}")),
        ("three hundred instances", false, format!("(component (core module $m {export} {instances} {run}")),
        ("a large memory", false, format!("(component (core module $m (memory 4097) {export} {run}")),
        ("a table for all of it", true, format!("(component (core module $m (table 8000000 funcref) {export} {run}")),
        ("a larger table", false, format!("(component (core module $m (table 33600000 funcref) {export} {run}")),
        (
            "many globals",
            false,
            format!(
                "(component (core module $m {} {export} {run}",
                many("(global v128 (v128.const i64x2 0 0))", 300_000)
            ),
        ),
    ];
    for (what, pooled, text) in cases {
        let component = support::wat(&text);
        let placement = ENGINE.placement(&component).unwrap();
        assert_eq!(placement == Placement::Pooled, pooled, "{what}: {placement}");
        let limits = Limits { memory: 1 << 30, ..limits() };
        for memory in [64 << 20, 256 << 20, 1 << 30] {
            let limits = Limits { memory, ..limits.clone() };
            let reply =
                host("t", &component, Grant::default().limits(limits)).call(Call::new("1", "t_run", "{}")).await;
            match reply.status {
                Status::Ok => assert_eq!(reply.text(), "7", "{what}"),
                // The grant refuses it, and never the pool.
                _ => assert_eq!((kind(&reply), memory < 1 << 30), ("memory", true), "{what}: {reply:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_many_components_at_once_never_exceed_the_pool() {
    // Each takes all that one call may have of the pool, and all are called for the first time at once.
    let engine = Engine::builder().capacity(Capacity { calls: 3, ..Capacity::default() }).build().unwrap();
    let mut builder = witbox::Host::builder(&engine);
    for n in 0..20 {
        let instances: String = (0..4).map(|n| format!("(core instance $i{n} (instantiate $m))")).collect();
        let text = format!(
            r#"(component (core module $m (memory 1) (table 10 funcref) (func (export "run") (result i32) (i32.const {n})))
            {instances} (func (export "run") (result u32) (canon lift (core func $i0 "run"))))"#
        );
        let component = Component::new(&engine, &wat::parse_str(text).unwrap()).unwrap();
        assert_eq!(engine.placement(&component).unwrap(), Placement::Pooled);
        builder.toolset(&format!("t{n}"), &component, Grant::default()).unwrap();
    }
    let host = builder.build();
    for _ in 0..20 {
        let calls = (0..100).map(|n| Call::new(format!("{n}"), format!("t{}_run", n % 20), "{}")).collect();
        for (n, reply) in host.call_all(calls).await.into_iter().enumerate() {
            assert_eq!((reply.status, reply.text()), (Status::Ok, (n % 20).to_string()), "{reply:?}");
        }
    }
}

/// A resolver that takes the thread with it, as a call to a system that does not answer would.
#[derive(Debug)]
struct Stuck;

#[async_trait::async_trait]
impl witbox::Resolve for Stuck {
    async fn resolve(&self, _name: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        std::thread::sleep(Duration::from_secs(2));
        Err(std::io::ErrorKind::NotFound.into())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reply_comes_in_time_though_the_host_itself_is_stuck() {
    let engine = Engine::new().unwrap();
    let component = Component::builtin(&engine, "probe").unwrap();
    let mut builder = witbox::Host::builder(&engine);
    let limits = Limits { timeout: Duration::from_millis(200), ..limits() };
    let grant = Grant::default().http(witbox::HttpRule::new("https://stuck.example".parse().unwrap()));
    builder.resolver(std::sync::Arc::new(Stuck)).toolset("probe", &component, grant.limits(limits)).unwrap();
    let host = builder.build();
    let reply = host.call(Call::new("1", "probe_fetch", r#"{"url": "https://stuck.example/"}"#)).await;
    assert_eq!(reply.status, Status::Timeout, "{reply:?}");
    assert!(reply.usage.wall < Duration::from_millis(600), "{:?}", reply.usage);
}
