//! The clock of a call, which stands while a person decides.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
enum Reading {
    /// Until then.
    Running(Instant),
    /// With so much left.
    Standing(Duration),
}

/// How long a call may still run. Clones are of the same clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Arc<watch::Sender<Reading>>);

/// How long after its end a call may take to say how it ended, before it is given up.
const GRACE: Duration = Duration::from_millis(20);

/// Lets a clock go on when it is dropped.
pub(super) struct Standing(Clock);

impl Clock {
    pub(crate) fn start(limit: Duration) -> Self {
        // A limit that passes every date is none that is ever reached.
        const FAR: Duration = Duration::from_secs(u32::MAX as u64);
        Clock(Arc::new(watch::Sender::new(Reading::Running(Instant::now() + limit.min(FAR)))))
    }

    pub(super) fn left(&self) -> Duration {
        match *self.0.borrow() {
            Reading::Running(end) => end.saturating_duration_since(Instant::now()),
            Reading::Standing(left) => left,
        }
    }

    /// Stops it for as long as what is returned lives.
    pub(super) fn stand(&self) -> Standing {
        self.0.send_replace(Reading::Standing(self.left()));
        Standing(self.clone())
    }

    /// Ends when no time is left.
    pub(crate) async fn run_out(&self) {
        let mut changes = self.0.subscribe();
        loop {
            let reading = *changes.borrow_and_update();
            let end = async {
                match reading {
                    Reading::Running(end) => tokio::time::sleep_until(end).await,
                    Reading::Standing(_) => std::future::pending().await,
                }
            };
            tokio::select! {
                () = end => return,
                // The sender is here, so that there is always another change to come.
                _ = changes.changed() => {}
            }
        }
    }

    /// Ends when no time is left and what it was for has had time to notice.
    pub(crate) async fn overrun(&self) {
        loop {
            self.run_out().await;
            tokio::time::sleep(GRACE).await;
            if self.left().is_zero() {
                return;
            }
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let end = Instant::now() + self.0.left();
        self.0.0.send_replace(Reading::Running(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_stands_while_a_person_decides() {
        let clock = Clock::start(Duration::from_secs(10));
        tokio::time::sleep(Duration::from_secs(4)).await;
        let standing = clock.stand();
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(clock.left(), Duration::from_secs(6));
        drop(standing);
        let started = Instant::now();
        clock.run_out().await;
        assert_eq!(started.elapsed().as_secs(), 6);
        assert_eq!(Clock::start(Duration::ZERO).left(), Duration::ZERO);
        assert!(Clock::start(Duration::MAX).left() > Duration::from_secs(1_000_000));
    }
}
