//! What the calls of one message share: they run side by side, and one message is one step of a model.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The calls of one message.
#[derive(Debug, Default)]
pub(crate) struct Siblings {
    /// Held while a question of theirs is open.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Whether there is more than one.
    are_many: bool,
    count: AtomicU64,
    /// Who writes what. The first that writes to a name has it until all are done: which of two came last would be chance.
    leases: Mutex<HashMap<Name, u64>>,
}

/// How many names the calls of a message may write to: each is kept until all are done.
const MAX_LEASES: usize = 50_000;

impl Siblings {
    /// So many calls.
    pub(crate) fn of(calls: usize) -> Arc<Self> {
        Arc::new(Siblings { are_many: calls > 1, ..Siblings::default() })
    }
}

/// A name by its folder's device and inode, and so in whatever mount.
pub(super) type Name = ((u64, u64), String);

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Sibling {
    pub(super) all: Arc<Siblings>,
    number: u64,
}

impl Sibling {
    pub(crate) fn of(all: Arc<Siblings>) -> Self {
        let number = all.count.fetch_add(1, Ordering::Relaxed);
        Sibling { all, number }
    }

    /// Lets it write to a name, and from then on nobody else.
    ///
    /// # Errors
    /// Why it may not.
    pub(super) fn lease(&self, name: Name) -> Result<(), &'static str> {
        if !self.all.are_many {
            return Ok(());
        }
        let mut leases = self.all.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = leases.len() >= MAX_LEASES;
        match leases.entry(name) {
            Entry::Occupied(held) if *held.get() != self.number => {
                Err("another call of the same message writes to it; call again in the next one")
            }
            Entry::Vacant(_) if is_full => Err("the calls of one message write to 50,000 files and folders at most"),
            entry => {
                entry.or_insert(self.number);
                Ok(())
            }
        }
    }
}

impl Default for Sibling {
    fn default() -> Self {
        Sibling::of(Arc::default())
    }
}
