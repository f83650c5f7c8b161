//! Streams of files, and listings: few at once, and little at a time. Each holds a descriptor of the host's though the guest
//! may have let go of its own, and what is read waits in memory until the guest takes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use wasmtime_wasi::p2::{DynInputStream, InputStream, Pollable, StreamResult};

/// The most streams of files, and listings, that a call holds.
const MAX_STREAMS: usize = 128;
/// The most that is read at once, in bytes.
const MAX_READ: usize = 16 << 10;

/// How many of them a call holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams(Arc<AtomicUsize>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<AtomicUsize>);

impl Streams {
    /// One more; nothing where there are enough.
    pub(super) fn one(&self) -> Option<Counted> {
        let more = |held| (held < MAX_STREAMS).then_some(held + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Counted(self.0.clone()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream out of a file.
pub(super) struct Reading {
    pub(super) stream: DynInputStream,
    pub(super) _counted: Counted,
}

#[async_trait]
impl Pollable for Reading {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}

#[async_trait]
impl InputStream for Reading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.stream.read(size.min(MAX_READ))
    }

    fn skip(&mut self, size: usize) -> StreamResult<usize> {
        self.stream.skip(size.min(MAX_READ))
    }

    /// Not the trait's own, which waits for the first four kilobytes alone.
    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.stream.blocking_read(size.min(MAX_READ)).await
    }

    async fn blocking_skip(&mut self, size: usize) -> StreamResult<usize> {
        self.stream.blocking_skip(size.min(MAX_READ)).await
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}
