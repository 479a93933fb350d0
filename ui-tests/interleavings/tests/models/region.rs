//! One region: a caller with a job, and helpers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread::{JoinHandle, spawn},
};
use onnx_embed_interleavings::region::{Job, Region};

use super::{Runs, Waiting, break_down, broken, check};

/// Starts threads that look for parts `times` times each.
fn helpers(region: &Arc<Region>, count: usize, times: usize) -> Vec<JoinHandle<()>> {
    let helper = |thread: usize| {
        let region = region.clone();
        spawn(move || {
            for _ in 0..times {
                region.help(thread);
            }
        })
    };
    (1..=count).map(helper).collect()
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Shares one job after another, with the given numbers of parts.
fn share(region: &Region, jobs: &[usize], helpers: usize) {
    for &parts in jobs {
        let runs = Runs::of(parts);
        let run = |part| runs.run(part);
        assert!(region.take());
        let job = Job::new(parts, 2, &run);
        region.share(&job, helpers, || ());
        assert_eq!(runs.counts(), vec![1; parts]);
    }
}

#[test]
fn each_part_runs_once_and_before_the_caller_goes_on() {
    for waiting in [Waiting::Awake, Waiting::Asleep] {
        check(waiting, 3, || {
            let region = Arc::new(Region::new());
            let threads = helpers(&region, 1, 1);
            share(&region, &[3], 1);
            join(threads);
        });
    }
}

#[test]
fn a_late_helper_finds_the_next_job() {
    for waiting in [Waiting::Awake, Waiting::Asleep] {
        check(waiting, 3, || {
            let region = Arc::new(Region::new());
            let threads = helpers(&region, 1, 2);
            share(&region, &[2, 2], 1);
            join(threads);
        });
    }
}

#[test]
fn two_helpers_and_a_caller_that_sleeps() {
    check(Waiting::Asleep, 2, || {
        let region = Arc::new(Region::new());
        let threads = helpers(&region, 2, 1);
        share(&region, &[3], 2);
        join(threads);
    });
}

#[test]
fn no_more_helpers_enter_than_the_caller_allows() {
    check(Waiting::Asleep, 3, || {
        let region = Arc::new(Region::new());
        let threads: Vec<_> = [1, 2]
            .map(|thread| {
                let region = region.clone();
                spawn(move || usize::from(region.help(thread)))
            })
            .into();
        share(&region, &[2], 1);
        let helped: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert!(helped <= 1);
    });
}

#[test]
fn a_panic_reaches_the_caller_when_all_have_left() {
    for waiting in [Waiting::Awake, Waiting::Asleep] {
        check(waiting, 3, || {
            let region = Arc::new(Region::new());
            let threads = helpers(&region, 1, 1);
            let runs = Runs::of(2);
            let run = |part| {
                runs.run(part);
                break_down(part)
            };
            assert!(region.take());
            {
                let job = Job::new(2, 2, &run);
                let share = AssertUnwindSafe(|| region.share(&job, 1, || ()));
                let part = broken(catch_unwind(share).unwrap_err());
                assert_eq!(runs.counts()[part], 1);
            }
            assert!(runs.counts().iter().all(|runs| *runs <= 1));
            // The region is free.
            share(&region, &[1], 0);
            join(threads);
        });
    }
}

#[test]
fn callers_do_not_take_the_same_region() {
    check(Waiting::Awake, 3, || {
        let (region, inside) = (Arc::new(Region::new()), Arc::new(AtomicUsize::new(0)));
        let call = |region: &Region, inside: &AtomicUsize| {
            if region.take() {
                let run = |_| {
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    inside.fetch_sub(1, SeqCst);
                };
                region.share(&Job::new(1, 1, &run), 0, || ());
            }
        };
        let other = {
            let (region, inside) = (region.clone(), inside.clone());
            spawn(move || call(&region, &inside))
        };
        call(&region, &inside);
        other.join().unwrap();
    });
}
