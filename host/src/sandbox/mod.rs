//! One call in one store, under a grant that is parsed already.

mod fs;
mod http;
mod limiter;
mod run;
mod state;
mod stdio;

pub use fs::{Explanation, explain};
pub(crate) use fs::{Guarded, Protected, Root, Shared};
pub(crate) use run::{Exhausted, Job, Outcome, Stop, run};
pub(crate) use state::State;
