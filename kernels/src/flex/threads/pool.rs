//! The pool of threads that help callers.

use std::{sync::PoisonError, time::Duration};

use super::{
    alone,
    burst::Burst,
    region::{Job, Region},
    sync::{
        Condvar, Instant, LOOKS, Mutex, REGIONS,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        spin_loop, yield_now,
    },
};

/// Maximum time for which an idle thread polls for work: longer than nearly all pauses between the kernels of
/// a call, and not much longer than the 50 µs that it takes to wake a thread.
pub const AWAKE: Duration = Duration::from_micros(200);

/// Minimum time for which an idle thread polls. Waking a thread costs its caller some 5 µs.
const LEAST: Duration = Duration::from_micros(20);

/// Time after which a thread that the system refused is requested again.
const AGAIN: Duration = Duration::from_secs(1);

pub struct Pool {
    /// Number of threads, callers not counted.
    workers: AtomicUsize,
    /// Time at which the system refused the last one, if it did.
    refused: Mutex<Option<Instant>>,
    regions: [Region; REGIONS],
    /// Number of regions that were opened.
    opened: AtomicUsize,
    /// Number of threads that the region that was opened last has work for.
    wanted: AtomicUsize,
    /// Numbers of threads that poll for work, and that sleep.
    awake: AtomicUsize,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

/// A thread of the pool.
pub struct Worker {
    /// Number of the thread, from 1 on.
    thread: usize,
    patience: Patience,
}

/// Polling time of a thread, adapted to the pauses that it has seen.
struct Patience {
    /// Time at which it had work last.
    since: Instant,
    limit: Duration,
}

impl Pool {
    pub fn new() -> Self {
        Self {
            workers: AtomicUsize::new(0),
            refused: Mutex::new(None),
            regions: std::array::from_fn(|_| Region::new()),
            opened: AtomicUsize::new(0),
            wanted: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    pub fn workers(&self) -> usize {
        self.workers.load(Relaxed)
    }

    /// Starts threads until there are `workers`, or the system refuses one; it is asked again [`AGAIN`]
    /// later. `start` starts the thread with a number.
    pub fn grow(&self, workers: usize, start: impl Fn(usize) -> bool) {
        if self.workers() >= workers {
            return;
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.is_some_and(|refused| refused.elapsed() < AGAIN) {
            return;
        }
        *refused = None;
        for number in self.workers() + 1..=workers {
            if !start(number) {
                *refused = Some(Instant::now());
                alone::refuse();
                break;
            }
            self.workers.store(number, Relaxed);
        }
    }

    /// Runs `count` parts on the caller and at most `threads - 1` threads of the pool.
    pub fn run(&self, count: usize, threads: usize, run: &(dyn Fn(usize) + Sync)) {
        let Some(region) = self.regions.iter().find(|region| region.take()) else {
            return (0..count).for_each(run);
        };
        let helpers = (threads - 1).min(count - 1);
        let burst = Burst::here();
        match burst.due() {
            None => {
                let job = Job::new(count, threads, run);
                region.share(&job, helpers, || {
                    self.announce(helpers);
                    self.call(helpers);
                });
            }
            Some(due) => {
                let is_called = AtomicBool::new(false);
                let run = |part| {
                    run(part);
                    if !is_called.load(Relaxed) && Instant::now() >= due && !is_called.swap(true, Relaxed) {
                        self.call(helpers);
                    }
                };
                let job = Job::new(count, threads, &run);
                region.share(&job, helpers, || self.announce(helpers));
            }
        }
        burst.end();
    }

    /// Shows a region with work for `helpers` threads to those that are awake.
    fn announce(&self, helpers: usize) {
        self.wanted.store(helpers, Relaxed);
        self.opened.fetch_add(1, SeqCst);
    }

    /// Wakes as many threads as are missing.
    fn call(&self, helpers: usize) {
        let missing = helpers.saturating_sub(self.awake.load(SeqCst));
        let missing = missing.min(self.asleep.load(SeqCst));
        if missing > 0 {
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            (0..missing).for_each(|_| self.wake.notify_one());
        }
    }

    /// Runs parts of callers without end, as the thread with a number.
    pub fn work(&self, thread: usize) {
        let mut worker = Worker::new(thread);
        loop {
            let opened = self.help(&mut worker);
            self.rest(&mut worker, opened);
        }
    }

    /// Runs parts of the regions that are open. Returns the number of regions that were opened before it looked.
    pub fn help(&self, worker: &mut Worker) -> usize {
        let opened = self.opened.load(SeqCst);
        let mut has_helped = false;
        for region in &self.regions {
            has_helped |= region.help(worker.thread);
        }
        // Others may have taken all parts before it came.
        if has_helped || self.wants(worker) {
            worker.patience.since = Instant::now();
        }
        opened
    }

    /// Waits until more regions are opened: awake at first, then asleep.
    pub fn rest(&self, worker: &mut Worker, opened: usize) {
        self.awake.fetch_add(1, SeqCst);
        let is_opened = self.is_opened(opened, &worker.patience);
        self.awake.fetch_sub(1, SeqCst);
        if !is_opened {
            self.sleep(opened);
        }
        if self.wants(worker) {
            let pause = worker.patience.since.elapsed();
            worker.patience.learn(pause);
        }
    }

    /// Returns true if the region that was opened last has work for this thread.
    fn wants(&self, worker: &Worker) -> bool {
        worker.thread <= self.wanted.load(Relaxed)
    }

    /// Waits until a region is opened. Returns false when the polling time is over.
    fn is_opened(&self, opened: usize, patience: &Patience) -> bool {
        loop {
            for _ in 0..LOOKS {
                if self.opened.load(SeqCst) != opened {
                    return true;
                }
                spin_loop();
            }
            if patience.since.elapsed() > patience.limit {
                return false;
            }
            yield_now();
        }
    }

    fn sleep(&self, opened: usize) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, SeqCst);
        while self.opened.load(SeqCst) == opened {
            lock = self.wake.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, SeqCst);
    }
}

impl Worker {
    pub fn new(thread: usize) -> Self {
        let patience = Patience::new();
        Self { thread, patience }
    }
}

impl Patience {
    fn new() -> Self {
        Self { since: Instant::now(), limit: AWAKE }
    }

