//! What a rule leaves to a person: the question, and who answers it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::clock::Clock;
use crate::policy::Operation;

/// Decides what a rule with `ask` leaves to a person.
///
/// One question is asked at a time for the calls of one message; the other calls go on. The call that asks waits with its
/// clock stopped, for at most the `ask_timeout` of its limits.
#[async_trait]
pub trait Ask: Send + Sync {
    /// Answers a question. Dropping the future withdraws the question.
    async fn ask(&self, question: &Question) -> Answer;
}

/// What a person decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The id of the call that wants it.
    pub call: String,
    /// The tool that was called.
    pub tool: String,
    /// Its toolset.
    pub toolset: String,
    /// The arguments of the call as the tool has them: a JSON object.
    pub arguments: String,
    /// What the tool wants to do.
    pub operation: Operation,
    /// On what: the real path, as the guest sees it.
    pub path: String,
    /// The rule that asks.
    pub rule: String,
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The operation goes ahead. The same operation on the same path is not asked for again in this call.
    Allow,
    /// It is refused, for the rest of the call.
    Deny,
}

/// What is the same of all questions of a call.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) toolset: String,
    pub(crate) arguments: String,
}

/// Who may be asked on behalf of one call.
#[derive(Clone)]
pub(crate) struct Person {
    asker: Arc<dyn Ask>,
    /// Held while a question of the message is open.
    turn: Arc<Mutex<()>>,
    subject: Subject,
    patience: Duration,
}

impl Person {
    pub(crate) fn new(asker: Arc<dyn Ask>, turn: Arc<Mutex<()>>, subject: Subject, patience: Duration) -> Self {
        Person { asker, turn, subject, patience }
    }

    /// Asks, and says why not where the answer is no.
    pub(super) async fn decide(
        &self,
        clock: &Clock,
        operation: Operation,
        path: &str,
        rule: &str,
    ) -> Result<(), &'static str> {
        let _standing = clock.stand();
        let _turn = self.turn.lock().await;
        let Subject { call, tool, toolset, arguments } = self.subject.clone();
        let (path, rule) = (path.to_owned(), rule.to_owned());
        let question = Question { call, tool, toolset, arguments, operation, path, rule };
        match tokio::time::timeout(self.patience, self.asker.ask(&question)).await {
            Ok(Answer::Allow) => Ok(()),
            Ok(Answer::Deny) => Err("a person refused it"),
            Err(_) => Err("nobody answered in time"),
        }
    }
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Person").field("subject", &self.subject).finish_non_exhaustive()
    }
}
