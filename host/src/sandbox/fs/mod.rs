//! The guard between a guest and its mounts: decides on the real object, not on the spelling of a path.
//!
//! Everything that takes a path is done here, beneath the folder that the guest holds, one name at a time. What is
//! done with an open descriptor is left to wasmtime-wasi: it keeps what it was opened for.

#[cfg(not(target_os = "linux"))]
compile_error!("the guard of files asks Linux for what it needs; witbox has none for other systems yet");

mod entry;
mod explain;
mod guarded;
mod protect;
mod quota;
mod root;
mod tree;

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

pub use explain::{Explanation, explain};
pub(crate) use guarded::{Guarded, GuardedView};
pub(crate) use protect::Protected;
use quota::{Growing, Quota};
pub(crate) use root::Root;
use root::real_path;
use tree::{Device, Place};

use rustix::fs::{Stat, fstat};

use super::denials::Denials;
use crate::policy::{Effect, FsRule, Grant, Mode, Operation, Trail};
use crate::reply::Denial;
use entry::Failure;

/// What a toolset may do with files, as the guard asks for it.
#[derive(Debug)]
pub(super) struct FsPolicy {
    mounts: Vec<MountPolicy>,
    rules: Vec<FsRule>,
    protected: Arc<Protected>,
}

#[derive(Debug)]
struct MountPolicy {
    guest: String,
    mode: Mode,
    root: Arc<Root>,
    device: Device,
    quota: Quota,
}

/// What refuses a way to another file system.
const OTHER_DEVICE: &str = "it is on another file system than its mount";
/// What refuses a way out of a mount, or of the folder that a guest holds.
const OUTSIDE: &str = "it leads out of the folder that the guest holds";

/// What the guard needs from all calls of a toolset together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub(crate) protected: Arc<Protected>,
    /// Of the mounts, in their order.
    pub(crate) roots: Vec<Arc<Root>>,
}

/// What the guard knows of one call.
#[derive(Debug)]
pub(super) struct Guard {
    policy: Arc<FsPolicy>,
    denials: Denials,
    /// The real path of each folder that the guest holds, by its handle.
    folders: HashMap<u32, String>,
    /// Each file that the guest holds and may write to, by its handle.
    files: HashMap<u32, Growing>,
    /// The folder of each listing that the guest holds, by its handle.
    listings: HashMap<u32, String>,
}

impl Guard {
    pub(super) fn new(grant: &Grant, files: &Files, denials: Denials) -> Self {
        let policy = Arc::new(FsPolicy::of(grant, files));
        Guard { policy, denials, folders: HashMap::new(), files: HashMap::new(), listings: HashMap::new() }
    }
}

/// What was refused, as the operator reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    operation: &'static str,
    path: String,
    rule: String,
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Self {
        Denial::new(refusal.operation, refusal.path, &refusal.rule)
    }
}

impl FsPolicy {
    fn of(grant: &Grant, files: &Files) -> Self {
        let mounts = grant.mounts().iter().zip(&files.roots).map(|(mount, root)| MountPolicy {
            guest: mount.guest.as_str().to_owned(),
            mode: mount.mode,
            root: root.clone(),
            device: if mount.crosses_devices { Device::From(root.device) } else { Device::Only(root.device) },
            quota: Quota { max_bytes: mount.max_bytes, max_files: mount.max_files, added: root.added.clone() },
        });
        FsPolicy { mounts: mounts.collect(), rules: grant.fs_rules().to_vec(), protected: files.protected.clone() }
    }

    /// Whether an operation on the object of a real path is granted.
    fn check(&self, operation: Operation, path: &str) -> Result<(), Refusal> {
        let refuse = |rule: String| Err(Refusal { operation: operation.as_str(), path: path.to_owned(), rule });
        if operation == Operation::Write && self.mount(path).is_some_and(|mount| mount.mode == Mode::ReadOnly) {
            return refuse("its mount is read-only".to_owned());
        }
        if self.rules.is_empty() {
            return Ok(());
        }
        match self.trail(path).decide(operation) {
            decision if decision.effect == Effect::Allow => Ok(()),
            decision => refuse(decision.rule),
        }
    }

    fn may(&self, operation: Operation, path: &str) -> bool {
        self.check(operation, path).is_ok()
    }

