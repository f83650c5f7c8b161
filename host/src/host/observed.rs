//! Tells an observer of a call what its tool says, and nothing once the call has its reply.

use std::sync::{Arc, Mutex, PoisonError};

use crate::redact::Redactor;
use crate::sandbox::{LogEntry, Observe, Progress};

/// An observer that is told no secrets, for as long as it listens.
pub(super) struct Observed {
    observer: Mutex<Option<Arc<dyn Observe>>>,
    redactor: Arc<Redactor>,
}

/// Ends an observation when it is dropped. What a guest that was given up still says comes too late then.
pub(super) struct Observing(Arc<Observed>);

impl Observed {
    pub(super) fn begin(observer: Arc<dyn Observe>, redactor: Arc<Redactor>) -> (Arc<Self>, Observing) {
        let observed = Arc::new(Observed { observer: Mutex::new(Some(observer)), redactor });
        (observed.clone(), Observing(observed))
    }

    /// Held while the observer is told something, so that nothing is said after the end.
    fn tell(&self, told: impl FnOnce(&dyn Observe)) {
        if let Some(observer) = &*self.observer.lock().unwrap_or_else(PoisonError::into_inner) {
            told(&**observer);
        }
    }
}

impl Observe for Observed {
    fn progress(&self, mut progress: Progress) {
        progress.message = progress.message.map(|message| self.redactor.text(&message).into_owned());
        self.tell(|observer| observer.progress(progress));
    }

    fn log(&self, mut entry: LogEntry) {
        entry.message = self.redactor.text(&entry.message).into_owned();
        self.tell(|observer| observer.log(entry));
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        self.0.observer.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
