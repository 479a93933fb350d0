//! Tests: each part runs once, on the available threads.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor};

use super::*;
use pool::AWAKE;
use sync::REGIONS;

fn sum(parts: usize) -> usize {
    let sum = AtomicUsize::new(0);
    side_by_side(parts, |part| {
        sum.fetch_add(part, SeqCst);
    });
    sum.into_inner()
}

#[test]
fn every_part_runs_once() {
    for parts in [0, 1, 2, 3, 1000] {
        assert_eq!(sum(parts), parts * parts.saturating_sub(1) / 2);
    }
}

#[test]
fn parts_may_have_parts_of_their_own() {
    let all = AtomicUsize::new(0);
    side_by_side(20, |_| {
        all.fetch_add(sum(10), SeqCst);
    });
    assert_eq!(all.into_inner(), 20 * 45);
}

#[test]
fn more_callers_than_regions_are_served() {
    std::thread::scope(|scope| {
        for _ in 0..2 * REGIONS {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(sum(10), 45);
                }
            });
        }
    });
}

/// Two parts see each other only where two threads run them, which others may need at first.
fn two_threads_run() {
    let meet = |_| {
        let (here, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
        side_by_side(2, |_| {
            here.fetch_add(1, SeqCst);
            let start = Instant::now();
            while here.load(SeqCst) < 2 && start.elapsed() < Duration::from_millis(200) {
                std::thread::yield_now();
            }
            met.fetch_add(usize::from(here.load(SeqCst) == 2), SeqCst);
        });
        met.into_inner() == 2
    };
    assert!(count() == 1 || (0..30).any(meet), "no thread comes");
}

#[test]
fn sleeping_threads_are_woken() {
    for _ in 0..5 {
        std::thread::sleep(5 * AWAKE);
        two_threads_run();
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_threads_live_on() {
    for at in [0, 5, 9] {
        let run = || side_by_side(10, |part| assert_ne!(part, at, "this one"));
        let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("this one"), "{message}");
        two_threads_run();
    }
}

#[test]
fn a_pool_of_rayon_runs_parts_on_its_own_threads() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        assert_eq!(count(), 2);
        side_by_side(10, |_| assert!(rayon::current_thread_index().is_some()));
    });
}

#[test]
fn parts_are_about_equal_and_all() {
    for (count, parts) in [(0, 1), (1, 1), (10, 4), (3, 3), (22, 4), (101, 8)] {
        let all: Vec<_> = (0..parts).map(|at| part(count, parts, at)).collect();
        assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(all[0].start == 0 && all[parts - 1].end == count);
        for run in 1..=parts {
            let all = all.windows(run).map(|run| run[run.len() - 1].end - run[0].start);
            assert!(
                all.clone().max().unwrap() - all.min().unwrap() <= 1,
                "{run} of {parts} parts of {count}"
            );
        }
    }
    // Products of both numbers would wrap around.
    let last = part(usize::MAX, usize::MAX, usize::MAX - 1);
    assert_eq!(last, usize::MAX - 1..usize::MAX);
    for parts in [40, 3, 0] {
        let seen = Mutex::new(vec![0; 10]);
        in_parts(10, parts, |part| {
            part.for_each(|unit| seen.lock().unwrap()[unit] += 1);
        });
        assert_eq!(seen.into_inner().unwrap(), [1; 10]);
    }
    in_parts(0, 4, |_| panic!("there are none"));
}

/// Variable with which a child process of a test is given no threads.
const REFUSED: &str = "ONNX_EMBED_TEST_REFUSES_THREADS";

pub fn refuses_threads() -> bool {
    env::var_os(REFUSED).is_some()
}

/// Runs the test of a name with a variable in a process of its own. Returns true in that process.
fn in_child(test: &str, variable: (&str, &str)) -> bool {
    const CHILD: &str = "ONNX_EMBED_TEST_CHILD";
    if env::var_os(CHILD).is_some_and(|child| child == variable.1) {
        return true;
    }
    let program = env::current_exe().unwrap();
    let name = format!("flex::threads::tests::{test}");
    let output = Command::new(program)
        .args(["--exact", &name, "--nocapture"])
        .env(CHILD, variable.1)
        .env(variable.0, variable.1)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{problem}");
    assert!(text.contains("1 passed"), "{text}");
    false
}

