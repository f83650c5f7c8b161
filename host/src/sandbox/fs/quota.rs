//! What calls may add to a mount: bytes by which files grow, and new files and folders.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use rustix::io::Errno;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::streams::Counted;
use super::{Denials, Refusal};

/// What was added to one mount so far, by all calls of a host.
#[derive(Debug, Default)]
pub(crate) struct Added {
    bytes: AtomicU64,
    files: AtomicU64,
}

/// The most that may be added to one mount, and what was.
#[derive(Debug, Clone)]
pub(super) struct Quota {
    pub(super) max_bytes: u64,
    pub(super) max_files: u64,
    pub(super) added: Arc<Added>,
}

impl Quota {
    /// Takes room for one more file or folder.
    pub(super) fn take_file(&self, path: &str) -> Result<(), Refusal> {
        let taken = take(&self.added.files, 1, self.max_files);
        taken.map_err(|()| full("create", path, format!("max-files of its mount is {}", self.max_files)))
    }

    /// Gives it back, where nothing came of it.
    pub(super) fn give_file(&self) {
        self.added.files.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes room for bytes by which a file grows. What is deleted gives none back.
    pub(super) fn take_bytes(&self, bytes: u64, path: &str) -> Result<(), Refusal> {
        let taken = take(&self.added.bytes, bytes, self.max_bytes);
        taken.map_err(|()| full("grow", path, format!("max-bytes of its mount is {}", self.max_bytes)))
    }
}

fn full(operation: &'static str, path: &str, rule: String) -> Refusal {
    Refusal::new(operation, path.to_owned(), rule)
}

fn take(taken: &AtomicU64, more: u64, limit: u64) -> Result<(), ()> {
    let add = |taken: u64| taken.checked_add(more).filter(|taken| *taken <= limit);
    taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).map(|_| ()).map_err(|_| ())
}

/// A stream into a file that takes room as the file grows.
pub(super) struct Metered {
    stream: DynOutputStream,
    quota: Quota,
    denials: Denials,
    path: String,
    file: Arc<File>,
    /// Where the next byte goes; nothing for the end of the file, wherever that is.
    position: Option<u64>,
    _counted: Counted,
}

impl Metered {
    /// A stream that writes into a file from `position` on, or to its end.
    pub(super) fn new(
        stream: DynOutputStream,
        file: Arc<File>,
        growing: Growing,
        denials: Denials,
        position: Option<u64>,
        counted: Counted,
    ) -> Self {
        Metered { stream, quota: growing.quota, path: growing.path, denials, file, position, _counted: counted }
    }
}

/// The most that a guest writes at once, in bytes: it waits in memory until it is written.
const MAX_WRITE: usize = 16 << 10;

/// A file that a guest may make larger.
#[derive(Debug, Clone)]
pub(super) struct Growing {
    pub(super) path: String,
    pub(super) quota: Quota,
}

#[async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}

#[async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let failed = |error: io::Error| StreamError::LastOperationFailed(error.into());
        // Asked each time: the file may have been cut off since.
        let size = self.file.metadata().map_err(failed)?.len();
        let end = self.position.unwrap_or(size).saturating_add(bytes.len() as u64);
        self.quota.take_bytes(end.saturating_sub(size), &self.path).map_err(|refusal| {
            self.denials.push(refusal.into());
            failed(Errno::NOSPC.into())
        })?;
        self.position = self.position.map(|_| end);
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.stream.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.stream.check_write()?.min(MAX_WRITE))
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}
