//! One for the process: the engines with their settings, the linkers with everything that a guest may import, and who is
//! let in.

mod admission;
mod settings;
mod stubs;
#[cfg(test)]
mod suite;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;
use wasmtime::component::{InstancePre, Linker};
use wasmtime_wasi::p2::bindings::{filesystem, io};

pub use admission::Capacity;
pub(crate) use admission::{Admission, QueueFull};
pub(crate) use settings::Compiler;

use crate::component::{Cache, Compile, Compiled, Component, InProcess, WeakComponent};
use crate::error::{Error, Kind};
use crate::sandbox::{Guarded, Plain, State, bound_requests, list_in_parts, take_reports};

/// How often guests that are composed of several give way: short enough for a timeout, too seldom to cost anything.
const TICK: Duration = Duration::from_millis(10);

/// Compiles and runs components. One for a process is enough; clones share everything.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

struct Shared {
    /// Keeps memories, tables and stacks ready for the next call; or why it does not.
    pooled: Result<Pool, String>,
    on_demand: OnceLock<Linker<State>>,
    composed: OnceLock<Linker<State>>,
    /// Whether the epochs of the composed engine go on.
    ticking: Mutex<bool>,
    /// Those that come with witbox and were used.
    builtins: Mutex<HashMap<&'static str, Component>>,
    /// Those of files that somebody uses, by digest.
    used: Mutex<HashMap<String, WeakComponent>>,
    admission: Admission,
    capacity: Capacity,
    compiler: Arc<dyn Compile>,
    cache: Option<Cache>,
    max_component: u64,
    /// Of everything that decides on compiled code.
    code_id: u64,
}

/// The engine that keeps memory ready, and what links on it, which is made when something is first linked.
struct Pool {
    engine: wasmtime::Engine,
    linker: OnceLock<Linker<State>>,
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Placement::Pooled => f.write_str("in memory that is kept ready"),
            Placement::OnDemand(reason) => write!(f, "in memory made for each call: {reason}"),
            Placement::Composed => {
                f.write_str("in memory made for each call, interruptible: it is composed of several")
            }
        }
    }
}

/// What an [`Engine`] is made with.
pub struct EngineBuilder {
    capacity: Capacity,
    compiler: Arc<dyn Compile>,
    cache: Option<Cache>,
    max_component: u64,
}

/// The largest component that is read, in bytes, where nothing else is said. Those of Python have some 20 to 40 MB.
pub(crate) const MAX_COMPONENT: u64 = 64 << 20;

/// How many components may be remembered before those are forgotten that nobody uses.
const MANY: usize = 1_000;

/// Where a component's calls run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "reason")]
#[non_exhaustive]
pub enum Placement {
    /// In memory that is kept ready.
    Pooled,
    /// In memory that is made for each call, and why.
    OnDemand(String),
    /// The same, on an engine that can interrupt what the engine itself does between components of one composition.
    Composed,
}

/// A component that is ready to be called.
pub(crate) struct Linked {
    pub(crate) instance: InstancePre<State>,
    pub(crate) placement: Placement,
}

impl Engine {
    /// An engine for this machine with the default [`Capacity`], which compiles in this process.
    ///
    /// # Errors
    /// When the machine lacks what compiled code needs, such as a kind of processor that the compiler knows.
    pub fn new() -> Result<Self, Error> {
        Engine::builder().build()
    }

