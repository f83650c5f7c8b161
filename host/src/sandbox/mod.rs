//! One call in one store, under a grant that is parsed already.

mod fs;
mod http;
mod limiter;
mod run;
mod state;
mod stdio;

pub(crate) use fs::{Added, Guarded, Protected, Shared, check_mounts};
pub use fs::{Explanation, explain};
pub(crate) use run::{Exhausted, Job, Outcome, Stop, run};
pub(crate) use state::State;
