//! The whole pool: callers, and a thread that they wake.
//!
//! The thread goes to sleep between their calls.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    time::Duration,
};

use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Release},
        },
    },
    thread::spawn,
};
use onnx_embed_interleavings::{
    pool::{Pool, Worker},
    sync::pass,
};

use super::{Runs, Waiting, break_down, broken, check};

/// Runs `call` with a pool of one thread, which works until `call` has returned. If the thread is not woken then, it
/// never ends.
fn with_worker(call: impl FnOnce(&Arc<Pool>)) {
    let pool = Arc::new(Pool::new());
    pool.grow(1, |_| true);
    let is_over = Arc::new(AtomicBool::new(false));
    let thread = {
        let (pool, is_over) = (pool.clone(), is_over.clone());
        spawn(move || {
            let mut worker = Worker::new(1);
            loop {
                let opened = pool.help(&mut worker);
                if is_over.load(Acquire) {
                    break;
                }
                pool.rest(&mut worker, opened);
            }
        })
    };
    call(&pool);
    is_over.store(true, Release);
    run(&pool);
    thread.join().unwrap();
}

fn run(pool: &Pool) {
    let runs = Runs::of(2);
    pool.run(2, 2, &|part| runs.run(part));
    assert_eq!(runs.counts(), [1, 1]);
}

#[test]
fn a_call_wakes_a_thread_that_sleeps_or_is_about_to() {
    check(Waiting::Asleep, 3, || with_worker(|_| ()));
    check(Waiting::Asleep, 2, || with_worker(|pool| run(pool)));
}

#[test]
fn a_thread_that_is_awake_finds_each_call() {
    check(Waiting::Awake, 2, || with_worker(|pool| run(pool)));
}

#[test]
fn two_callers_share_the_thread() {
    check(Waiting::Asleep, 1, || {
        with_worker(|pool| {
            let other = {
                let pool = pool.clone();
                spawn(move || run(&pool))
            };
            run(pool);
            other.join().unwrap();
        });
    });
}

/// A burst that is expected to be short wakes threads when it has become long, regardless of the thread that runs the
/// part that detects it.
#[test]
fn a_burst_that_becomes_long_wakes_the_thread() {
    check(Waiting::Awake, 2, || {
        with_worker(|pool| {
            run(pool);
            // Pause after a burst of zero duration.
            pass(Duration::from_millis(1));
            let runs = Runs::of(2);
            pool.run(2, 2, &|part| {
                runs.run(part);
                pass(Duration::from_millis(1));
            });
            assert_eq!(runs.counts(), [1, 1]);
        });
    });
}

#[test]
fn the_thread_outlives_a_panic() {
    check(Waiting::Asleep, 2, || {
        with_worker(|pool| {
            let call = AssertUnwindSafe(|| pool.run(2, 2, &|part| break_down(part)));
            assert!(broken(catch_unwind(call).unwrap_err()) < 2);
        });
    });
}

#[test]
fn callers_that_grow_the_pool_start_each_thread_once() {
    check(Waiting::Awake, 3, || {
        let (pool, started) = (Arc::new(Pool::new()), Arc::new(Mutex::new(Vec::new())));
        let grow = |pool: &Pool, started: &Mutex<Vec<usize>>| {
            pool.grow(2, |number| {
                started.lock().unwrap().push(number);
                true
            });
            assert_eq!(pool.workers(), 2);
        };
        let other = {
            let (pool, started) = (pool.clone(), started.clone());
            spawn(move || grow(&pool, &started))
        };
        grow(&pool, &started);
        other.join().unwrap();
        assert_eq!(*started.lock().unwrap(), [1, 2]);
    });
}