    /// Whether what is at a place may be changed at all, whatever the rules say: neither the file, if it is witbox's own,
    /// nor what the name is of, if it is on the way to that or to a mount.
    fn check_own(&self, place: &Place, stat: Option<&Stat>) -> Result<(), Failure> {
        let is_file = stat.is_some_and(|stat| self.protected.is_file(stat));
        if is_file || self.protected.is_name(&fstat(&place.parent)?, &place.name) {
            let rule = "it is witbox's own, or on the way to that: a configuration, a component, a secret or a mount"
                .to_owned();
            return Err(Refusal { operation: "write", path: place.path.clone(), rule }.into());
        }
        Ok(())
    }

    /// Whether what is at a place may be seen at all, whatever the rules say.
    fn check_hidden(&self, operation: Operation, place: &Place, stat: &Stat) -> Result<(), Failure> {
        if self.protected.is_hidden(stat, &place.parent, &place.name) {
            let rule = "it is witbox's own: a secret".to_owned();
            return Err(Refusal { operation: operation.as_str(), path: place.path.clone(), rule }.into());
        }
        Ok(())
    }

    /// Whether a folder may be opened and listed, if only as the way to something below it.
    fn check_folder(&self, path: &str) -> Result<(), Refusal> {
        match self.check(Operation::Read, path) {
            Err(_) if self.trail(path).leads_on(Operation::Read) => Ok(()),
            checked => checked,
        }
    }

    /// Whether a guest may pass a folder or a link on its way: it may do something there, or somewhere below.
    fn may_pass(&self, trail: &Trail<'_>) -> bool {
        let may = |operation| trail.allows(operation) || trail.leads_on(operation);
        self.rules.is_empty() || may(Operation::Read) || may(Operation::Write)
    }

    /// What the rules say along a path.
    fn trail(&self, path: &str) -> Trail<'_> {
        Trail::at(&self.rules, path)
    }

    /// Whether no rule tells apart what is at a path and below it: all of it may be read and written.
    fn is_uniform(&self, path: &str) -> bool {
        let trail = self.trail(path);
        self.rules.is_empty() || (trail.allows_all(Operation::Read) && trail.allows_all(Operation::Write))
    }

    /// Whether an operation is granted everywhere, so that another name for something is no way around anything.
    fn is_everywhere(&self, operation: Operation) -> bool {
        self.mounts.iter().all(|mount| {
            let by_mode = operation == Operation::Read || mount.mode == Mode::ReadWrite;
            by_mode && (self.rules.is_empty() || self.trail(&mount.guest).allows_all(operation))
        })
    }

    /// Why an operation is granted.
    fn reason(&self, operation: Operation, path: &str) -> String {
        match self.rules.is_empty() {
            true => "its mount grants it, and there are no rules".to_owned(),
            false => match self.trail(path).decide(operation) {
                decision if decision.effect == Effect::Allow => decision.rule,
                _ => "it is a folder on the way to something that may be read, and shows only that way".to_owned(),
            },
        }
    }

    /// A file of the mount that a path is in, as it may grow.
    fn growing(&self, path: &str) -> Option<Growing> {
        Some(Growing { path: path.to_owned(), quota: self.mount(path)?.quota.clone() })
    }

    /// The mount that a path is in. Mounts do not overlap.
    fn mount(&self, path: &str) -> Option<&MountPolicy> {
        let is_within = |mount: &&MountPolicy| {
            let rest = path.strip_prefix(mount.guest.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.mounts.iter().find(is_within)
    }

    /// The real path of an open folder, as the guest sees it. Somebody may have renamed it, or a folder above it, since it
    /// was opened at the path that is `known`. Nothing where it lies in no mount any more.
    fn current_path(&self, folder: &File, known: String) -> Option<String> {
        self.mounts.iter().find_map(|mount| {
            // Without /proc what is known must do.
            let Some(root) = real_path(&mount.root.folder) else { return Some(known.clone()) };
            let path = real_path(folder)?;
            let below = path.strip_prefix(root).ok()?.to_str()?;
            Some(if below.is_empty() { mount.guest.clone() } else { tree::join(&mount.guest, below) })
        })
    }
}
