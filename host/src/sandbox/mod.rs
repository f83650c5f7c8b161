//! One call in one store, under a grant that is parsed already.

mod ask;
mod clock;
mod crossing;
mod denials;
mod errors;
mod fs;
mod http;
mod limiter;
mod report;
mod run;
mod siblings;
mod state;
mod stdio;

use std::sync::Arc;

pub use ask::{Answer, Ask, Question};
pub(crate) use ask::{Person, Subject};
pub(crate) use clock::Clock;
pub(crate) use errors::Plain;
pub use fs::{Explanation, explain};
pub(crate) use fs::{Files, Guarded, Protected, Root, list_in_parts};
pub(crate) use http::bound as bound_requests;
pub use http::{Fake, Resolve, explain_request};
pub(crate) use http::{Network, SystemResolver};
pub(crate) use report::{Log, take_reports};
pub use report::{LogEntry, LogLevel, Observe, Progress};
pub(crate) use run::{Command, Exhausted, Job, Outcome, Returned, Stop, run, text};
pub(crate) use siblings::{Sibling, Siblings};
pub(crate) use state::State;

/// What all calls of a toolset share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) files: Files,
    pub(crate) network: Arc<Network>,
}
