//! From a folder and a path to the real object, one name at a time: no name is followed without being looked at.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::{Errno, Result};

use super::protect::is_kernel;

/// The most symbolic links on one way, as Linux counts them.
const MAX_LINKS: usize = 40;
/// The most names of one path, links written out.
const MAX_NAMES: usize = 4_096;

/// Whether a link at the end of a path is meant, or what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

/// Which file systems a way may lead over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    Only(u64),
    /// Any but the kernel's own.
    Any,
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
    /// Whether the path ends with a slash, so that only a folder is meant.
    pub(super) must_be_folder: bool,
}

/// Why there is no such place, and which path was meant.
#[derive(Debug)]
pub(super) struct NoPlace {
    pub(super) path: String,
    pub(super) errno: Errno,
}

/// Finds the place that `path` leads to from `base`, whose own real path is `base_path`.
///
/// # Errors
/// When a folder on the way is missing or none, links lead in circles, the way leaves `base` (`PERM`), or it leads to
/// another file system (`XDEV`).
pub(super) fn find(
    base: impl AsFd,
    base_path: &str,
    path: &str,
    last: Last,
    device: Device,
) -> std::result::Result<Place, NoPlace> {
    let mut walk = Walk {
        base,
        base_path,
        device,
        folders: Vec::new(),
        left: path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        links: 0,
    };
    let must_be_folder = path.ends_with('/') || path.ends_with("/.");
    let last = if must_be_folder { Last::Follow } else { last };
    if path.is_empty() {
        return Err(NoPlace { path: base_path.to_owned(), errno: Errno::NOENT });
    }
    // A path from the root is no path from this folder.
    if path.starts_with('/') {
        return Err(NoPlace { path: path.to_owned(), errno: Errno::PERM });
    }
    match walk.run(last) {
        Ok(place) => Ok(Place { must_be_folder, ..place }),
        Err(errno) => Err(NoPlace { path: walk.path_with_rest(), errno }),
    }
}

struct Walk<'p, F> {
    base: F,
    base_path: &'p str,
    device: Device,
    /// The folders below the base on the way, with their names.
    folders: Vec<(OwnedFd, String)>,
    /// The names that are left.
    left: VecDeque<String>,
    links: usize,
}

impl<F: AsFd> Walk<'_, F> {
    fn run(&mut self, last: Last) -> Result<Place> {
        loop {
            if self.left.len() > MAX_NAMES || self.folders.len() > MAX_NAMES {
                return Err(Errno::NAMETOOLONG);
            }
            let Some(name) = self.left.front().cloned() else {
                return self.folder_itself();
            };
            match name.as_str() {
                "." => {
                    self.left.pop_front();
                    continue;
                }
                ".." => {
                    if self.folders.pop().is_none() {
                        return Err(Errno::PERM);
                    }
                    self.left.pop_front();
                    continue;
                }
                _ => {}
            }
            let is_last = self.left.iter().skip(1).all(|name| name == ".");
            let kind = match statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    let kind = FileType::from_raw_mode(stat.st_mode);
                    self.check_device(&name, kind, stat.st_dev)?;
                    kind
                }
                Err(Errno::NOENT) if is_last => return self.place(name),
                Err(errno) => return Err(errno),
            };
            match kind {
                FileType::Symlink if !is_last || last == Last::Follow => self.follow(&name)?,
                _ if is_last => return self.place(name),
                FileType::Directory => {
                    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let folder = openat(self.here(), &name, flags, Mode::empty())?;
                    self.left.pop_front();
                    self.folders.push((folder, name));
                }
                _ => return Err(Errno::NOTDIR),
            }
        }
    }

    fn check_device(&self, name: &str, kind: FileType, device: u64) -> Result<()> {
        match self.device {
            Device::Only(only) if only != device => Err(Errno::XDEV),
            Device::Only(_) => Ok(()),
            Device::Any if kind == FileType::Directory => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let folder = openat(self.here(), name, flags, Mode::empty())?;
                if is_kernel(folder) { Err(Errno::XDEV) } else { Ok(()) }
            }
            Device::Any => Ok(()),
        }
    }

    fn follow(&mut self, name: &str) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        let target = readlinkat(self.here(), name, Vec::new())?;
        let target = target.into_string().map_err(|_| Errno::ILSEQ)?;
        if target.starts_with('/') {
            return Err(Errno::PERM);
        }
        self.left.pop_front();
        for name in target.split('/').rev().filter(|name| !name.is_empty()) {
            self.left.push_front(name.to_owned());
        }
        Ok(())
    }

    /// The folder that the way has come to.
    fn here(&self) -> std::os::fd::BorrowedFd<'_> {
        match self.folders.last() {
            Some((folder, _)) => folder.as_fd(),
            None => self.base.as_fd(),
        }
    }

    fn place(&self, name: String) -> Result<Place> {
        let parent =
            self.here().try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let path = join(&self.path(), &name);
        Ok(Place { parent, name, path, must_be_folder: false })
    }

    /// Where the way ends at a folder that it has been in: the folder by its name in its parent, so that it is looked at
    /// like any other.
    fn folder_itself(&mut self) -> Result<Place> {
        match self.folders.pop() {
            Some((_, name)) => self.place(name),
            None => {
                let path = self.base_path.to_owned();
                Ok(Place { path, ..self.place(".".to_owned())? })
            }
        }
    }

    fn path(&self) -> String {
        self.folders.iter().fold(self.base_path.to_owned(), |path, (_, name)| join(&path, name))
    }

    /// The path that was meant, as far as it can be told without the folders that are missing.
    fn path_with_rest(&self) -> String {
        let mut path: Vec<&str> = Vec::new();
        let so_far = self.path();
        for name in so_far.split('/').chain(self.left.iter().map(String::as_str)) {
            match name {
                "" | "." => {}
                ".." => {
                    path.pop();
                }
                name => path.push(name),
            }
        }
        format!("/{}", path.join("/"))
    }
}

/// A path one name further.
pub(super) fn join(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}
