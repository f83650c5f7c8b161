//! What the grant refused, for the operator.

use std::sync::{Arc, Mutex, PoisonError};

use crate::reply::Denial;

/// The most denials that a reply lists; a guest may try for ever.
const MAX_DENIALS: usize = 100;

/// What the grant refused, as the guest tried it.
#[derive(Debug, Clone, Default)]
pub(super) struct Denials(Arc<Mutex<Vec<Denial>>>);

impl Denials {
    pub(super) fn push(&self, denial: Denial) {
        let mut denials = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < MAX_DENIALS && !denials.contains(&denial) {
            denials.push(denial);
        }
    }

    pub(super) fn take(&self) -> Vec<Denial> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
