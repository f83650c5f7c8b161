//! From a folder and a path to the real object, one name at a time: no name is followed without being looked at.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::{Errno, Result};

use super::protect::is_kernel;
use crate::policy::Trail;

/// The longest path, as given and as it really is, in bytes: Linux's own limit.
const MAX_PATH: usize = 4_096;
/// The most symbolic links on one way, as Linux counts them.
const MAX_LINKS: usize = 40;
/// The most folders that are opened on one way.
const MAX_STEPS: usize = 8_192;

/// What is meant by a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// What it leads to.
    Follow,
    /// The link itself, unless a slash follows.
    Keep,
    /// The name, whatever it is of and whatever follows: to be removed, or given to something.
    Name,
}

/// Which file systems a way may lead over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    Only(u64),
    /// Any but the kernel's own, from this one on.
    From(u64),
}

/// Where a path leads: a name in a folder. The object of that name need not exist, and is no link that should have been
/// followed.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: OwnedFd,
    /// The name in the folder; `.` for the folder where the way began.
    pub(super) name: String,
    /// The real path of the object, as the guest sees it.
    pub(super) path: String,
    /// Whether a slash follows, so that only a folder is meant.
    pub(super) must_be_folder: bool,
}

/// Why there is no such place, and which path was meant.
#[derive(Debug)]
pub(super) struct NoPlace {
    pub(super) path: String,
    pub(super) reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The way leaves the folder where it began.
    Outside,
    /// The way comes to another file system.
    Device,
    /// The way leads through something that the guest must not pass.
    Hidden,
    /// The way leads through a folder of witbox's own.
    Own,
    System(Errno),
}

impl From<Errno> for Reason {
    fn from(errno: Errno) -> Self {
        Reason::System(errno)
    }
}

/// Where a way begins, and where it may lead.
pub(super) struct Start<'p, F> {
    pub(super) folder: F,
    /// The real path of the folder, as the guest sees it.
    pub(super) path: &'p str,
    pub(super) device: Device,
    /// What the rules say there.
    pub(super) trail: Trail<'p>,
    /// Whether a folder on the way may be passed, by what the rules say there.
    pub(super) may_pass: &'p dyn Fn(&Trail<'_>) -> bool,
    /// Whether a folder is witbox's own, through which nothing is reached.
    pub(super) is_own: &'p dyn Fn(&Stat) -> bool,
    /// Whether a link may be followed, by what the rules say there.
    pub(super) may_follow: &'p dyn Fn(&Trail<'_>) -> bool,
}

/// Finds the place that `path` leads to.
///
/// # Errors
/// Why there is none.
pub(super) fn find<F: AsFd>(start: Start<'_, F>, path: &str, last: Last) -> std::result::Result<Place, NoPlace> {
    // A path that is too long is nowhere; what is told of it is cut where it is told.
    if path.len() > MAX_PATH {
        return Err(NoPlace { path: start.path.to_owned(), reason: Errno::NAMETOOLONG.into() });
    }
    if path.is_empty() {
        return Err(NoPlace { path: start.path.to_owned(), reason: Errno::NOENT.into() });
    }
    // A path from the root is no path from this folder.
    if path.starts_with('/') {
        return Err(NoPlace { path: path.to_owned(), reason: Reason::Outside });
    }
    let mut walk = Walk {
        trail: start.trail.clone(),
        start,
        here: None,
        names: Vec::new(),
        left: names(path).map(str::to_owned).collect(),
        must_be_folder: means_folder(path),
        links: 0,
        steps: 0,
    };
    walk.run(last).map_err(|reason| NoPlace { path: walk.path_with_rest(), reason })
}

fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "."))
}

fn means_folder(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.") || path == "."
}

struct Walk<'p, F> {
    start: Start<'p, F>,
    /// The folder that the way has come to; nothing for the one where it began.
    here: Option<OwnedFd>,
    /// What the rules say here.
    trail: Trail<'p>,
    /// The names of the folders from there to here.
    names: Vec<String>,
    /// The names that are left.
    left: VecDeque<String>,
    must_be_folder: bool,
    links: usize,
    steps: usize,
}

