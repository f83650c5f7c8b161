//! One budget for all linear memories and tables of a call, and for the values that go in and come out.

use wasmtime::ResourceLimiter;

/// What a table's element costs the host: a pointer.
const TABLE_ELEMENT_BYTES: usize = size_of::<usize>();
/// Instances, memories and tables cost the host some pages of bookkeeping each, and address space. Components of
/// componentize-py, the largest known, have some 60 instances; none has more than a few memories and tables.
const MAX_INSTANCES: usize = 1_000;
const MAX_MEMORIES: usize = 64;
const MAX_TABLES: usize = 64;

#[derive(Debug)]
pub(super) struct Limiter {
    limit: usize,
    used: usize,
    peak: usize,
    /// What the last growth added, in case that it fails after all.
    last: usize,
    refused: bool,
}

impl Limiter {
    /// A limiter of so many bytes, of which some are used already.
    pub(super) fn new(limit: u64, used: u64) -> Self {
        let [limit, used] = [limit, used].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Limiter { limit, used, peak: used, last: 0, refused: false }
    }

    /// The bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// The most that was in use at once, in bytes.
    pub(super) fn peak(&self) -> u64 {
        self.peak as u64
    }

    /// Whether the guest was ever refused memory.
    pub(super) fn refused(&self) -> bool {
        self.refused
    }

    fn grow(&mut self, more: usize) -> bool {
        self.last = 0;
        let wanted = self.used.saturating_add(more);
        if wanted > self.limit {
            self.refused = true;
            return false;
        }
        self.used = wanted;
        self.peak = self.peak.max(wanted);
        self.last = more;
        true
    }

    fn undo(&mut self) {
        self.used = self.used.saturating_sub(self.last);
        self.last = 0;
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(desired.saturating_sub(current)))
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        Ok(self.grow(more.saturating_mul(TABLE_ELEMENT_BYTES)))
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo();
        Ok(())
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }
}
