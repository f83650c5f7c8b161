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
mod tree;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

pub use explain::{Explanation, explain};
pub(crate) use guarded::{Guarded, GuardedView};
pub(crate) use protect::{Protected, check_mounts};
pub(crate) use quota::Added;
use quota::{Growing, Quota};
use tree::Device;

use rustix::fs::Stat;

use super::http::Denials;
use crate::policy::{Effect, FsRule, Grant, Mode, Operation, allows_all_below, decide, leads_to_readable};
use crate::reply::Denial;

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
    /// Where it really is on the host.
    host: PathBuf,
    device: Device,
    quota: Quota,
}

/// What refuses a way to another file system.
const OTHER_DEVICE: &str = "it is on another file system than its mount";

/// What all calls of a toolset share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    pub(crate) protected: Arc<Protected>,
    /// For each mount, in their order.
    pub(crate) added: Vec<Arc<Added>>,
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
    /// # Errors
    /// When a mount's folder is not there any more.
    pub(super) fn new(grant: &Grant, shared: &Shared, denials: Denials) -> Result<Self, String> {
        let policy = Arc::new(FsPolicy::of(grant, shared)?);
        Ok(Guard { policy, denials, folders: HashMap::new(), files: HashMap::new(), listings: HashMap::new() })
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
    fn of(grant: &Grant, shared: &Shared) -> Result<Self, String> {
        let mut mounts = Vec::new();
        for (index, mount) in grant.mounts().iter().enumerate() {
            let host = mount.host.canonicalize().map_err(|error| format!("mount {mount}: {error}"))?;
            let device = match mount.crosses_devices {
                true => Device::Any,
                false => Device::Only(host.metadata().map_err(|error| format!("mount {mount}: {error}"))?.dev()),
            };
            let quota = Quota {
                max_bytes: mount.max_bytes,
                max_files: mount.max_files,
                added: shared.added.get(index).cloned().unwrap_or_default(),
            };
            mounts.push(MountPolicy { guest: mount.guest.as_str().to_owned(), mode: mount.mode, host, device, quota });
        }
        Ok(FsPolicy { mounts, rules: grant.fs_rules().to_vec(), protected: shared.protected.clone() })
    }

    /// Whether an operation on the object of a real path is granted.
    fn check(&self, operation: Operation, path: &str) -> Result<(), Refusal> {
        let refuse = |rule: String| {
            let operation = match operation {
                Operation::Read => "read",
                Operation::Write => "write",
            };
            Err(Refusal { operation, path: path.to_owned(), rule })
        };
        if operation == Operation::Write && self.mount(path).is_some_and(|mount| mount.mode == Mode::ReadOnly) {
            return refuse("its mount is read-only".to_owned());
        }
        if self.rules.is_empty() {
            return Ok(());
        }
        match decide(&self.rules, operation, path) {
            decision if decision.effect == Effect::Allow => Ok(()),
            decision => refuse(decision.rule),
        }
    }

    fn may(&self, operation: Operation, path: &str) -> bool {
        self.check(operation, path).is_ok()
    }

    /// Whether an object may be changed at all, whatever the rules say.
    fn check_own(&self, stat: &Stat, path: &str) -> Result<(), Refusal> {
        self.own(self.protected.is_file(stat), path)
    }

    /// Whether an object may be moved or removed at all.
    fn check_moved(&self, stat: &Stat, path: &str) -> Result<(), Refusal> {
        self.own(self.protected.holds(stat), path)
    }

    fn own(&self, is_own: bool, path: &str) -> Result<(), Refusal> {
        let rule = "it is witbox's own, or holds what is: a configuration or a component".to_owned();
        if is_own { Err(Refusal { operation: "write", path: path.to_owned(), rule }) } else { Ok(()) }
    }

    /// Whether a folder may be opened and listed, if only as the way to something below it.
    fn check_folder(&self, path: &str) -> Result<(), Refusal> {
        match self.check(Operation::Read, path) {
            Err(_) if leads_to_readable(&self.rules, path) => Ok(()),
            checked => checked,
        }
    }

    /// Whether no rule tells apart what is at a path and below it: all of it may be read and written, so that another
    /// name for it opens no way around a rule.
    fn is_uniform(&self, path: &str) -> bool {
        let all = |operation| allows_all_below(&self.rules, operation, path);
        self.rules.is_empty() || (all(Operation::Read) && all(Operation::Write))
    }

    /// Why an operation is granted.
    fn reason(&self, operation: Operation, path: &str) -> String {
        match self.rules.is_empty() {
            true => "its mount grants it, and there are no rules".to_owned(),
            false => match decide(&self.rules, operation, path) {
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
        let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
        // Without /proc what is known must do.
        let Ok(host) = std::fs::read_link(link) else { return Some(known) };
        self.mounts.iter().find_map(|mount| {
            let below = host.strip_prefix(&mount.host).ok()?.to_str()?;
            Some(if below.is_empty() { mount.guest.clone() } else { tree::join(&mount.guest, below) })
        })
    }
}
