//! One for the process: the engine's settings and the linker with everything that a guest may import.

mod stubs;

use wasmtime::component::{InstancePre, Linker};
use wasmtime::{Config, Strategy};

use crate::error::{Error, Kind};
use crate::sandbox::State;

/// Compiles and runs components. One for a process is enough; clones share everything.
#[derive(Clone)]
pub struct Engine {
    inner: wasmtime::Engine,
    linker: Linker<State>,
}

impl Engine {
    /// An engine for this machine.
    ///
    /// # Errors
    /// When the machine lacks what compiled code needs, such as a kind of processor that the compiler knows.
    pub fn new() -> Result<Self, Error> {
        let start = || -> wasmtime::Result<Engine> {
            let inner = wasmtime::Engine::new(&settings())?;
            let mut linker = Linker::new(&inner);
            wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
            wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
            Ok(Engine { inner, linker })
        };
        start().map_err(|error| Kind::Engine(format!("{error:#}")).into())
    }

    pub(crate) fn inner(&self) -> &wasmtime::Engine {
        &self.inner
    }

    /// Links a component once for all its calls. Imports that witbox does not know are linked too, and fail when they
    /// are used.
    pub(crate) fn link(&self, component: &wasmtime::component::Component) -> wasmtime::Result<InstancePre<State>> {
        let mut linker = self.linker.clone();
        stubs::define(&mut linker, &self.inner, component)?;
        linker.instantiate_pre(component)
    }
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
