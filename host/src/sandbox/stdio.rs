//! Standard output and standard error of a guest, taken up to a bound.
//!
//! wasmtime-wasi's own streams are not used: in 48.0.8 they queue without bound.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::run::Exhausted;
use crate::workspace::{Spool, SpoolError, Spooled};

/// The most that a tool may write to each of the two in one call where it is no result, in bytes: far above any log, far below
/// what hurts.
pub(super) const MAX_LOG: usize = 1 << 20;
/// The most that a guest may write at once, in bytes.
const MAX_WRITE: usize = 64 << 10;

/// One of the two streams. Clones share what was written.
#[derive(Clone)]
pub(super) struct Capture {
    spool: Arc<Mutex<Spool>>,
    exhausted: fn(u64) -> Exhausted,
}

/// Why a guest is stopped that is not to blame.
#[derive(Debug, thiserror::Error)]
#[error("what the tool writes cannot be kept in a file: {0}")]
pub(super) struct Unwritten(String);

impl Capture {
    /// A stream that stops the call with `exhausted` of the most that it takes, once that was taken.
    pub(super) fn new(spool: Spool, exhausted: fn(u64) -> Exhausted) -> Self {
        Capture { spool: Arc::new(Mutex::new(spool)), exhausted }
    }

    /// What was written. Nothing is taken any more.
    pub(super) fn take(&self) -> Spooled {
        let mut spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *spool, Spool::in_memory(0)).finish()
    }
}

impl IsTerminal for Capture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Capture {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    /// Only WASI 0.3 asks for it, which the engine runs without.
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

#[async_trait::async_trait]
impl Pollable for Capture {
    async fn ready(&mut self) {}
}

impl OutputStream for Capture {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        spool.write(&bytes).map_err(|error| {
            StreamError::Trap(match error {
                SpoolError::Full(limit) => (self.exhausted)(limit).into(),
                SpoolError::Unwritten(reason) => Unwritten(reason).into(),
            })
        })
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE)
    }
}
