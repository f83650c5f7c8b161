//! What is done with the object at a place, once the policy has been asked.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fstat, fsync, ftruncate, mkdirat, openat,
    readlinkat, renameat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::tree::{Device, Last, NoPlace, Place, Reason, Start, find};
use super::{FsPolicy, MountPolicy, OTHER_DEVICE, OUTSIDE, OWN, Refusal};
use crate::policy::Operation;

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

/// Which thread does something that waits for a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The call's.
    Here,
    /// One that is there for waiting.
    Aside,
}

/// What was opened.
pub(super) enum Opened {
    Folder { file: File, path: String },
    File { file: File, path: String, may_write: bool },
}

impl Folder {
    /// Where what only looks may run: reads of a local file system wait for less than another thread would take to begin.
    pub(super) fn turn(&self) -> Turn {
        let is_local = self.policy.mount(&self.path).is_some_and(MountPolicy::is_local);
        if is_local { Turn::Here } else { Turn::Aside }
    }

    /// The place of a path, where nothing that the policy refuses is told apart from what is not there.
    pub(super) fn find(&self, operation: Operation, path: &str, last: Last) -> Done<Place> {
        let start = Start {
            folder: &*self.file,
            path: &self.path,
            device: self.policy.mount(&self.path).map_or(Device::Only(0), |mount| mount.device),
            trail: self.policy.trail(&self.path),
            may_pass: &|trail| self.policy.may_pass(trail),
            is_own: &|stat| self.policy.protected.is_hidden_folder(stat),
            may_follow: &|trail| self.policy.may_follow(trail),
        };
        find(start, path, last).map_err(|NoPlace { path, reason }| {
            let refuse = |rule: &str, path: String| Failure::Refused(Refusal::new(operation.as_str(), path, rule));
            match (reason, self.policy.check(operation, &path)) {
                (Reason::Outside, _) => refuse(OUTSIDE, path),
                (_, Err(refusal)) => Failure::Refused(refusal),
                (Reason::Device, Ok(())) => refuse(OTHER_DEVICE, path),
                (Reason::Hidden, Ok(())) => refuse("a folder or a link on the way may not be passed", path),
                (Reason::Own, Ok(())) => refuse(OWN, path),
                (Reason::System(errno), Ok(())) => Failure::System(errno),
            }
        })
    }

