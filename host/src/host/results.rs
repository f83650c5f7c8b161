//! Results that are kept: who sees them, and who pages them.

use std::sync::Arc;

use super::builder::HostBuilder;
use crate::component::{Component, builtin_digest};
use crate::error::Error;
use crate::policy::{FsRule, Grant, GuestPath, Limits, Mount, Operation, PathPattern};
use crate::reply::{Eviction, FourBytes, Pager, RESULTS, ResultLimits, Tokenizer};
use crate::sandbox::explain;
use crate::workspace::Session;

/// The component that pages results, by the name that it comes with.
const FILES: &str = "files";
/// The one that finds rows in them.
const DATA: &str = "data";
/// The toolset that the host adds where no other pages them. Nobody else has this name.
pub(super) const TOOLSET: &str = "results";
/// The tools that it has.
const TOOLS: [&str; 3] = ["ls", "read", "grep"];
/// Tells that component how much it may return at once, in bytes.
const PAGE: &str = "PAGE_BYTES";
/// What paging takes at most.
const MEMORY: u64 = 64 << 20;

/// Where results are kept, and what of them a model reads.
pub(super) struct Results {
    session: Session,
    limits: ResultLimits,
    tokenizer: Arc<dyn Tokenizer>,
    /// The digests of the components that are shown them.
    readers: [String; 2],
}

impl Results {
    pub(super) fn new(session: Session, limits: ResultLimits) -> Result<Self, Error> {
        let readers = [builtin_digest(FILES)?, builtin_digest(DATA)?];
        Ok(Results { session, limits, tokenizer: Arc::new(FourBytes), readers })
    }

    pub(super) fn tokenizer(&mut self, tokenizer: Arc<dyn Tokenizer>) {
        self.tokenizer = tokenizer;
    }

    pub(super) fn eviction(self, pager: Option<Pager>) -> Eviction {
        Eviction { session: self.session, limits: self.limits, tokenizer: self.tokenizer, pager }
    }

    /// Whether a component pages results, and so is shown them.
    pub(super) fn are_paged_by(&self, component: &Component) -> bool {
        self.readers.iter().any(|reader| reader == component.digest())
    }

    /// A grant with the session's results to be read, where nothing else is mounted there and no rule of the operator's hides
    /// them.
    pub(super) fn shown_to(&self, grant: Grant) -> Grant {
        let below = format!("{RESULTS}/**").parse::<PathPattern>();
        let paths = (RESULTS.parse::<GuestPath>(), format!("{RESULTS}/any").parse::<GuestPath>());
        let ((Ok(path), Ok(any)), Ok(below)) = (paths, below) else { return grant };
        if grant.mounts().iter().any(|mount| mount.guest.overlaps(&path)) {
            return grant;
        }
        let page = self.tokenizer.bytes(self.limits.evict_above).to_string();
        let mut shown = grant.clone().env(PAGE, page).mount(Mount::read_only(self.session.results_folder(), path));
        if !grant.fs_rules().is_empty() {
            shown = shown.fs(FsRule::allow(&[Operation::Read], vec![below]));
        }
        if explain(&shown, Operation::Read, &any).is_ok_and(|explained| explained.allowed) { shown } else { grant }
    }
}

impl HostBuilder {
    /// Adds the tools that page results, where no other toolset does, and says how they are called.
    pub(super) fn pager(&mut self) -> Option<Pager> {
        if self.inner.registry.tools().is_empty() {
            return None;
        }
        if self.found_pager().is_none() {
            // Without it nobody pages them, and the pointers name no tool.
            let component = Component::builtin(&self.inner.engine, FILES).ok()?;
            let limits = Limits { memory: MEMORY, ..Limits::default() };
            self.add_some(TOOLSET, &component, Grant::default().limits(limits), &TOOLS.map(str::to_owned)).ok()?;
        }
        self.found_pager()
    }

    fn found_pager(&self) -> Option<Pager> {
        let tools = self.inner.registry.tools();
        let named = |function: &'static str| {
            tools.iter().filter(move |tool| {
                tool.export().function == function
                    && self.toolsets.get(tool.toolset()).is_some_and(|toolset| toolset.pages)
            })
        };
        let read = named("read").next()?;
        let grep = named("grep").find(|grep| grep.toolset() == read.toolset());
        Some(Pager { read: read.name().to_owned(), grep: grep.map(|grep| grep.name().to_owned()) })
    }
}
