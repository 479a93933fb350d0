//! Jobs, and the regions in which threads find them.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::PoisonError;
use std::time::Duration;

use super::sync::{
    Condvar, Instant, LAST_LOOKS, Mutex, SHARES,
    atomic::{
        AtomicBool, AtomicPtr, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    spin_loop, thread_local, yield_now,
};

/// The parts of a caller's work.
///
/// A thread takes parts of its own share first, whose memory is in its cache if it wrote it for the last job.
pub struct Job<'a> {
    run: &'a (dyn Fn(usize) + Sync),
    count: usize,
    /// Number of shares that the parts are divided into.
    shares: usize,
    /// The part of each share that is taken next.
    next: [AtomicUsize; SHARES],
    /// Payload of the first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Slot in which threads find the job of one caller. No two share a cache line.
#[repr(align(128))]
pub struct Region {
    taken: AtomicBool,
    /// Number of threads in it besides the caller ([`INSIDE`]), number of those that may still enter, in
    /// units of [`ENTRY`], [`OPEN`] while parts are left, and [`ASLEEP`] while the caller sleeps.
    state: AtomicUsize,
    job: AtomicPtr<Job<'static>>,
    lock: Mutex<()>,
    left: Condvar,
}

const OPEN: usize = 1 << (usize::BITS - 1);
const ENTRY: usize = 1 << 16;
const ENTRIES: usize = OPEN - ENTRY;
const ASLEEP: usize = 1 << 15;
const INSIDE: usize = ASLEEP - 1;

/// Time for which a caller whose parts are done polls for the other threads before it sleeps: as long as most parts take.
/// A caller of a real-time class that polled without end would keep a thread of a lower class from the processor.
const LOOKING: Duration = Duration::from_micros(500);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread runs parts of a job: they are not divided again.
pub fn is_inside() -> bool {
    IS_INSIDE.with(Cell::get)
}

impl<'a> Job<'a> {
    pub fn new(count: usize, threads: usize, run: &'a (dyn Fn(usize) + Sync)) -> Self {
        let shares = threads.min(SHARES);
        Self {
            run,
            count,
            shares,
            next: std::array::from_fn(|share| AtomicUsize::new(first(share, shares, count))),
            panic: Mutex::new(None),
        }
    }

    /// Runs parts until none is left, as the thread with a number. After a panic the rest is skipped.
    fn run(&self, thread: usize) {
        let parts = || {
            for share in (0..self.shares).map(|at| (thread + at) % self.shares) {
                let end = first(share + 1, self.shares, self.count);
                loop {
                    let part = self.next[share].fetch_add(1, Relaxed);
                    if part >= end {
                        break;
                    }
                    (self.run)(part);
                }
            }
        };
        IS_INSIDE.with(|inside| inside.set(true));
        let outcome = catch_unwind(AssertUnwindSafe(parts));
        IS_INSIDE.with(|inside| inside.set(false));
        if let Err(panic) = outcome {
            self.next.iter().for_each(|next| next.store(self.count, Relaxed));
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // Dropping the payload may panic too.
                std::mem::forget(panic);
            }
        }
    }
}

/// The first part of a share.
fn first(share: usize, shares: usize, count: usize) -> usize {
    count / shares * share + (count % shares).min(share)
}

impl Region {
    pub fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            state: AtomicUsize::new(0),
            job: AtomicPtr::new(ptr::null_mut()),
            lock: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// Reserves the region for the caller. Returns false if it is taken.
    pub fn take(&self) -> bool {
        !self.taken.load(Relaxed) && !self.taken.swap(true, Acquire)
    }

    /// Runs a job with at most `helpers` of the threads that `call` wakes, then releases the region.
    pub fn share(&self, job: &Job<'_>, helpers: usize, call: impl FnOnce()) {
        let job_of_threads = ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.job.store(job_of_threads, Relaxed);
        let entries = helpers.min(ENTRIES / ENTRY) * ENTRY;
        self.state.store(OPEN | entries, Release);
        call();
        job.run(0);
        self.close();
        // Nothing between opening and here panics, so that no thread is left with the job of a caller that is
        // gone.
        self.wait();
        self.taken.store(false, Release);
        let panic = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Runs parts as the thread with a number; `false` if there are none for it.
    pub fn help(&self, thread: usize) -> bool {
        if !self.enter() {
            return false;
        }
        // SAFETY: the caller does not leave while a thread is inside, and stored its job before it opened the
        // region.
        unsafe { (*self.job.load(Relaxed)).run(thread) };
        self.close();
        let state = self.state.fetch_sub(1, Release);
        if state & ASLEEP != 0 && state & INSIDE == 1 {
            // The caller looks at the state under the lock before it sleeps.
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.left.notify_all();
        }
        true
    }

    fn enter(&self) -> bool {
        let is_open = |state| state & OPEN != 0 && state & ENTRIES != 0;
        let one_more = |state| is_open(state).then(|| state - ENTRY + 1);
        is_open(self.state.load(Relaxed)) && self.state.fetch_update(AcqRel, Relaxed, one_more).is_ok()
    }

    fn close(&self) {
        self.state.fetch_and(!OPEN, AcqRel);
    }

    fn is_entered(&self) -> bool {
        self.state.load(Acquire) & INSIDE != 0
    }

    /// Until no other thread is inside.
    fn wait(&self) {
        let mut looks = 0_u32;
        let mut start = None;
        while self.is_entered() {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LAST_LOOKS) {
                if start.get_or_insert_with(Instant::now).elapsed() > LOOKING {
                    return self.sleep();
                }
                yield_now();
            }
            spin_loop();
        }
    }

    #[cold]
    fn sleep(&self) {
        self.state.fetch_or(ASLEEP, AcqRel);
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.is_entered() {
            lock = self.left.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicUsize, time::Instant};

    use super::*;

    /// A caller with parts that a helper takes long for.
    fn share(region: &Region, helpers: usize, calls: usize, part: Duration) -> usize {
        let helped = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..calls)
                .map(|at| {
                    let helped = &helped;
                    scope.spawn(move || {
                        let start = Instant::now();
                        while start.elapsed() < Duration::from_millis(500) {
                            if region.help(at + 1) {
                                helped.fetch_add(1, Relaxed);
                                break;
                            }
                            std::thread::yield_now();
                        }
                    })
                })
                .collect();
            let run = |_| std::thread::sleep(part);
            let job = Job::new(8, helpers + 1, &run);
            assert!(region.take());
            region.share(&job, helpers, || ());
            assert!(!region.is_entered());
            drop(threads);
        });
        helped.into_inner()
    }

    #[test]
    fn no_more_threads_enter_than_the_caller_allows() {
        let region = Region::new();
        assert_eq!(share(&region, 0, 2, Duration::from_millis(1)), 0);
        let helped = share(&region, 2, 5, Duration::from_millis(20));
        assert!((1..=2).contains(&helped), "{helped}");
    }

    #[test]
    fn a_caller_that_waits_for_long_is_woken() {
        let region = Region::new();
        for _ in 0..20 {
            // The caller's parts end within microseconds of each other's, and a helper's up to 4 ms later.
            share(&region, 3, 3, Duration::from_millis(4));
        }
    }
}
