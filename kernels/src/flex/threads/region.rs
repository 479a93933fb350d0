//! Parts of work that threads take one after another.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

/// Shares of one job at most.
const SHARES: usize = 64;

/// What one caller asks for.
///
/// A thread takes parts of its own share first, so that it finds in its cache what it wrote for the last
/// job.
pub struct Job<'a> {
    run: &'a (dyn Fn(usize) + Sync),
    count: usize,
    /// Into how many shares the parts are divided.
    shares: usize,
    /// The part of each share that is taken next.
    next: [AtomicUsize; SHARES],
    /// What the first part that panicked panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A place where threads find the job of one caller. No two share a line of memory.
#[repr(align(128))]
pub struct Region {
    taken: AtomicBool,
    /// How many threads are in it besides the caller, and [`OPEN`] while parts are left.
    state: AtomicUsize,
    job: AtomicPtr<Job<'static>>,
}

const OPEN: usize = 1 << (usize::BITS - 1);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs parts of a job: they are not divided again.
pub fn is_inside() -> bool {
    IS_INSIDE.get()
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

    /// Runs parts until none is left, as the thread with a number; after a panic the others are left out.
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
        IS_INSIDE.set(true);
        let outcome = catch_unwind(AssertUnwindSafe(parts));
        IS_INSIDE.set(false);
        if let Err(panic) = outcome {
            self.next
                .iter()
                .for_each(|next| next.store(self.count, Relaxed));
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // What it panicked with may panic too when it is dropped.
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
    pub const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            state: AtomicUsize::new(0),
            job: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether it was free, and is the caller's from now on.
    pub fn take(&self) -> bool {
        !self.taken.load(Relaxed) && !self.taken.swap(true, Acquire)
    }

    /// Runs a job with those whom `call` calls, and is free again after it.
    pub fn share(&self, job: &Job<'_>, call: impl FnOnce()) {
        let job_of_threads = ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.job.store(job_of_threads, Relaxed);
        self.state.store(OPEN, Release);
        call();
        job.run(0);
        self.close();
        // Nothing between opening and here panics, so that no thread is left with the job of a caller
        // that is gone.
        self.wait();
        self.taken.store(false, Release);
        let panic = job
            .panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Runs parts as the thread with a number, where there are any.
    pub fn help(&self, thread: usize) {
        if !self.enter() {
            return;
        }
        // SAFETY: the caller does not leave while a thread is inside, and stored its job before it
        // opened the region.
        unsafe { (*self.job.load(Relaxed)).run(thread) };
        self.close();
        self.state.fetch_sub(1, Release);
    }

    fn enter(&self) -> bool {
        let one_more = |state| (state & OPEN != 0).then_some(state + 1);
        self.state.load(Relaxed) & OPEN != 0
            && self.state.fetch_update(AcqRel, Relaxed, one_more).is_ok()
    }

    fn close(&self) {
        self.state.fetch_and(!OPEN, AcqRel);
    }

    /// Until no other thread is inside.
    fn wait(&self) {
        let mut looks = 0_u32;
        while self.state.load(Acquire) != 0 {
            looks += 1;
            if looks.is_multiple_of(256) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}