impl<F: AsFd> Walk<'_, F> {
    fn run(&mut self, last: Last) -> std::result::Result<Place, Reason> {
        loop {
            let Some(name) = self.left.front().cloned() else {
                return self.folder_itself();
            };
            if name == ".." {
                self.up()?;
                self.left.pop_front();
                continue;
            }
            let is_last = self.left.len() == 1;
            if self.path().len() + 1 + name.len() > MAX_PATH {
                return Err(Errno::NAMETOOLONG.into());
            }
            let mut trail = self.trail.clone();
            trail.enter(&name);
            // Asked before anything is looked at, so that what is hidden is not told from what is not there.
            if !is_last && !(self.start.may_pass)(&trail) {
                return Err(Reason::Hidden);
            }
            let stat = match statat(self.folder(), &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) if is_last => return self.place(name),
                Err(errno) => return Err(errno.into()),
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            self.check_device(&name, kind, stat.st_dev)?;
            let follows = !is_last || last == Last::Follow || (last == Last::Keep && self.must_be_folder);
            match kind {
                FileType::Symlink if follows => {
                    if !(self.start.may_follow)(&trail) {
                        return Err(Reason::Hidden);
                    }
                    self.follow(&name)?;
                }
                _ if is_last => return self.place(name),
                FileType::Directory if (self.start.is_own)(&stat) => return Err(Reason::Own),
                FileType::Directory => {
                    self.left.pop_front();
                    self.down(name)?;
                }
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
    }

    fn down(&mut self, name: String) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Errno::LOOP);
        }
        self.here = Some(open_folder(self.folder(), &name)?);
        self.trail.enter(&name);
        self.names.push(name);
        Ok(())
    }

    /// Goes back to the folder above: by the names from where the way began, so that one descriptor is enough and none is
    /// left.
    fn up(&mut self) -> std::result::Result<(), Reason> {
        if self.names.pop().is_none() {
            return Err(Reason::Outside);
        }
        self.here = None;
        self.trail = self.start.trail.clone();
        let names = std::mem::take(&mut self.names);
        for name in &names {
            if let Err(errno) = self.down(name.clone()) {
                // An error is told of the path that was meant.
                self.names = names;
                return Err(errno.into());
            }
        }
        Ok(())
    }

    fn check_device(&self, name: &str, kind: FileType, device: u64) -> std::result::Result<(), Reason> {
        match self.start.device {
            Device::Only(own) | Device::From(own) if own == device => Ok(()),
            Device::Only(_) => Err(Reason::Device),
            Device::From(_) if kind != FileType::Directory => Ok(()),
            Device::From(_) if is_kernel(open_folder(self.folder(), name)?, device) => Err(Reason::Device),
            Device::From(_) => Ok(()),
        }
    }

    fn follow(&mut self, name: &str) -> std::result::Result<(), Reason> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = readlinkat(self.folder(), name, Vec::new())?;
        let target = target.into_string().map_err(|_| Errno::ILSEQ)?;
        if target.starts_with('/') {
            return Err(Reason::Outside);
        }
        self.left.pop_front();
        if self.left.is_empty() {
            self.must_be_folder |= means_folder(&target);
        }
        for name in names(&target).rev() {
            self.left.push_front(name.to_owned());
        }
        Ok(())
    }

    /// The folder that the way has come to.
    fn folder(&self) -> BorrowedFd<'_> {
        match &self.here {
            Some(folder) => folder.as_fd(),
            None => self.start.folder.as_fd(),
        }
    }

    fn place(&self, name: String) -> std::result::Result<Place, Reason> {
        let parent = self.folder().try_clone_to_owned();
        let parent = parent.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let path = join(&self.path(), &name);
        Ok(Place { parent, name, path, must_be_folder: self.must_be_folder })
    }

    /// Where the way ends at a folder that it has been in: the folder by its name in its parent, so that it is looked at
    /// like any other.
    fn folder_itself(&mut self) -> std::result::Result<Place, Reason> {
        match self.names.last().cloned() {
            Some(name) => {
                self.up()?;
                self.place(name)
            }
            None => {
                let path = self.start.path.to_owned();
                Ok(Place { path, ..self.place(".".to_owned())? })
            }
        }
    }

    fn path(&self) -> String {
        let below = self.names.join("/");
        if below.is_empty() { self.start.path.to_owned() } else { join(self.start.path, &below) }
    }

    /// The path that was meant, as far as it can be told without the folders that are missing.
    fn path_with_rest(&self) -> String {
        let mut path: Vec<&str> = Vec::new();
        let so_far = self.path();
        for name in so_far.split('/').chain(self.left.iter().map(String::as_str)) {
            match name {
                "" => {}
                ".." => {
                    path.pop();
                }
                name => path.push(name),
            }
        }
        format!("/{}", path.join("/"))
    }
}

fn open_folder(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// A path one name further.
pub(super) fn join(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}
