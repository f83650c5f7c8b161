//! What a rule leaves to a person: the question, and who answers it.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::clock::Clock;
use super::siblings::Sibling;
use crate::policy::Operation;

/// Decides what a rule with `ask` leaves to a person.
///
/// One question is asked at a time for the calls of one message; the other calls go on. The call that asks waits with its
/// clock stopped, for at most the `ask_timeout` of its limits in all, its turn included.
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
    sibling: Sibling,
    subject: Subject,
    /// How long the call may still wait.
    patience: Arc<std::sync::Mutex<Duration>>,
}

impl Person {
    pub(crate) fn new(asker: Arc<dyn Ask>, sibling: Sibling, subject: Subject, patience: Duration) -> Self {
        Person { asker, sibling, subject, patience: Arc::new(patience.into()) }
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
        let Subject { call, tool, toolset, arguments } = self.subject.clone();
        let (path, rule) = (path.to_owned(), rule.to_owned());
        let question = Question { call, tool, toolset, arguments, operation, path, rule };
        let (started, patience) = (Instant::now(), *self.patience());
        let asked = async {
            let _turn = self.sibling.all.turn.lock().await;
            self.asker.ask(&question).await
        };
        let answer = tokio::time::timeout(patience, asked).await;
        *self.patience() = patience.saturating_sub(started.elapsed());
        match answer {
            Ok(Answer::Allow) => Ok(()),
            Ok(Answer::Deny) => Err("a person refused it"),
            Err(_) => Err("nobody answered in time"),
        }
    }

    fn patience(&self) -> MutexGuard<'_, Duration> {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Person").field("subject", &self.subject).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Siblings;

    /// Allows after so long.
    struct Slow(Duration);

    #[async_trait]
    impl Ask for Slow {
        async fn ask(&self, _question: &Question) -> Answer {
            tokio::time::sleep(self.0).await;
            Answer::Allow
        }
    }

    fn person(all: &Arc<Siblings>) -> Person {
        let text = String::new;
        let subject = Subject { call: text(), tool: text(), toolset: text(), arguments: text() };
        let sibling = Sibling::of(all.clone());
        Person::new(Arc::new(Slow(Duration::from_secs(6))), sibling, subject, Duration::from_secs(10))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_a_person_so_long_in_all() {
        let all = Arc::default();
        let asks = |person: Person| async move {
            let clock = Clock::start(Duration::from_secs(1));
            person.decide(&clock, Operation::Read, "/a", "rule").await
        };
        let started = Instant::now();
        let one = person(&all);
        assert_eq!(asks(one.clone()).await, Ok(()));
        assert_eq!(asks(one.clone()).await, Err("nobody answered in time"));
        assert_eq!(started.elapsed().as_secs(), 10);
        // Waiting for others counts too.
        let (_, other) = tokio::join!(asks(person(&all)), asks(person(&all)));
        assert_eq!(other, Err("nobody answered in time"));
        assert_eq!(started.elapsed().as_secs(), 20);
    }
}