    /// Adapts the polling time to a pause that ended with work: it grows to cover pauses up to [`AWAKE`], and
    /// shrinks after longer ones.
    fn learn(&mut self, pause: Duration) {
        self.limit = if pause <= AWAKE {
            self.limit.max(pause * 5 / 4).min(AWAKE)
        } else {
            (self.limit * 7 / 8).max(LEAST)
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, atomic::AtomicUsize};

    use super::*;

    fn sum(pool: &Pool, parts: usize) -> usize {
        let sum = AtomicUsize::new(0);
        pool.run(parts, pool.workers() + 1, &|part| {
            sum.fetch_add(part, Relaxed);
        });
        sum.into_inner()
    }

    #[test]
    fn threads_that_the_system_refuses_are_done_without() {
        let pool = Pool::new();
        let asked = AtomicUsize::new(0);
        let refuse = |_| {
            asked.fetch_add(1, Relaxed);
            false
        };
        for _ in 0..3 {
            pool.grow(4, refuse);
            assert_eq!((pool.workers(), sum(&pool, 10)), (0, 45));
        }
        // A second has not passed, or has.
        assert!(asked.into_inner() < 3);
        *pool.refused.lock().unwrap() = None;
        pool.grow(4, |number| number < 3);
        assert_eq!(pool.workers(), 2);
    }

    #[test]
    fn a_pool_grows_to_what_is_asked_for() {
        let pool = Pool::new();
        let started = Mutex::new(Vec::new());
        for workers in [2, 1, 3, 3] {
            pool.grow(workers, |number| {
                started.lock().unwrap().push(number);
                true
            });
        }
        assert_eq!(started.into_inner().unwrap(), [1, 2, 3]);
        assert_eq!(pool.workers(), 3);
    }

    #[test]
    fn patience_covers_pauses_of_a_call_and_shrinks_between_calls() {
        let mut patience = Patience::new();
        let long = Duration::from_millis(2);
        let call = |patience: &mut Patience| {
            let pauses = [3, 8, 40, 5].map(Duration::from_micros);
            let covered = pauses.map(|pause| {
                let is_covered = pause <= patience.limit;
                patience.learn(pause);
                is_covered
            });
            patience.learn(long);
            covered
        };
        for _ in 0..50 {
            call(&mut patience);
        }
        assert_eq!(call(&mut patience), [true; 4]);
        assert!(patience.limit < Duration::from_micros(50), "{:?}", patience.limit);
        patience.learn(Duration::from_micros(190));
        assert_eq!(patience.limit, AWAKE);
        (0..100).for_each(|_| patience.learn(long));
        assert_eq!(patience.limit, LEAST);
    }
}
