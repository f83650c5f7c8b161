//! One for the process: the engine's settings and the linker with everything that a guest may import.

mod admission;
mod stubs;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::component::{InstancePre, Linker};
use wasmtime::{Config, Strategy};
use wasmtime_wasi::p2::bindings::{filesystem, io};

pub use admission::Capacity;
pub(crate) use admission::{Admission, QueueFull};

use crate::error::{Error, Kind};
use crate::sandbox::{Guarded, Plain, State};

/// How often guests that are composed of several give way: short enough for a timeout, too seldom to cost anything.
const TICK: Duration = Duration::from_millis(10);

/// Compiles and runs components. One for a process is enough; clones share everything.
#[derive(Clone)]
pub struct Engine {
    plain: Linker<State>,
    composed: Arc<OnceLock<Linker<State>>>,
    admission: Arc<Admission>,
    capacity: Capacity,
}

impl Engine {
    /// An engine for this machine, whose calls have the default [`Capacity`] together.
    ///
    /// # Errors
    /// When the machine lacks what compiled code needs, such as a kind of processor that the compiler knows.
    pub fn new() -> Result<Self, Error> {
        Engine::with_capacity(Capacity::default())
    }

    /// An engine for this machine, whose calls have this capacity together, whichever hosts they are of.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_capacity(capacity: Capacity) -> Result<Self, Error> {
        let plain = linker(&settings()).map_err(unsupported)?;
        let admission = Arc::new(Admission::new(&capacity));
        Ok(Engine { plain, composed: Arc::default(), admission, capacity })
    }

    /// Who lets calls in.
    pub(crate) fn admission(&self) -> &Admission {
        &self.admission
    }

    /// What its calls may use together.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// The engine for plain components, or the one for those that are composed of several.
    ///
    /// Between components of one composition strings are transcoded by the engine itself, which counts no fuel, so that
    /// fuel alone would let such a guest run for hours without giving way. Epochs stop it, at a cost that other guests
    /// should not pay.
    pub(crate) fn inner(&self, is_composed: bool) -> Result<&wasmtime::Engine, Error> {
        Ok(self.linker(is_composed)?.engine())
    }

    /// Links a component once for all its calls. Imports that witbox does not know are linked too, and fail when they
    /// are used.
    pub(crate) fn link(
        &self,
        component: &wasmtime::component::Component,
        is_composed: bool,
    ) -> Result<InstancePre<State>, Error> {
        let mut linker = self.linker(is_composed)?.clone();
        let linked =
            stubs::define(&mut linker, component.engine(), component).and_then(|()| linker.instantiate_pre(component));
        linked.map_err(|error| Kind::Link(format!("{error:#}")).into())
    }

    fn linker(&self, is_composed: bool) -> Result<&Linker<State>, Error> {
        if !is_composed {
            return Ok(&self.plain);
        }
        if let Some(linker) = self.composed.get() {
            return Ok(linker);
        }
        let mut settings = settings();
        settings.epoch_interruption(true);
        let linker = linker(&settings).map_err(unsupported)?;
        tick(linker.engine()).map_err(|error| Kind::Engine(error.to_string()))?;
        // Whoever comes first decides; another's engine goes, and its clock with it.
        Ok(self.composed.get_or_init(|| linker))
    }
}

fn linker(settings: &Config) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(&wasmtime::Engine::new(settings)?);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    // The guard takes the place of what was linked for files, and errors lose their backtraces.
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<State, Guarded>(&mut linker, State::files)?;
    filesystem::preopens::add_to_linker::<State, Guarded>(&mut linker, State::files)?;
    io::error::add_to_linker::<State, Plain>(&mut linker, State::errors)?;
    linker.allow_shadowing(false);
    Ok(linker)
}

fn unsupported(error: wasmtime::Error) -> Error {
    Kind::Engine(format!("{error:#}")).into()
}

/// Advances an engine's epoch for as long as the engine lives.
fn tick(engine: &wasmtime::Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let clock = std::thread::Builder::new().name("witbox-epoch".to_owned());
    clock.spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    })?;
    Ok(())
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

fn settings() -> Config {
    let mut config = Config::new();
    config
        // Winch is younger and checks less.
        .strategy(Strategy::Cranelift)
        .consume_fuel(true)
        // Without it a store costs half as much; `async func`, streams and futures need it.
        .concurrency_support(false)
        .wasm_component_model_map(true)
        .wasm_component_model_fixed_length_lists(true)
        // Proposals that no componentizer needs by default, and whose implementations are the youngest.
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_threads(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false);
    config
}
