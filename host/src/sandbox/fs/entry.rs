//! What is done with the object at a place, once the policy has been asked.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fstat, ftruncate, mkdirat, openat, readlinkat,
    renameat, statat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::tree::{Device, Last, NoPlace, Place, find};
use super::{FsPolicy, OTHER_DEVICE, Refusal};
use crate::policy::Operation;

/// The most entries of a folder that is listed.
const MAX_ENTRIES: usize = 50_000;

/// Why a guest's request came to nothing.
#[derive(Debug)]
pub(super) enum Failure {
    Refused(Refusal),
    /// The mount's quota is used up.
    Full(Refusal),
    System(Errno),
}

type Done<T> = Result<T, Failure>;

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refused(refusal)
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Failure::System(errno)
    }
}

/// A folder that the guest holds, and what it may do there.
pub(super) struct Folder {
    pub(super) file: Arc<File>,
    pub(super) path: String,
    pub(super) policy: Arc<FsPolicy>,
}

/// How a guest opens something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    pub(super) last: Last,
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) create: bool,
    pub(super) exclusive: bool,
    pub(super) truncate: bool,
    pub(super) folder: bool,
}

/// What was opened.
pub(super) enum Opened {
    Folder { file: File, path: String },
    File { file: File, path: String, may_write: bool },
}

impl Folder {
    /// The place of a path, where nothing that the policy refuses is told apart from what is not there.
    fn find(&self, operation: Operation, path: &str, last: Last) -> Done<Place> {
        let device = self.policy.mount(&self.path).map_or(Device::Any, |mount| mount.device);
        find(&*self.file, &self.path, path, last, device).map_err(|NoPlace { path, errno }| {
            if errno == Errno::PERM {
                let rule = "it leads out of the folder that the guest holds".to_owned();
                return Failure::Refused(Refusal { operation: "open", path, rule });
            }
            match (self.policy.check(operation, &path), errno) {
                (Err(refusal), _) => Failure::Refused(refusal),
                (Ok(()), Errno::XDEV) => {
                    Failure::Refused(Refusal { operation: "open", path, rule: OTHER_DEVICE.to_owned() })
                }
                (Ok(()), errno) => Failure::System(errno),
            }
        })
    }

