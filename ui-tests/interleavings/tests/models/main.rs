//! The thread pool in every interleaving of a few threads.
//!
//! A model fails if a part of a job is omitted, runs twice or is not visible to the caller, if a thread accesses a
//! job that is gone, or if threads wait for each other forever.

mod pool;
mod region;

use std::{any::Any, panic::resume_unwind, time::Duration};

use loom::{cell::UnsafeCell, model::Builder};
use onnx_embed_interleavings::sync::set_clock;

/// The way in which threads of a model wait.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// They poll until the condition holds.
    Awake,
    /// They sleep after one poll.
    Asleep,
}

/// Runs a model in every order of steps in which threads are interrupted at most `interruptions` times.
fn check(waiting: Waiting, interruptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let step = match waiting {
        Waiting::Awake => Duration::ZERO,
        // Longer than all limits of the pool.
        Waiting::Asleep => Duration::from_millis(1),
    };
    let mut builder = Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        set_clock(step);
        model();
    });
}

/// Number of runs of each part. loom reports accesses that are not ordered.
struct Runs(Vec<UnsafeCell<usize>>);

// SAFETY: loom runs one thread at a time and checks that accesses are ordered.
unsafe impl Sync for Runs {}

impl Runs {
    fn of(parts: usize) -> Self {
        Self((0..parts).map(|_| UnsafeCell::new(0)).collect())
    }

    fn run(&self, part: usize) {
        // SAFETY: no other access is in progress, or loom reports it.
        self.0[part].with_mut(|runs| unsafe { *runs += 1 });
    }

    fn counts(&self) -> Vec<usize> {
        // SAFETY: no other access is in progress, or loom reports it.
        let count = |runs: &UnsafeCell<usize>| runs.with(|runs| unsafe { *runs });
        self.0.iter().map(count).collect()
    }
}

/// Payload of a part's panic.
#[derive(Debug, PartialEq)]
struct Broken(usize);

/// Panics without a message in the terminal.
fn break_down(part: usize) -> ! {
    resume_unwind(Box::new(Broken(part)))
}

/// Returns the part that panicked.
fn broken(panic: Box<dyn Any + Send>) -> usize {
    panic.downcast::<Broken>().expect("a part's own panic").0
}