    /// An engine with settings of its own.
    ///
    /// ```
    /// # fn main() -> Result<(), witbox::Error> {
    /// let capacity = witbox::Capacity { calls: 2, ..witbox::Capacity::default() };
    /// let engine = witbox::Engine::builder().capacity(capacity).build()?;
    /// assert_eq!(engine.capacity().calls, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> EngineBuilder {
        EngineBuilder {
            capacity: Capacity::default(),
            compiler: Arc::new(InProcess::default()),
            cache: None,
            max_component: MAX_COMPONENT,
        }
    }

    /// What its calls may use together.
    pub fn capacity(&self) -> &Capacity {
        &self.0.capacity
    }

    /// Why it keeps no memory ready for calls; nothing where it does.
    pub fn not_pooled(&self) -> Option<&str> {
        self.0.pooled.as_ref().err().map(String::as_str)
    }

    /// Who lets calls in.
    pub(crate) fn admission(&self) -> &Admission {
        &self.0.admission
    }

    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.0.cache.as_ref()
    }

    pub(crate) fn max_component(&self) -> u64 {
        self.0.max_component
    }

    pub(crate) fn code_id(&self) -> u64 {
        self.0.code_id
    }

    /// A component that comes with witbox, loaded once.
    pub(crate) fn builtin(
        &self,
        name: &'static str,
        load: impl FnOnce() -> Result<Component, Error>,
    ) -> Result<Component, Error> {
        let mut builtins = self.0.builtins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(component) = builtins.get(name) {
            return Ok(component.clone());
        }
        let component = load()?;
        builtins.insert(name, component.clone());
        Ok(component)
    }

    /// The component with a digest that somebody uses already.
    pub(crate) fn used(&self, digest: &str) -> Option<Component> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner).get(digest)?.upgrade()
    }

    /// Remembers a component for as long as somebody uses it, so that others of the same digest share its code.
    pub(crate) fn remember(&self, component: &Component) {
        let mut used = self.0.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MANY {
            used.retain(|_, component| component.upgrade().is_some());
        }
        used.insert(component.digest().to_owned(), component.downgrade());
    }

    /// Compiles a component, and keeps what came of it.
    pub(crate) fn compile(&self, component: &[u8]) -> Result<Compiled, Error> {
        let mut compiled = self.0.compiler.compile(component)?;
        // A full disk, say, costs time at the next start and nothing else.
        let kept = self.0.cache.as_ref().map_or(Ok(()), |cache| cache.keep(&compiled, self.0.code_id));
        // A process that has given up to write there knows.
        if let Err(error) = kept
            && error.kind() != std::io::ErrorKind::PermissionDenied
        {
            compiled.note(format!("its compiled code is not kept for the next start: {error}"));
        }
        Ok(compiled)
    }

    /// Links a component once for all its calls, each with so much memory. Imports that witbox does not know are linked
    /// too, and fail when they are used.
    pub(crate) fn link(&self, component: &Component, memory: u64) -> Result<Linked, Error> {
        if component.is_composed() {
            return self.link_on(self.composed()?, component, Placement::Composed);
        }
        let reason = match &self.0.pooled {
            Ok(_) if memory > self.0.capacity.call_memory => {
                "its calls may use more memory than is kept ready".to_owned()
            }
            Ok(pool) => match component.code(self, &pool.engine) {
                Ok(_) => {
                    let linker = made(&pool.linker, || linker(&pool.engine))?;
                    return self.link_on(linker, component, Placement::Pooled);
                }
                // Its shape, or the code itself; the other engine tells.
                Err(reason) => reason.to_string(),
            },
            Err(reason) => reason.clone(),
        };
        self.link_on(on_demand_in(&self.0.on_demand)?, component, Placement::OnDemand(reason))
    }

    fn link_on(&self, linker: &Linker<State>, component: &Component, placement: Placement) -> Result<Linked, Error> {
        let code = component.code(self, linker.engine())?;
        let mut linker = linker.clone();
        let linked = stubs::define(&mut linker, code.engine(), &code).and_then(|()| linker.instantiate_pre(&code));
        let instance = linked.map_err(|error| Kind::Link(format!("{error:#}")))?;
        Ok(Linked { instance, placement })
    }

    /// Between components of one composition strings are transcoded by the engine itself, which counts no fuel, so that
    /// fuel alone would let such a guest run for hours without giving way. Epochs stop it, at a cost in every loop that
    /// other guests should not pay.
    fn composed(&self) -> Result<&Linker<State>, Error> {
        made(&self.0.composed, || linker(&wasmtime::Engine::new(&settings::composed())?))
    }

    /// Has the epochs of a component's engine go on, where it has any. Nothing is started before it is needed: what a
    /// process gives up before its calls binds no thread that runs already.
    pub(crate) fn keep_time(&self, component: &wasmtime::component::Component) -> std::io::Result<()> {
        let mut ticking = self.0.ticking.lock().unwrap_or_else(PoisonError::into_inner);
        if !*ticking {
            tick(component.engine())?;
            *ticking = true;
        }
        Ok(())
    }

    /// Where the calls of a component run, with as much memory as is kept ready.
    ///
    /// # Errors
    /// When it cannot run at all: an import does not fit what the host provides under that name.
    pub fn placement(&self, component: &Component) -> Result<Placement, Error> {
        Ok(self.link(component, self.0.capacity.call_memory)?.placement)
    }
}

