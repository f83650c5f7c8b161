//! Which calls run: so many at once, in so much memory together, the rest in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// What memory is counted in, in bytes: a page of WebAssembly.
const UNIT: u64 = 64 << 10;

/// What all calls of an [`Engine`](crate::Engine) may use together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// How many calls run at once. Those that wait in the host count too. Default: four for each core.
    pub calls: usize,
    /// How many calls wait for their turn; those beyond are answered at once, with `limit`. Default: 1,000.
    pub queue: usize,
    /// Bytes of memory of all running calls together. A call takes as much as its limits say, whatever it uses, and
    /// waits until there is as much. Default: 4 GiB.
    pub memory: u64,
    /// The most memory of a call, in bytes, for which the engine keeps room ready. Calls with more run all the same, and
    /// start more slowly. Default: 256 MiB.
    pub call_memory: u64,
}

impl Capacity {
    /// Whether a call that takes so many bytes could ever have them.
    pub(crate) fn holds(&self, memory: u64) -> bool {
        memory.div_ceil(UNIT) <= self.memory / UNIT
    }
}

impl Default for Capacity {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Capacity { calls: cores * 4, queue: 1_000, memory: 4 << 30, call_memory: 256 << 20 }
    }
}

/// Lets calls in, first come, first served.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

/// A call's place and its memory, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    _place: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

/// Why a call may not even wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull {
    /// How many calls wait already.
    pub(crate) waiting: usize,
}

impl Admission {
    pub(super) fn new(capacity: &Capacity) -> Self {
        let units = usize::try_from(capacity.memory / UNIT).unwrap_or(usize::MAX);
        Admission {
            places: Arc::new(Semaphore::new(capacity.calls.clamp(1, Semaphore::MAX_PERMITS))),
            memory: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
            queue: capacity.queue,
        }
    }

    /// Waits for a place, and then for memory. Whoever has a place holds up those behind until there is memory, so that a
    /// large call is not passed by small ones for ever.
    ///
    /// More memory than there is at all is never given.
    pub(crate) async fn admit(&self, memory: u64) -> Result<Admitted, QueueFull> {
        let units = u32::try_from(memory.div_ceil(UNIT)).unwrap_or(u32::MAX);
        if let Ok(place) = self.places.clone().try_acquire_owned()
            && let Ok(memory) = self.memory.clone().try_acquire_many_owned(units)
        {
            return Ok(Admitted { _place: place, _memory: memory });
        }
        let _waiting = self.wait()?;
        match self.in_turn(units).await {
            Ok(admitted) => Ok(admitted),
            // Nobody closes them.
            Err(_) => std::future::pending().await,
        }
    }

    async fn in_turn(&self, units: u32) -> Result<Admitted, AcquireError> {
        let place = self.places.clone().acquire_owned().await?;
        let memory = self.memory.clone().acquire_many_owned(units).await?;
        Ok(Admitted { _place: place, _memory: memory })
    }

    fn wait(&self) -> Result<Waiting<'_>, QueueFull> {
        let more = |waiting| (waiting < self.queue).then_some(waiting + 1);
        match self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Waiting(&self.waiting)),
            Err(waiting) => Err(QueueFull { waiting }),
        }
    }
}

/// One that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn admission(calls: usize, queue: usize, units: u64) -> Admission {
        Admission::new(&Capacity { calls, queue, memory: units * UNIT, call_memory: 0 })
    }

    #[tokio::test(start_paused = true)]
    async fn calls_wait_in_order_and_those_beyond_the_queue_do_not() {
        let admission = Arc::new(admission(1, 2, 10));
        let first = admission.admit(UNIT).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let waiting: Vec<_> = (0..2)
            .map(|n| {
                let (admission, order) = (admission.clone(), order.clone());
                tokio::spawn(async move {
                    let _admitted = admission.admit(UNIT).await.unwrap();
                    order.lock().unwrap().push(n);
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(admission.admit(UNIT).await.unwrap_err(), QueueFull { waiting: 2 });
        assert!(order.lock().unwrap().is_empty());
        drop(first);
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1]);
        admission.admit(UNIT).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_call_is_not_passed_by_small_ones() {
        let admission = Arc::new(admission(10, 10, 10));
        let small = admission.admit(UNIT).await.unwrap();
        let large = tokio::spawn({
            let admission = admission.clone();
            async move { admission.admit(10 * UNIT).await.map(|_| tokio::time::Instant::now()) }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let behind = tokio::spawn({
            let admission = admission.clone();
            async move { admission.admit(UNIT).await.map(|_| tokio::time::Instant::now()) }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!large.is_finished() && !behind.is_finished());
        drop(small);
        let (large, behind) = (large.await.unwrap().unwrap(), behind.await.unwrap().unwrap());
        assert!(large <= behind);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        // Calls that come, run, and are given up at any time, on several threads: never more than may run, never more
        // memory than there is, and all of it is there again afterwards.
        #[test]
        fn places_and_memory_are_kept_and_given_back(
            calls in 1usize..5,
            units in 4u64..12,
            jobs in prop::collection::vec((1u64..5, 0u64..300, 0u64..600), 1..60),
        ) {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
            let admission = Arc::new(admission(calls, 1_000, units));
            let running = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let tasks: Vec<_> = jobs.into_iter().map(|(memory, runs, given_up)| {
                let (admission, running) = (admission.clone(), running.clone());
                let job = async move {
                    let _admitted = admission.admit(memory * UNIT).await.unwrap();
                    let _here = Here::new(&running, memory as usize);
                    let at_once = (running.0.load(Ordering::SeqCst), running.1.load(Ordering::SeqCst));
                    tokio::time::sleep(Duration::from_micros(runs)).await;
                    at_once
                };
                runtime.spawn(async move { tokio::time::timeout(Duration::from_micros(given_up), job).await })
            }).collect();
            runtime.block_on(async {
                for task in tasks {
                    if let Ok((at_once, memory)) = task.await.unwrap() {
                        prop_assert!(at_once <= calls && memory as u64 <= units, "{at_once} {memory}");
                    }
                }
                prop_assert_eq!(admission.places.available_permits(), calls);
                prop_assert_eq!(admission.memory.available_permits() as u64, units);
                prop_assert_eq!(admission.waiting.load(Ordering::SeqCst), 0);
                Ok(())
            })?;
        }
    }

    struct Here<'a>(&'a (AtomicUsize, AtomicUsize), usize);

    impl<'a> Here<'a> {
        fn new(running: &'a (AtomicUsize, AtomicUsize), memory: usize) -> Self {
            running.0.fetch_add(1, Ordering::SeqCst);
            running.1.fetch_add(memory, Ordering::SeqCst);
            Here(running, memory)
        }
    }

    impl Drop for Here<'_> {
        fn drop(&mut self) {
            self.0.0.fetch_sub(1, Ordering::SeqCst);
            self.0.1.fetch_sub(self.1, Ordering::SeqCst);
        }
    }
}
