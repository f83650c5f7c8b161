//! One toolset: its component, its grant, and what all of its calls share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Mutex;
use wasmtime::component::ComponentExportIndex;

use crate::component::Component;
use crate::engine::{Engine, Linked};
use crate::error::{Error, Kind};
use crate::policy::Grant;
use crate::sandbox::Shared;
use crate::tool::Tool;

pub(super) struct Toolset {
    component: Component,
    tools: Vec<Arc<Tool>>,
    ready: OnceLock<Ready>,
    /// Held while it is made ready.
    opening: Arc<Mutex<()>>,
    /// Whether it pages results: what it returns is never moved into a file again.
    pub(super) pages: bool,
    pub(super) grant: Grant,
    pub(super) shared: Shared,
    /// How many of its calls are still to begin elsewhere, as one was slow to give way.
    wary: AtomicU32,
}

/// How long a call may hold up the thread that asks for it: some ten times as long as a guest that computes.
const QUICK: Duration = Duration::from_millis(3);
/// How many calls begin elsewhere after one that was not quick.
const WARY: u32 = 1_000;

/// A toolset that can be called.
pub(super) struct Ready {
    pub(super) linked: Linked,
    /// By the tool's name.
    pub(super) functions: HashMap<String, ComponentExportIndex>,
    /// How much more returned values take than the engine charges for them, by the tool's name.
    pub(super) worst_ratios: HashMap<String, f64>,
}

impl Toolset {
    pub(super) fn new(component: Component, tools: Vec<Arc<Tool>>, grant: Grant, shared: Shared) -> Self {
        Toolset {
            component,
            tools,
            ready: OnceLock::new(),
            opening: Arc::default(),
            pages: false,
            grant,
            shared,
            wary: AtomicU32::new(0),
        }
    }

    /// What a call needs. Where it is opened only now, it goes on being opened though the call that needs it ends.
    pub(super) async fn ready(self: &Arc<Self>, engine: &Engine) -> Result<&Ready, String> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        // One at a time, and the others wait where waiting takes no thread.
        let turn = self.opening.clone().lock_owned().await;
        let (opened, engine) = (self.clone(), engine.clone());
        let opening = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            opened.open(&engine).map(drop)
        });
        opening.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        self.ready.get().ok_or_else(|| "it is not ready".to_owned())
    }

    /// Whether a call of it may begin in a thread that others wait for.
    pub(super) fn is_quick(&self) -> bool {
        self.wary.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }

    /// Takes note of how long a call held up a thread.
    pub(super) fn took(&self, time: Duration) {
        if time > QUICK {
            self.wary.store(WARY, Ordering::Relaxed);
        }
    }

    /// Makes it ready to be called, where it is not. That takes a look at all of the component's bytes, and compiles them
    /// where that is not done yet.
    pub(super) fn open(&self, engine: &Engine) -> Result<&Ready, Error> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        let linked = engine.link(&self.component, self.grant.call_limits().memory)?;
        let mut functions = HashMap::new();
        for tool in &self.tools {
            let function = find_export(linked.instance.component(), tool)
                .ok_or_else(|| Kind::Link(format!("its export {} cannot be found", tool.export())))?;
            functions.insert(tool.name().to_owned(), function);
        }
        let worst_ratios = self.tools.iter().map(|tool| (tool.name().to_owned(), tool.worst_ratio())).collect();
        Ok(self.ready.get_or_init(|| Ready { linked, functions, worst_ratios }))
    }
}

fn find_export(component: &wasmtime::component::Component, tool: &Tool) -> Option<ComponentExportIndex> {
    let export = tool.export();
    let interface = match &export.interface {
        Some(interface) => Some(component.get_export_index(None, interface)?),
        None => None,
    };
    component.get_export_index(interface.as_ref(), &export.function)
}
