//! What no grant reaches: the names that lead to what witbox runs under, and the kernel's file systems.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Stat, fstat, fstatfs};

/// The file systems of this machine's own disks and memory: ext4, XFS, Btrfs, tmpfs, F2FS, ZFS, bcachefs, and overlays, which are of
/// those in all but odd cases (`linux/magic.h`).
const LOCAL: [u32; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x794c_7630];

/// The file systems that are no files: proc, sysfs, both control groups, terminals, debugfs, tracefs, securityfs, bpf,
/// binfmt_misc, selinuxfs, efivarfs, fusectl, configfs, pstore and message queues (`linux/magic.h`).
const KERNEL: [u32; 16] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x4249_4e4d,
    0xf97c_ff8c,
    0xde5e_81e4,
    0x6573_5543,
    0x6265_6570,
    0x6165_676c,
    0x1980_0202,
];
/// Those where a name may be written in more than one way: FAT, exFAT, NTFS by two drivers, HFS, HFS+, CIFS by two and 9P, by
/// which Windows hands its own to Linux.
const IGNORING_CASE: [u32; 9] =
    [0x4d44, 0x2011_bab0, 0x5346_544e, 0x7366_746e, 0x4244, 0x482b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997];
/// Folders of devices and shared memory, which are plain file systems in memory.
const DEVICES: [&str; 5] = ["/dev", "/dev/shm", "/dev/mqueue", "/dev/pts", "/dev/hugepages"];
/// The most links on the way to a file.
const MAX_LINKS: usize = 40;

/// An object of the host by device and inode.
type Id = (u64, u64);

/// The files that a guest may never change, and every name on the way to them and to the mounts: none of these may come to
/// be of something else, or a later start would follow it.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    files: HashSet<Id>,
    /// Files that a guest may not read either, and folders through which it reaches nothing.
    hidden: HashSet<Id>,
    /// The same by name, for what takes their place.
    hidden_names: HashSet<(Id, OsString)>,
    /// A folder, and a name in it.
    names: HashSet<(Id, OsString)>,
    found: Found,
}

/// What was found on the ways so far: many files lie in the same folders, and are named more than once.
#[derive(Debug, Default)]
struct Found {
    steps: HashMap<PathBuf, Step>,
    ways: HashSet<PathBuf>,
    /// Where relative paths begin.
    folder: Option<PathBuf>,
}

/// One step of a way.
#[derive(Debug, Clone, Default)]
struct Step {
    id: Option<Id>,
    /// Where it leads, if it is a link.
    target: Option<PathBuf>,
}

impl Step {
    fn of(path: &Path) -> Self {
        Step { id: id(path), target: path.read_link().ok() }
    }
}

impl Protected {
    /// Adds a file by whatever name, and the way to it. What is not there is kept from being made.
    pub(crate) fn add_file(&mut self, file: &Path) {
        self.add_way(file);
        let id = self.absolute(file).and_then(|file| self.step(&file).id);
        self.files.extend(id);
    }

    /// Adds a file or a folder that holds what no guest may see.
    pub(crate) fn add_hidden(&mut self, file: &Path) {
        self.add_file(file);
        self.hidden.extend(id(file));
        let parent =
            file.canonicalize().ok().and_then(|real| Some((id(real.parent()?)?, real.file_name()?.to_owned())));
        self.hidden_names.extend(parent);
    }

    /// Adds the way to something: each name in its folder, and those on the ways of the links among them.
    pub(crate) fn add_way(&mut self, path: &Path) {
        let Some(absolute) = self.absolute(path) else { return };
        if !self.found.ways.insert(absolute.clone()) {
            return;
        }
        let mut here = PathBuf::from("/");
        let mut left: Vec<OsString> = names(&absolute);
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                here.pop();
                continue;
            }
            let Some(folder) = self.step(&here).id else { return };
            let next = here.join(&name);
            self.names.insert((folder, name));
            match self.step(&next).target {
                Some(target) if links < MAX_LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    left.extend(names(&target));
                }
                Some(_) => return,
                None => here = next,
            }
        }
    }

    fn step(&mut self, path: &Path) -> Step {
        if let Some(step) = self.found.steps.get(path) {
            return step.clone();
        }
        let step = Step::of(path);
        self.found.steps.insert(path.to_owned(), step.clone());
        step
    }

    fn absolute(&mut self, path: &Path) -> Option<PathBuf> {
        if path.is_absolute() || path.as_os_str().is_empty() {
            return std::path::absolute(path).ok();
        }
        if self.found.folder.is_none() {
            self.found.folder = std::env::current_dir().ok();
        }
        Some(self.found.folder.as_ref()?.join(path))
    }

    /// Whoever looks no further needs nothing of the way.
    pub(crate) fn settled(self) -> Self {
        Protected { found: Found::default(), ..self }
    }

    pub(super) fn is_file(&self, stat: &Stat) -> bool {
        self.files.contains(&(stat.st_dev, stat.st_ino))
    }

    /// Whether an object, or whatever has a name in a folder, is not to be seen.
    pub(super) fn is_hidden(&self, stat: &Stat, folder: impl AsFd, name: &str) -> bool {
        let has_name =
            |folder: Stat| self.hidden_names.contains(&((folder.st_dev, folder.st_ino), OsString::from(name)));
        self.hidden.contains(&(stat.st_dev, stat.st_ino))
            || (!self.hidden_names.is_empty() && fstat(folder).is_ok_and(has_name))
    }

    /// The same of a folder through which a way leads.
    pub(super) fn is_hidden_folder(&self, stat: &Stat) -> bool {
        self.hidden.contains(&(stat.st_dev, stat.st_ino))
    }

    /// Whether a path leads to something that is not to be seen, or into it.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real.ancestors().filter_map(id).any(|id| self.hidden.contains(&id))
    }

    /// Whether a name in a folder is on the way to something.
    pub(super) fn is_name(&self, folder: &Stat, name: &str) -> bool {
        self.names.contains(&((folder.st_dev, folder.st_ino), OsString::from(name)))
    }
}

/// The names of a path, the last first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut names: Vec<OsString> = names.map(|part| part.as_os_str().to_owned()).collect();
    names.reverse();
    names
}

fn id(path: &Path) -> Option<Id> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Whether names on a folder's file system may be written in more than one way.
pub(super) fn ignores_case(folder: impl AsFd) -> bool {
    fstatfs(folder).is_ok_and(|stat| IGNORING_CASE.contains(&(stat.f_type as u32)))
}

/// Whether a folder's file system is local.
pub(super) fn is_local(folder: impl AsFd) -> bool {
    fstatfs(folder).is_ok_and(|stat| LOCAL.contains(&(stat.f_type as u32)))
}

/// Whether an open folder, on its device, is of a file system of the kernel's or of its devices, whose files do things.
pub(super) fn is_kernel(folder: impl AsFd, device: u64) -> bool {
    let is_known = fstatfs(folder).is_ok_and(|stat| KERNEL.contains(&(stat.f_type as u32)));
    is_known || DEVICES.iter().any(|path| id(Path::new(path)).is_some_and(|(known, _)| known == device))
}