    /// Waits until its entries are on the disk.
    pub(super) fn sync(&self) -> Done<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(fsync(openat(&*self.file, ".", flags, Mode::empty())?)?)
    }

    /// Whether operations on the object at a place are granted, and what it is; nothing where it is not there.
    pub(super) fn judge(&self, operations: &[Operation], place: &Place) -> Done<Option<Stat>> {
        let found = statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = found.as_ref().ok();
        for &operation in operations {
            match operation {
                Operation::Read if stat.is_some_and(is_folder) => self.policy.check_folder(&place.path)?,
                _ => self.policy.check(operation, &place.path)?,
            }
            if operation == Operation::Write {
                self.policy.check_own(place, stat)?;
            }
            if let Some(stat) = stat {
                self.policy.check_hidden(operation, place, stat)?;
                self.check_object(operation, place, stat)?;
            }
        }
        match found {
            Ok(stat) if place.must_be_folder && !is_folder(&stat) => Err(Errno::NOTDIR.into()),
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What no rule decides: special files are never granted, and a file with several names only where all of them would be.
    fn check_object(&self, operation: Operation, place: &Place, stat: &Stat) -> Done<()> {
        let rule = match kind(stat) {
            FileType::Directory => return Ok(()),
            FileType::RegularFile | FileType::Symlink => {
                if stat.st_nlink <= 1 || self.policy.is_everywhere(operation) {
                    return Ok(());
                }
                "it has several names (hard links), and not all paths have it granted"
            }
            _ => "neither a file nor a folder: pipes, sockets and devices are never granted",
        };
        Err(Refusal::new(operation.as_str(), place.path.clone(), rule).into())
    }

    pub(super) fn open(&self, path: &str, how: Opening) -> Done<Opened> {
        // Something new is never made through a link.
        let last = if how.create && how.exclusive { Last::Keep } else { how.last };
        let place = self.find(how.operations()[0], path, last)?;
        // Looked at before it is opened: opening some devices does something.
        let judged = self.judge(how.operations(), &place)?;
        if how.writes() && !judged.as_ref().is_some_and(is_folder) {
            self.policy.lease(&place)?;
        }
        let file = match judged {
            Some(_) if how.create && how.exclusive => return Err(Errno::EXIST.into()),
            Some(stat) if kind(&stat) == FileType::Symlink => return Err(Errno::LOOP.into()),
            Some(_) => open_at(&place, how, OFlags::empty())?,
            None if !how.create => return Err(Errno::NOENT.into()),
            None if place.must_be_folder => return Err(Errno::ISDIR.into()),
            None => self.create(&place, how)?,
        };
        // And once more what was opened: the name may have come to be of something else.
        let stat = fstat(&file)?;
        if is_folder(&stat) {
            self.policy.check_folder(&place.path)?;
            self.policy.check_hidden(Operation::Read, &place, &stat)?;
            return Ok(Opened::Folder { file: file.into(), path: place.path });
        }
        for &operation in how.operations() {
            self.policy.check(operation, &place.path)?;
            self.policy.check_hidden(operation, &place, &stat)?;
            self.check_object(operation, &place, &stat)?;
        }
        if how.folder || place.must_be_folder {
            return Err(Errno::NOTDIR.into());
        }
        let own = self.policy.check_own(&place, Some(&stat));
        let may_write = self.policy.may(Operation::Write, &place.path)
            && self.check_object(Operation::Write, &place, &stat).is_ok()
            && own.is_ok();
        if how.writes() {
            own?;
        }
        if how.truncate {
            ftruncate(&file, 0)?;
        }
        Ok(Opened::File { file: file.into(), path: place.path, may_write })
    }

    /// Makes a file that is not there. Where somebody else made it meanwhile, it is opened as it is.
    fn create(&self, place: &Place, how: Opening) -> Done<OwnedFd> {
        let made = self.adding(place, || open_at(place, how, OFlags::CREATE | OFlags::EXCL));
        match made {
            Err(Failure::System(Errno::EXIST)) if !how.exclusive => open_at(place, how, OFlags::empty()),
            made => made,
        }
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

    /// An object without opening it for anything, to be asked about.
    pub(super) fn look(&self, path: &str, last: Last) -> Done<File> {
        let place = self.find(Operation::Read, path, last)?;
        self.judge(&[Operation::Read], &place)?.ok_or(Errno::NOENT)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&place.parent, &place.name, flags, Mode::empty())?.into())
    }

    pub(super) fn read_link(&self, path: &str) -> Done<String> {
        let place = self.find(Operation::Read, path, Last::Keep)?;
        self.judge(&[Operation::Read], &place)?;
        let target = readlinkat(&place.parent, &place.name, Vec::new())?;
        Ok(target.into_string().map_err(|_| Errno::ILSEQ)?)
    }

    pub(super) fn set_times(&self, path: &str, last: Last, times: &Timestamps) -> Done<()> {
        let place = self.find(Operation::Write, path, last)?;
        self.judge(&[Operation::Write], &place)?;
        self.policy.lease(&place)?;
        Ok(utimensat(&place.parent, &place.name, times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(super) fn make_folder(&self, path: &str) -> Done<()> {
        let place = self.name(path)?;
        self.adding(&place, || Ok(mkdirat(&place.parent, &place.name, Mode::from_raw_mode(0o777))?))
    }

    /// Makes a symbolic link, where the mount lets it.
    pub(super) fn make_link(&self, target: &str, path: &str) -> Done<()> {
        let place = self.leased(path)?;
        if !self.policy.mount(&place.path).is_some_and(|mount| mount.makes_links) {
            let rule = "making symbolic links is not granted; write symlinks = true in its mount";
            return Err(Refusal::new("symlink", place.path, rule).into());
        }
        if place.must_be_folder {
            return Err(Errno::NOENT.into());
        }
        self.adding(&place, || Ok(symlinkat(target, &place.parent, &place.name)?))
    }

    pub(super) fn remove_file(&self, path: &str) -> Done<()> {
        let place = self.leased(path)?;
        if place.must_be_folder && !is_folder(&statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW)?) {
            return Err(Errno::NOTDIR.into());
        }
        Ok(unlinkat(&place.parent, &place.name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, path: &str) -> Done<()> {
        if path == "." || path.ends_with("/.") {
            return Err(Errno::INVAL.into());
        }
        let place = self.leased(path)?;
        Ok(unlinkat(&place.parent, &place.name, AtFlags::REMOVEDIR)?)
    }

    /// Renames something within a mount, where what may be done with it stays what it was.
    pub(super) fn rename(&self, path: &str, to: &Folder, to_path: &str) -> Done<()> {
        let (old, new) = (self.leased(path)?, to.leased(to_path)?);
        // Mounts have modes and quotas of their own; they are to each other what file systems are.
        if self.policy.mount(&old.path).map(|mount| &mount.guest)
            != self.policy.mount(&new.path).map(|mount| &mount.guest)
        {
            return Err(Errno::XDEV.into());
        }
        let is_folder = is_folder(&statat(&old.parent, &old.name, AtFlags::SYMLINK_NOFOLLOW)?);
        if (old.must_be_folder || new.must_be_folder) && !is_folder {
            return Err(Errno::NOTDIR.into());
        }
        let may_move = match is_folder {
            true => self.policy.is_uniform(&old.path) && self.policy.is_uniform(&new.path),
            // What could not be read must not become readable by its new name, nor be asked about by it.
            false if !self.policy.may_see(&new.path) => true,
            false => match self.policy.check(Operation::Read, &old.path) {
                Err(refusal) if refusal.asks.is_some() => return Err(refusal.into()),
                checked => checked.is_ok(),
            },
        };
        if !may_move {
            return Err(Refusal::new("rename", old.path, "it would be under other rules by its new name").into());
        }
        Ok(renameat(&old.parent, &old.name, &new.parent, &new.name)?)
    }

    /// The same, and no other call of the message writes to it. Folders are made without: two may need the same.
    fn leased(&self, path: &str) -> Done<Place> {
        let place = self.name(path)?;
        self.policy.lease(&place)?;
        Ok(place)
    }

    /// A name that is to be of something else, or of nothing.
    fn name(&self, path: &str) -> Done<Place> {
        let place = self.find(Operation::Write, path, Last::Name)?;
        self.policy.check(Operation::Write, &place.path)?;
        let stat = statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        self.policy.check_own(&place, stat.as_ref().ok())?;
        // One name less would make a file with several names one with a single one, which its rules alone decide on.
        if let Ok(stat) = &stat
            && kind(stat) == FileType::RegularFile
        {
            self.check_object(Operation::Write, &place, stat)?;
        }
        Ok(place)
    }

    /// The folder itself, to be listed as far as it may be.
    pub(super) fn list(&self) -> Done<Dir> {
        self.policy.check_folder(&self.path)?;
        Ok(Dir::read_from(self.file.as_fd())?)
    }
}

impl Opening {
    pub(super) fn writes(self) -> bool {
        self.write || self.create || self.truncate
    }

    fn operations(self) -> &'static [Operation] {
        match (self.writes(), self.read) {
            (true, true) => &[Operation::Write, Operation::Read],
            (true, false) => &[Operation::Write],
            (false, _) => &[Operation::Read],
        }
    }
}

fn open_at(place: &Place, how: Opening, more: OFlags) -> Done<OwnedFd> {
    let mut flags = more | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags |= match (how.writes(), how.read) {
        (true, true) => OFlags::RDWR,
        (true, false) => OFlags::WRONLY,
        (false, _) => OFlags::RDONLY,
    };
    if how.folder {
        flags |= OFlags::DIRECTORY;
    }
    Ok(openat(&place.parent, &place.name, flags, Mode::from_raw_mode(0o666))?)
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn is_folder(stat: &Stat) -> bool {
    kind(stat) == FileType::Directory
}

/// A time of WASI's as the system takes it.
pub(super) fn timestamps(access: Timespec, modification: Timespec) -> Timestamps {
    Timestamps { last_access: access, last_modification: modification }
}
