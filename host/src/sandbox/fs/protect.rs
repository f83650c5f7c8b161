//! What no grant reaches: witbox's own files, and the kernel's file systems.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Stat, fstatfs};

use crate::policy::Grant;

/// The file systems that are no files: proc, sysfs, both control groups, terminals, debugfs, tracefs, securityfs, bpf
/// (`linux/magic.h`).
const KERNEL: [u32; 9] =
    [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x1cd1, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11];

/// An object of the host by device and inode, whatever its name.
type Id = (u64, u64);

/// The files that a guest may never change, and the folders above them, which it may never move or remove.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    files: HashSet<Id>,
    folders: HashSet<Id>,
}

impl Protected {
    /// Adds a file with all the folders above it. A file that is not there needs no protection.
    pub(crate) fn add(&mut self, file: &Path) {
        let Ok(real) = file.canonicalize() else { return };
        let id = |path: &Path| path.metadata().ok().map(|metadata: Metadata| (metadata.dev(), metadata.ino()));
        self.files.extend(id(&real));
        self.folders.extend(real.ancestors().skip(1).filter_map(id));
    }

    pub(super) fn is_file(&self, stat: &Stat) -> bool {
        self.files.contains(&(stat.st_dev, stat.st_ino))
    }

    /// Whether moving or removing this would move or remove a file.
    pub(super) fn holds(&self, stat: &Stat) -> bool {
        self.is_file(stat) || self.folders.contains(&(stat.st_dev, stat.st_ino))
    }
}

/// Whether an open folder is a file system of the kernel's, whose files do things.
pub(super) fn is_kernel(folder: impl AsFd) -> bool {
    fstatfs(folder).is_ok_and(|stat| KERNEL.contains(&(stat.f_type as u32)))
}

/// Checks that no mount of a grant is one.
///
/// # Errors
/// The first that is.
pub(crate) fn check_mounts(grant: &Grant) -> Result<(), String> {
    for mount in grant.mounts() {
        let folder = std::fs::File::open(&mount.host).map_err(|error| format!("mount {mount}: {error}"))?;
        let is_devices = mount.host.canonicalize().is_ok_and(|host| host.starts_with("/dev"));
        if is_devices || is_kernel(&folder) {
            return Err(format!("mount {mount}: devices and the kernel's file systems are never mounted"));
        }
    }
    Ok(())
}
