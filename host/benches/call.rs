//! What witbox adds to the engine's own cost of a call: one small tool, 100 bytes in and out, a fresh store and
//! instance each time.
//!
//! `floor` is bare wasmtime under the same settings; compare the lines of one run only.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot start should stop")]
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use criterion::{Criterion, criterion_group, criterion_main};
use wasmtime::component::{InstancePre, Linker, Val};
use wasmtime::{Config, Engine, Store};
use witbox::{Call, Component, Grant, Host};

/// `echo: func(text: string) -> string`, in a memory of one page.
const ECHO: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 0) (local.get 0))
      (i32.store (i32.const 4) (local.get 1))
      (i32.const 0))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $i (instantiate $m))
  (func (export "echo") (param "text" string) (result string)
    (canon lift (core func $i "echo") (memory $i "memory") (realloc (func $i "cabi_realloc")))))"#;

fn call(c: &mut Criterion) {
    let bytes = wat::parse_str(ECHO).unwrap();
    let text = "x".repeat(100);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut group = c.benchmark_group("call");

    let engine = bare_engine();
    let component = wasmtime::component::Component::from_binary(&engine, &bytes).unwrap();
    let instance = Linker::<()>::new(&engine).instantiate_pre(&component).unwrap();
    let function = component.get_export_index(None, "echo").unwrap();
    group.bench_function("floor", |b| {
        b.to_async(&runtime).iter(|| bare_call(&engine, &instance, function, &text));
    });

    let engine = witbox::Engine::new().unwrap();
    let component = Component::new(&engine, &bytes).unwrap();
    let mut host = Host::builder(&engine);
    host.toolset("t", &component, Grant::default()).unwrap();
    let host = host.build();
    let arguments = format!(r#"{{"text": "{text}"}}"#);
    group.bench_function("witbox", |b| {
        b.to_async(&runtime).iter(|| async {
            let reply = host.call(Call::new("1", "t_echo", &arguments)).await;
            assert_eq!(reply.text().len(), text.len());
        });
    });
    group.finish();
}

/// The engine's settings that a call's cost depends on, as witbox has them.
fn bare_engine() -> Engine {
    let mut config = Config::new();
    config.consume_fuel(true).concurrency_support(false);
    Engine::new(&config).unwrap()
}

async fn bare_call(
    engine: &Engine,
    instance: &InstancePre<()>,
    function: wasmtime::component::ComponentExportIndex,
    text: &str,
) {
    let mut store = Store::new(engine, ());
    store.set_fuel(1_000_000_000).unwrap();
    let instance = instance.instantiate_async(&mut store).await.unwrap();
    let function = instance.get_func(&mut store, function).unwrap();
    let mut results = [Val::Bool(false)];
    function.call_async(&mut store, &[Val::String(text.to_owned())], &mut results).await.unwrap();
    assert!(matches!(&results[0], Val::String(out) if out.len() == text.len()));
}

criterion_group!(benches, call);
criterion_main!(benches);
