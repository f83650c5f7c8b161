//! The folders of mounts, opened once: whatever becomes of their names, a guest has the folder that was granted.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::protect::{ignores_case, is_kernel, is_local};
use super::quota::Added;
use crate::policy::{Grant, Mount};

/// An open folder of a mount, and what calls added to it.
#[derive(Debug)]
pub(crate) struct Root {
    pub(super) folder: File,
    pub(super) device: u64,
    /// Whether its file system is one of this machine's own disks or memory, which answers within milliseconds or not at all.
    pub(super) is_local: bool,
    pub(super) added: Arc<Added>,
}

impl Root {
    /// Opens the folders of a grant's mounts, in their order.
    ///
    /// # Errors
    /// When one is not there, is no folder, or is of the kernel's file systems or devices.
    pub(crate) fn open_all(grant: &Grant) -> Result<Vec<Arc<Root>>, String> {
        let has_rules = !grant.fs_rules().is_empty();
        grant.mounts().iter().map(|mount| Root::open(mount, has_rules).map(Arc::new)).collect()
    }

    fn open(mount: &Mount, has_rules: bool) -> Result<Self, String> {
        let refuse = |reason: &dyn std::fmt::Display| format!("mount {mount}: {reason}");
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(&mount.host);
        let folder = folder.map_err(|error| refuse(&error))?;
        let device = folder.metadata().map_err(|error| refuse(&error))?.dev();
        // A host whose devices lie on the disk itself has them where every other has them.
        let is_devices = real_path(&folder).is_some_and(|path| path.starts_with("/dev"));
        let is_own_device = std::fs::metadata("/").is_ok_and(|root| root.dev() == device);
        if is_devices || (!is_own_device && is_kernel(&folder, device)) {
            return Err(refuse(&"devices and the kernel's file systems are never mounted"));
        }
        if has_rules && ignores_case(&folder) {
            return Err(refuse(
                &"its file system does not tell names apart by case, so that rules would not hold there",
            ));
        }
        let is_local = is_local(&folder);
        Ok(Root { folder, device, is_local, added: Arc::default() })
    }
}

/// Where an open folder is now. Nothing without /proc, or where its path is longer than the system tells.
pub(super) fn real_path(folder: &File) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()
}
