//! What a store holds for its one call.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::crossing::Slice;
use super::denials::Denials;
use super::errors::PlainErrors;
use super::fs::{Guard, GuardedView};
use super::http::{MAX_FIELDS, Requests};
use super::limiter::Limiter;
use super::report::Reports;
use super::run::{Command, Exhausted, Job};
use super::stdio::{Capture, MAX_LOG};
use crate::workspace::Spool;

/// The most handles that a guest may hold on things of the host: open files, streams, pollables, headers. Behind each may be
/// some twenty kilobytes.
const MAX_HANDLES: usize = 512;
/// The most random bytes that a guest gets from one request; it may ask again.
const MAX_RANDOM: u64 = 64 << 10;

/// The host's side of one call.
pub(crate) struct State {
    table: ResourceTable,
    guard: Guard,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Requests,
    pub(super) limiter: Limiter,
    pub(super) slice: Slice,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) denials: Denials,
    pub(super) reports: Reports,
}

impl State {
    /// A state for a call: what its grant names and what a program is started with; without one no arguments and nothing to
    /// read; no sockets.
    pub(super) fn new(job: &Job<'_>, command: Option<Command>) -> Self {
        let Job { grant, shared, clock, .. } = job;
        let mut wasi = WasiCtxBuilder::new();
        let stdout = match command {
            Some(Command { line, stdout }) => {
                wasi.args(&line.args).stdin(MemoryInputPipe::new(line.stdin));
                Capture::new(stdout, Exhausted::Stream)
            }
            None => Capture::new(Spool::in_memory(MAX_LOG), Exhausted::Stdout),
        };
        let stderr = Capture::new(Spool::in_memory(MAX_LOG), Exhausted::Stderr);
        wasi.stdout(stdout.clone())
            .stderr(stderr.clone())
            .max_random_size(MAX_RANDOM)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .envs(&grant.variables().collect::<Vec<_>>());
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(MAX_FIELDS);
        let denials = Denials::default();
        State {
            table,
            guard: Guard::new(job, denials.clone()),
            wasi: wasi.build(),
            http,
            hooks: Requests::new(shared.network.clone(), grant.call_limits(), (*clock).clone(), denials.clone()),
            slice: Slice::begin(),
            limiter: Limiter::new(grant.call_limits().memory, job.arguments),
            stdout,
            stderr,
            denials,
            reports: Reports::to(job.observer.clone()),
        }
    }
}

impl State {
    /// The call's files behind the guard.
    pub(crate) fn files(&mut self) -> GuardedView<'_> {
        let stock = WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table };
        GuardedView { stock, guard: &mut self.guard }
    }

    /// Counts a request that the guest prepares.
    pub(super) fn count_request(&mut self, unsent: u64) -> wasmtime::Result<()> {
        Ok(self.hooks.count(unsent)?)
    }

    /// What the guest says while it runs.
    pub(super) fn reports(&mut self) -> &mut Reports {
        &mut self.reports
    }

    /// The call's errors without backtraces.
    pub(crate) fn errors(&mut self) -> PlainErrors<'_> {
        PlainErrors(&mut self.table)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}
