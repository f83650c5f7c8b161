//! The engine as the command line has it: compiled code is kept in the user's cache, and strangers' components are
//! compiled by a process of their own.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use witbox::{Cache, Capacity, Engine, Plan};

use super::compiler::Helper;
use super::report::Report;

/// An engine for the calls of a plan.
pub(super) fn of_plan(plan: &Plan, compiling: Compiling, report: &Report) -> anyhow::Result<Engine> {
    start(plan.capacity.clone(), plan.max_component, compiling, report)
}

/// When whoever compiles is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compiling {
    /// When there is something to compile.
    WhenAsked,
    /// Now: behind the wall nobody can be started.
    Ready,
}

/// An engine for looking at components.
pub(super) fn plain(report: &Report) -> anyhow::Result<Engine> {
    of_plan(&Plan::new(Vec::new()), Compiling::WhenAsked, report)
}

fn start(capacity: Capacity, max_component: u64, compiling: Compiling, report: &Report) -> anyhow::Result<Engine> {
    let mut builder = Engine::builder().capacity(capacity).max_component(max_component);
    let helper = match compiling {
        Compiling::WhenAsked => Helper::new(),
        Compiling::Ready => Helper::started().context("the process that compiles")?,
    };
    builder = builder.compiler(Arc::new(helper));
    if let Some(folder) = cache_folder() {
        match Cache::open(&folder) {
            Ok(cache) => {
                if rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK).is_err() {
                    report.note(&format!("{}: only read; what it lacks is compiled each time", folder.display()));
                }
                builder = builder.cache(cache);
            }
            Err(error) => report.note(&format!("{error}; components are compiled each time")),
        }
    }
    Ok(builder.build()?)
}

/// Where compiled code is kept: by the XDG Base Directory Specification. Nothing where there is no home.
pub(super) fn cache_folder() -> Option<PathBuf> {
    cache_folders().next()
}

/// The same, and where it is kept at other times: no guest may write what is run then.
pub(super) fn cache_folders() -> impl Iterator<Item = PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME").map(|home| home.join(".cache"));
    [absolute("XDG_CACHE_HOME"), home].into_iter().flatten().map(|base| base.join("witbox"))
}
