//! What of the results is kept: neither for ever nor without bound.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::store::TEMPORARY;
use super::{RESULTS, SESSIONS, Session, Stored, Workspace};
use crate::reply::Evicted;

/// How old what nobody writes any more is, for certain: it is locked a moment after it was made.
const LEFT: Duration = Duration::from_secs(10);

/// What is kept of the results of all sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Bytes of all together. Default: 1 GiB.
    pub bytes: u64,
    /// How long each is kept since it was last written. Default: 30 days.
    pub age: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Retention { bytes: 1 << 30, age: Duration::from_secs(30 * 24 * 60 * 60) }
    }
}

struct Kept {
    modified: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl Kept {
    /// Whether it is still written, or was when somebody was stopped.
    fn is_temporary(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY))
    }

    /// Whether nobody writes it any more: whoever does holds its lock.
    fn is_left(&self) -> bool {
        let lock = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive);
        File::open(&self.path).is_ok_and(|file| lock(file).is_ok())
    }
}

impl Workspace {
    /// Removes what is older than may be, counted from `now`, and then the oldest, until no more than may be is left, but
    /// not what is in `running`. Says how many files went.
    ///
    /// # Errors
    /// When the folder cannot be read, or something cannot be removed.
    pub fn prune(&self, now: SystemTime, running: &[&Path]) -> io::Result<usize> {
        let mut all = self.all()?;
        all.sort_by_key(|kept| kept.modified);
        let mut total: u64 = all.iter().filter(|kept| !kept.is_temporary()).map(|kept| kept.bytes).sum();
        let mut removed = 0;
        for kept in all.iter().filter(|kept| !running.contains(&kept.path.as_path())) {
            let age = now.duration_since(kept.modified).unwrap_or_default();
            let goes = match kept.is_temporary() {
                true => age > LEFT && kept.is_left(),
                false => age > self.retention.age || total > self.retention.bytes,
            };
            if !goes {
                continue;
            }
            match fs::remove_file(&kept.path) {
                Ok(()) => removed += 1,
                // Another was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            if !kept.is_temporary() {
                total -= kept.bytes;
            }
        }
        Ok(removed)
    }

    fn all(&self) -> io::Result<Vec<Kept>> {
        let mut all = Vec::new();
        for session in self.sessions()? {
            let folder = self.folder.join(SESSIONS).join(session).join(RESULTS);
            let Ok(files) = fs::read_dir(folder) else { continue };
            for file in files {
                let file = file?;
                let Ok(about) = file.metadata() else { continue };
                let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.push(Kept { modified, bytes: about.len(), path: file.path() });
            }
        }
        Ok(all)
    }
}

impl Session {
    /// Prunes the workspace once a result was written; that it could not is no reason to lose the result.
    pub(crate) fn make_room(&self, written: &Stored, others: &[Evicted]) {
        let names = others.iter().filter_map(|evicted| evicted.path.rsplit('/').next()).chain([written.name.as_str()]);
        let running: Vec<PathBuf> = names.map(|name| self.results.join(name)).collect();
        let running: Vec<&Path> = running.iter().map(PathBuf::as_path).collect();
        let _ = self.workspace.prune(written.modified, &running);
    }
}
