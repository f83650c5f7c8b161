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
    inode: u64,
    /// Whether its file system is one of this machine's own disks or memory, which answers within milliseconds or not at all.
    pub(super) is_local: bool,
    pub(super) added: Arc<Added>,
}

impl Root {
    /// Opens the folders of a grant's mounts, in their order. What calls added to those that were open before counts on.
    ///
    /// # Errors
    /// When one is not there, is no folder, or is of the kernel's file systems or devices.
    pub(crate) fn open_all(grant: &Grant, before: &[Arc<Root>]) -> Result<Vec<Arc<Root>>, String> {
        let has_rules = !grant.fs_rules().is_empty();
        let open = |mount| {
            let root = Root::open(mount, has_rules)?;
            let added = before.iter().find(|before| before.is(&root)).map(|before| before.added.clone());
            Ok(Arc::new(Root { added: added.unwrap_or_default(), ..root }))
        };
        grant.mounts().iter().map(open).collect()
    }

    /// Whether both are the same folder.
    fn is(&self, other: &Root) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn open(mount: &Mount, has_rules: bool) -> Result<Self, String> {
        let refuse = |reason: &dyn std::fmt::Display| format!("mount {mount}: {reason}");
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(&mount.host);
        let folder = folder.map_err(|error| refuse(&error))?;
        let about = folder.metadata().map_err(|error| refuse(&error))?;
        let (device, inode) = (about.dev(), about.ino());
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
        Ok(Root { folder, device, inode, is_local, added: Arc::default() })
    }
}

/// Where an open folder is now. Nothing without /proc, or where its path is longer than the system tells.
pub(super) fn real_path(folder: &File) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()
}