    pub(super) fn open(&self, path: &str, how: Opening) -> Done<Opened> {
        let writes = how.write || how.create || how.truncate;
        let operation = if writes { Operation::Write } else { Operation::Read };
        // Something new is never made through a link.
        let last = if how.create && how.exclusive { Last::Keep } else { how.last };
        let place = self.find(operation, path, last)?;
        let existing = statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        let kind = existing.as_ref().ok().map(|stat| FileType::from_raw_mode(stat.st_mode));
        if writes {
            self.policy.check(Operation::Write, &place.path)?;
            if let Ok(stat) = &existing {
                self.policy.check_own(stat, &place.path)?;
            }
        }
        match kind {
            Some(FileType::Directory) if !writes => self.policy.check_folder(&place.path)?,
            _ if how.read || !writes => self.policy.check(Operation::Read, &place.path)?,
            _ => {}
        }
        match kind {
            // Looked at before it is opened: opening some devices does something.
            Some(kind) if !matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink) => {
                return Err(special(&place).into());
            }
            Some(FileType::Symlink) if how.exclusive => return Err(Errno::EXIST.into()),
            Some(FileType::Symlink) => return Err(Errno::LOOP.into()),
            _ => {}
        }
        let is_new = how.create && matches!(existing, Err(Errno::NOENT));
        let file = match is_new {
            true => self.adding(&place, || self.open_at(&place, how))?,
            false => self.open_at(&place, how)?,
        };
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Opened::Folder { file: file.into(), path: place.path }),
            FileType::RegularFile if how.folder || place.must_be_folder => Err(Errno::NOTDIR.into()),
            FileType::RegularFile => {
                // It may have been a folder when it was looked at.
                if how.read || !writes {
                    self.policy.check(Operation::Read, &place.path)?;
                }
                self.check_links(&place, &stat, operation)?;
                let is_own = self.policy.check_own(&stat, &place.path);
                if writes {
                    is_own.clone()?;
                }
                if how.truncate {
                    ftruncate(&file, 0)?;
                }
                let may_write = self.policy.may(Operation::Write, &place.path) && is_own.is_ok();
                Ok(Opened::File { file: file.into(), path: place.path, may_write })
            }
            _ => Err(special(&place).into()),
        }
    }

    fn open_at(&self, place: &Place, how: Opening) -> Done<OwnedFd> {
        let writes = how.write || how.create || how.truncate;
        let mut flags = match (writes, how.read) {
            (true, true) => OFlags::RDWR,
            (true, false) => OFlags::WRONLY,
            (false, _) => OFlags::RDONLY,
        };
        flags |= OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if how.create {
            flags |= OFlags::CREATE;
        }
        if how.exclusive {
            flags |= OFlags::EXCL;
        }
        if how.folder {
            flags |= OFlags::DIRECTORY;
        }
        Ok(openat(&place.parent, &place.name, flags, Mode::from_raw_mode(0o666))?)
    }

    /// Makes something new, where the mount's quota has room for it.
    fn adding<T>(&self, place: &Place, make: impl FnOnce() -> Done<T>) -> Done<T> {
        let Some(mount) = self.policy.mount(&place.path) else { return make() };
        mount.quota.take_file(&place.path).map_err(Failure::Full)?;
        let made = make();
        if made.is_err() {
            mount.quota.give_file();
        }
        made
    }

    /// A file with several names may have one where a rule says otherwise, and nobody can tell.
    fn check_links(&self, place: &Place, stat: &Stat, operation: Operation) -> Result<(), Refusal> {
        let is_one_name = stat.st_nlink <= 1;
        let mut mounts = self.policy.mounts.iter();
        if is_one_name || mounts.all(|mount| self.policy.is_uniform(&mount.guest)) {
            return Ok(());
        }
        Err(Refusal {
            operation: if operation == Operation::Write { "write" } else { "read" },
            path: place.path.clone(),
            rule: "it has several names (hard links), and the rules differ between paths".to_owned(),
        })
    }

    /// An object without opening it for anything, to be asked about.
    pub(super) fn look(&self, path: &str, last: Last) -> Done<File> {
        let place = self.find(Operation::Read, path, last)?;
        let found = statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        match &found {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                self.policy.check_folder(&place.path)?;
            }
            _ => self.policy.check(Operation::Read, &place.path)?,
        }
        let stat = found?;
        if place.must_be_folder && FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&place.parent, &place.name, flags, Mode::empty())?.into())
    }

    pub(super) fn read_link(&self, path: &str) -> Done<String> {
        let place = self.find(Operation::Read, path, Last::Keep)?;
        self.policy.check(Operation::Read, &place.path)?;
        let target = readlinkat(&place.parent, &place.name, Vec::new())?;
        Ok(target.into_string().map_err(|_| Errno::ILSEQ)?)
    }

    pub(super) fn make_folder(&self, path: &str) -> Done<()> {
        let place = self.find(Operation::Write, path.trim_end_matches('/'), Last::Keep)?;
        self.policy.check(Operation::Write, &place.path)?;
        self.adding(&place, || Ok(mkdirat(&place.parent, &place.name, Mode::from_raw_mode(0o777))?))
    }

    pub(super) fn remove_file(&self, path: &str) -> Done<()> {
        let place = self.find(Operation::Write, path, Last::Keep)?;
        self.policy.check(Operation::Write, &place.path)?;
        self.policy.check_moved(&statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW)?, &place.path)?;
        Ok(unlinkat(&place.parent, &place.name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, path: &str) -> Done<()> {
        let place = self.find(Operation::Write, path.trim_end_matches('/'), Last::Keep)?;
        self.policy.check(Operation::Write, &place.path)?;
        self.policy.check_moved(&statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW)?, &place.path)?;
        Ok(unlinkat(&place.parent, &place.name, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn set_times(&self, path: &str, last: Last, times: Timestamps) -> Done<()> {
        let place = self.find(Operation::Write, path, last)?;
        self.policy.check(Operation::Write, &place.path)?;
        self.policy.check_own(&statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW)?, &place.path)?;
        Ok(utimensat(&place.parent, &place.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Renames something, where what may be done with it stays what it was.
    pub(super) fn rename(&self, path: &str, to: &Folder, to_path: &str) -> Done<()> {
        let old = self.find(Operation::Write, path, Last::Keep)?;
        let new = to.find(Operation::Write, to_path, Last::Keep)?;
        self.policy.check(Operation::Write, &old.path)?;
        self.policy.check(Operation::Write, &new.path)?;
        let stat = statat(&old.parent, &old.name, AtFlags::SYMLINK_NOFOLLOW)?;
        self.policy.check_moved(&stat, &old.path)?;
        if let Ok(replaced) = statat(&new.parent, &new.name, AtFlags::SYMLINK_NOFOLLOW) {
            self.policy.check_moved(&replaced, &new.path)?;
        }
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if (old.must_be_folder || new.must_be_folder) && !is_folder {
            return Err(Errno::NOTDIR.into());
        }
        let may_move = match is_folder {
            true => self.policy.is_uniform(&old.path) && self.policy.is_uniform(&new.path),
            // What could not be read must not become readable by its new name.
            false => self.policy.may(Operation::Read, &old.path) || !self.policy.may(Operation::Read, &new.path),
        };
        if !may_move {
            let rule = "it would be under other rules by its new name".to_owned();
            return Err(Refusal { operation: "rename", path: old.path, rule }.into());
        }
        Ok(renameat(&old.parent, &old.name, &new.parent, &new.name)?)
    }

    /// Counts the entries of the folder itself, as far as it may be listed.
    pub(super) fn check_listing(&self) -> Done<()> {
        self.policy.check_folder(&self.path)?;
        let count = Dir::read_from(self.file.as_fd())?.take(MAX_ENTRIES + 3).count();
        // Two of them are `.` and `..`.
        if count > MAX_ENTRIES + 2 { Err(Errno::OVERFLOW.into()) } else { Ok(()) }
    }
}

fn special(place: &Place) -> Refusal {
    Refusal {
        operation: "open",
        path: place.path.clone(),
        rule: "neither a file nor a folder: pipes, sockets and devices are never granted".to_owned(),
    }
}

/// A time of WASI's as the system takes it.
pub(super) fn timestamps(access: Timespec, modification: Timespec) -> Timestamps {
    Timestamps { last_access: access, last_modification: modification }
}
