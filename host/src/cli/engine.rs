//! The engine as the command line has it: compiled code is kept in the user's cache, and strangers' components are
//! compiled by a process of their own.

use std::path::PathBuf;
use std::sync::Arc;

use witbox::{Cache, Capacity, Engine, Plan};

use super::compiler::Helper;
use super::report::Report;

/// An engine for the calls of a plan.
pub(super) fn of_plan(plan: &Plan, report: &Report) -> anyhow::Result<Engine> {
    start(plan.capacity.clone(), plan.max_component, report)
}

/// An engine for looking at components.
pub(super) fn plain(report: &Report) -> anyhow::Result<Engine> {
    of_plan(&Plan::new(Vec::new()), report)
}

fn start(capacity: Capacity, max_component: u64, report: &Report) -> anyhow::Result<Engine> {
    let mut builder = Engine::builder().capacity(capacity).max_component(max_component);
    builder = builder.compiler(Arc::new(Helper::new()));
    if let Some(folder) = cache_folder() {
        match Cache::open(&folder) {
            Ok(cache) => builder = builder.cache(cache),
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
