//! Standard output and standard error of a guest, kept up to a bound.
//!
//! wasmtime-wasi's own streams are not used: in 48.0.8 they queue without bound.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::run::Exhausted;

/// The most that a guest may write to each of the two in one call, in bytes: far above any log, far below what hurts.
const MAX_BYTES: usize = 1 << 20;
/// The most that a guest may write at once, in bytes.
const MAX_WRITE: usize = 64 << 10;

/// One of the two streams. Clones share what was written.
#[derive(Clone)]
pub(super) struct Capture {
    written: Arc<Mutex<Vec<u8>>>,
    exhausted: Exhausted,
}

impl Capture {
    /// A stream that stops the call with `exhausted` once it is full.
    pub(super) fn new(exhausted: Exhausted) -> Self {
        Capture { written: Arc::default(), exhausted }
    }

    /// What was written, with replacement characters for what is no UTF-8.
    pub(super) fn text(&self) -> String {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&written).into_owned()
    }

    fn append(&self, bytes: &[u8]) -> Result<(), Exhausted> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_BYTES - written.len();
        written.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room { Err(self.exhausted) } else { Ok(()) }
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
        self.append(&bytes).map_err(|exhausted| StreamError::Trap(exhausted.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE)
    }
}
