//! What the guard of files adds to wasmtime-wasi's own: a file that is opened, read and closed a thousand times, and one of
//! 64 MiB that is read whole.
//!
//! `floor` is wasmtime-wasi as it comes, under the same settings; compare the lines of one run only.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot start should stop")]
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::fs;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;
use tokio::runtime::Runtime;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, ResourceTable, Val};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};
use witbox::{Call, FsRule, Grant, Host, Mount, Operation::*, PathPattern, Status};

const TIMES: u32 = 1_000;

struct Stock {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    hooks: NoRequests,
}

/// The probe could send requests, which no benchmark does.
struct NoRequests;

type Processed = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = Result<(http::Response<WasiBody>, Processed), Error>;

impl WasiHttpHooks for NoRequests {
    fn send_request(
        &mut self,
        _request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _processed: Processed,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}

impl WasiHttpView for Stock {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}

impl WasiView for Stock {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The probe on wasmtime-wasi alone.
struct Floor<'f> {
    engine: Engine,
    instance: InstancePre<Stock>,
    component: Component,
    folder: &'f Path,
}

impl<'f> Floor<'f> {
    fn new(bytes: &[u8], folder: &'f Path) -> Self {
        let mut config = Config::new();
        config.consume_fuel(true).concurrency_support(false);
        let engine = Engine::new(&config).unwrap();
        let component = Component::from_binary(&engine, bytes).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).unwrap();
        let instance = linker.instantiate_pre(&component).unwrap();
        Floor { engine, instance, component, folder }
    }

    fn function(&self, name: &str) -> ComponentExportIndex {
        let interface = self.component.get_export_index(None, "witbox:probe/probe@0.1.0").unwrap();
        self.component.get_export_index(Some(&interface), name).unwrap()
    }

    async fn call(&self, function: ComponentExportIndex, arguments: &[Val]) {
        let mut wasi = WasiCtxBuilder::new();
        wasi.preopened_dir(self.folder, "/m", FsPerms::ReadWrite).unwrap();
        let mut store = Store::new(
            &self.engine,
            Stock { wasi: wasi.build(), http: WasiHttpCtx::new(), table: ResourceTable::new(), hooks: NoRequests },
        );
        store.set_fuel(100_000_000_000).unwrap();
        let instance = self.instance.instantiate_async(&mut store).await.unwrap();
        let function = instance.get_func(&mut store, function).unwrap();
        let mut results = [Val::Bool(false)];
        function.call_async(&mut store, arguments, &mut results).await.unwrap();
        assert!(matches!(&results[0], Val::Variant(case, _) if case == "allowed"), "{results:?}");
    }
}

fn rules(grant: Grant) -> Grant {
    let patterns = |texts: &[&str]| -> Vec<PathPattern> { texts.iter().map(|text| text.parse().unwrap()).collect() };
    grant
        .fs(FsRule::deny(&[Read, Write], patterns(&["/m/private/**", "/m/**/.git/**", "/m/**/*.{key,pem}"])))
        .fs(FsRule::ask(&[Write], patterns(&["/m/published/**"])))
        .fs(FsRule::allow(&[Read, Write], patterns(&["/m/**"])))
}

fn files(c: &mut Criterion) {
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("builtin/probe.wasm")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
    fs::write(folder.path().join("a/b/c/small"), "small").unwrap();
    fs::write(folder.path().join("large"), vec![b'x'; 64 << 20]).unwrap();
    let runtime = Runtime::new().unwrap();
    let floor = Floor::new(&bytes, folder.path());
    let engine = witbox::Engine::new().unwrap();
    let component = witbox::Component::new(&engine, &bytes).unwrap();
    let mount = || Grant::default().mount(Mount::read_write(folder.path(), "/m".parse().unwrap()));
    let guarded = [("guard", mount()), ("guard with rules", rules(mount()))].map(|(name, grant)| {
        let limits = witbox::Limits { fuel: 100_000_000_000, ..witbox::Limits::default() };
        let mut host = Host::builder(&engine);
        host.toolset("probe", &component, grant.limits(limits)).unwrap();
        (name, host.build())
    });
    for (group, tool, arguments, values) in [
        (
            "open, read, close",
            "reopen",
            json!({"path": "/m/a/b/c/small", "times": TIMES}),
            vec![Val::String("/m/a/b/c/small".into()), Val::U32(TIMES)],
        ),
        ("read 64 MiB", "read-whole", json!({"path": "/m/large"}), vec![Val::String("/m/large".into())]),
    ] {
        let mut group = c.benchmark_group(group);
        group.sample_size(10);
        let function = floor.function(tool);
        group.bench_function("floor", |b| b.to_async(&runtime).iter(|| floor.call(function, &values)));
        let (name, arguments) = (format!("probe_{}", tool.replace('-', "_")), arguments.to_string());
        for (title, host) in &guarded {
            group.bench_function(*title, |b| {
                b.to_async(&runtime).iter(|| async {
                    let reply = host.call(Call::new("1", &name, &arguments)).await;
                    assert!(reply.status == Status::Ok && reply.text().contains("allowed"), "{}", reply.text());
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, files);
criterion_main!(benches);