/// A sum of Burn's own, which it divides with rayon.
fn sum_of_burn() -> f32 {
    let x = Tensor::<1>::ones([1 << 22], &Device::flex());
    x.sum().into_scalar()
}

#[test]
fn a_process_without_threads_computes() {
    if in_child("a_process_without_threads_computes", (REFUSED, "1")) {
        for _ in 0..3 {
            number::with(4, || assert_eq!((count(), sum(10)), (1, 45)));
            assert_eq!(rayon::current_num_threads(), 1);
            assert_eq!(sum_of_burn(), 4_194_304.0);
        }
    }
}

/// Number of threads of this process.
#[cfg(target_os = "linux")]
fn threads_now() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
#[cfg(target_os = "linux")]
fn kernels_start_one_pool() {
    if in_child("kernels_start_one_pool", ("RAYON_NUM_THREADS", "5")) {
        assert_eq!((count(), sum(100)), (5, 4950));
        // This thread, the one that runs tests, and four of the pool: rayon's has not been started.
        assert_eq!(threads_now(), 2 + 4);
        number::with(2, || assert_eq!((count(), sum(100)), (2, 4950)));
        number::with(7, || assert_eq!((count(), sum(100)), (7, 4950)));
        assert_eq!((threads_now(), count()), (2 + 6, 5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_number_of_threads_beyond_reason_is_bounded() {
    let test = "a_number_of_threads_beyond_reason_is_bounded";
    if in_child(test, ("RAYON_NUM_THREADS", "100000")) {
        assert!((2..=1024).contains(&count()), "{}", count());
        assert_eq!((sum(100), sum_of_burn()), (4950, 4_194_304.0));
        assert!(threads_now() <= 2 * count() + 2);
    }
}

#[test]
fn a_caller_that_asks_for_fewer_threads_gets_as_many() {
    for threads in [1, 2, 3] {
        let (here, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let part = |_| {
            most.fetch_max(here.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::sleep(Duration::from_millis(1));
            here.fetch_sub(1, SeqCst);
        };
        number::with(threads, || {
            assert!(count() <= threads);
            side_by_side(40, part);
        });
        assert!(most.into_inner() <= threads);
    }
}

#[test]
fn a_pool_of_rayon_runs_as_few_parts_as_the_caller_asks_for() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    pool.install(|| {
        number::with(1, || {
            let here = std::thread::current().id();
            assert_eq!(count(), 1);
            side_by_side(10, |_| assert_eq!(std::thread::current().id(), here));
        });
        number::with(2, || assert_eq!((count(), sum(10)), (2, 45)));
    });
}

/// Time that all threads of this process have computed.
#[cfg(target_os = "linux")]
fn computed() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the memory for the time is this function's.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
#[cfg(target_os = "linux")]
fn short_calls_with_pauses_cost_little_more_than_their_time() {
    let test = "short_calls_with_pauses_cost_little_more_than_their_time";
    if !in_child(test, ("RAYON_NUM_THREADS", "2")) {
        return;
    }
    // As a small model does: 8 kernels of some 12 microseconds, 500 times in a second.
    let part = |_| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(3) {}
    };
    let call = || {
        let start = Instant::now();
        (0..8).for_each(|_| side_by_side(4, part));
        start.elapsed()
    };
    // To sleep takes time of its own, on some machines a third of a call.
    let asleep = || {
        let before = computed();
        (0..250).for_each(|_| std::thread::sleep(Duration::from_micros(1900)));
        computed() - before
    };
    let ratio = || {
        let asleep = asleep();
        let (mut inside, before) = (Duration::ZERO, computed());
        for _ in 0..250 {
            let time = call();
            inside += time;
            std::thread::sleep(Duration::from_millis(2).saturating_sub(time));
        }
        (computed() - before).saturating_sub(asleep).as_secs_f64() / inside.as_secs_f64()
    };
    // Other programs make some calls longer.
    let ratios = [(); 4].map(|()| ratio());
    assert!(ratios.iter().any(|ratio| *ratio <= 1.3), "{ratios:?}");
}
