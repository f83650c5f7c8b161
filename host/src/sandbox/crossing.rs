//! What happens whenever a call crosses from the guest to the host, or back.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use wasmtime::{CallHook, CallHookHandler, StoreContextMut};

use super::state::State;

/// The most that one host call may carry from the guest, in bytes. Streams take a few kilobytes at a time.
const MAX_HOST_CALL: usize = 1 << 20;
/// What a returned value may take even where the guest has used all of its memory, in bytes.
const MIN_RETURNED: usize = 4 << 20;
/// How long a guest has a thread to itself. Fuel sees to it while the guest computes; what the host does for it takes no
/// fuel.
const SLICE: Duration = Duration::from_millis(1);

/// Bounds what is carried over, and has the guest give way.
pub(super) struct Crossing {
    /// How much more what is returned takes than the engine charges for it.
    pub(super) worst_ratio: f64,
}

/// Since when a guest has had the thread.
#[derive(Debug)]
pub(super) struct Slice(Instant);

impl Slice {
    pub(super) fn begin() -> Self {
        Slice(Instant::now())
    }

    /// Whether it is over; the next one begins then.
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        let is_over = now.duration_since(self.0) >= SLICE;
        if is_over {
            self.0 = now;
        }
        is_over
    }
}

#[async_trait]
impl CallHookHandler<State> for Crossing {
    async fn handle_call_event(&self, mut store: StoreContextMut<'_, State>, hook: CallHook) -> wasmtime::Result<()> {
        match hook {
            CallHook::CallingHost => {
                store.set_hostcall_fuel(MAX_HOST_CALL);
                if store.data_mut().slice.is_over() {
                    tokio::task::yield_now().await;
                }
            }
            // What comes next may be the value that the function returned.
            CallHook::ReturningFromWasm => {
                let room = store.data().limiter.left().max(MIN_RETURNED);
                store.set_hostcall_fuel((room as f64 / self.worst_ratio) as usize);
            }
            CallHook::CallingWasm | CallHook::ReturningFromHost => {}
        }
        Ok(())
    }
}