impl EngineBuilder {
    /// What its calls may use together, whichever hosts they are of.
    pub fn capacity(mut self, capacity: Capacity) -> Self {
        self.capacity = capacity;
        self
    }

    /// Who compiles components. Without, that happens in this process.
    pub fn compiler(mut self, compiler: Arc<dyn Compile>) -> Self {
        self.compiler = compiler;
        self
    }

    /// Where compiled components are kept. Without, each is compiled anew by each process.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The largest component that is read, in bytes. Default: 64 MiB.
    pub fn max_component(mut self, bytes: u64) -> Self {
        self.max_component = bytes;
        self
    }

    /// The engine.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn build(self) -> Result<Engine, Error> {
        let pooled = wasmtime::Engine::new(&settings::pooled(&self.capacity));
        let pooled = pooled.map(|engine| Pool { engine, linker: OnceLock::new() });
        let on_demand = OnceLock::new();
        let any = match &pooled {
            Ok(pool) => &pool.engine,
            Err(_) => on_demand_in(&on_demand)?.engine(),
        };
        let mut code_id = DefaultHasher::new();
        any.precompile_compatibility_hash().hash(&mut code_id);
        Ok(Engine(Arc::new(Shared {
            // Too little address space, say: it is set lower than what the memory itself needs.
            pooled: pooled.map_err(|error| format!("no memory can be kept ready on this machine: {error:#}")),
            on_demand,
            composed: OnceLock::new(),
            ticking: Mutex::new(false),
            builtins: Mutex::default(),
            used: Mutex::default(),
            admission: Admission::new(&self.capacity),
            capacity: self.capacity,
            compiler: self.compiler,
            cache: self.cache,
            max_component: self.max_component,
            code_id: code_id.finish(),
        })))
    }
}

fn on_demand_in(cell: &OnceLock<Linker<State>>) -> Result<&Linker<State>, Error> {
    made(cell, || linker(&wasmtime::Engine::new(&settings::plain())?))
}

/// What is in a cell, or is made for it now. Whoever comes first decides.
fn made(
    cell: &OnceLock<Linker<State>>,
    make: impl FnOnce() -> wasmtime::Result<Linker<State>>,
) -> Result<&Linker<State>, Error> {
    match cell.get() {
        Some(linker) => Ok(linker),
        None => {
            let made = make().map_err(|error| Kind::Engine(format!("{error:#}")))?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    // The guard takes the place of what was linked for files, and errors lose their backtraces.
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<State, Guarded>(&mut linker, State::files)?;
    filesystem::preopens::add_to_linker::<State, Guarded>(&mut linker, State::files)?;
    io::error::add_to_linker::<State, Plain>(&mut linker, State::errors)?;
    list_in_parts(&mut linker)?;
    bound_requests(&mut linker)?;
    linker.allow_shadowing(false);
    take_reports(&mut linker)?;
    Ok(linker)
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
        f.debug_struct("Engine").field("capacity", &self.0.capacity).finish_non_exhaustive()
    }
}
