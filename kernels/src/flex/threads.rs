//! Threads that run parts of a kernel side by side.
//!
//! Between two kernels of a model there are microseconds, in which a thread that sleeps could not be
//! woken: threads without work look for some during [`AWAKE`] before they sleep.

mod region;

use std::ops::Range;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use region::{Job, Region};

/// How long a thread without work stays awake.
const AWAKE: Duration = Duration::from_micros(200);

/// How often it looks for work before it lets others run.
const LOOKS: usize = 64;

/// As many callers share the threads at once; further ones run all parts themselves.
const REGIONS: usize = 8;

struct Pool {
    /// How many threads there are beside callers'.
    workers: AtomicUsize,
    regions: [Region; REGIONS],
    /// How many regions have been opened.
    opened: AtomicUsize,
    /// How many threads look for work, and how many sleep.
    awake: AtomicUsize,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

/// How many threads run a kernel: those of the rayon pool that calls it, else as many as rayon's own has,
/// and one inside of a part of a kernel.
pub fn count() -> usize {
    if region::is_inside() {
        return 1;
    }
    match own() {
        Some(pool) => pool.workers() + 1,
        None => rayon::current_num_threads(),
    }
}

/// The threads of this module, where rayon's do not call and any can be started.
fn own() -> Option<&'static Pool> {
    if rayon::current_thread_index().is_some() {
        return None;
    }
    Some(pool()).filter(|pool| pool.workers() > 0)
}

/// Runs parts of work with the number of each: here if there is one alone, else on several threads.
pub fn side_by_side(count: usize, run: impl Fn(usize) + Send + Sync) {
    use rayon::prelude::*;

    #[cfg(test)]
    let run = super::instructions::with_this_set(run);
    let run = super::memory::poison::inherited(run);
    if count <= 1 || self::count() == 1 {
        return (0..count).for_each(run);
    }
    match own() {
        Some(pool) => pool.run(count, &run),
        None => (0..count).into_par_iter().for_each(run),
    }
}

/// Runs units from 0 to `count` in so many parts, side by side.
pub fn in_parts(count: usize, parts: usize, run: impl Fn(Range<usize>) + Send + Sync) {
    let parts = parts.min(count);
    side_by_side(parts, |at| run(part(count, parts, at)));
}

/// The units of one of so many parts, whose sizes differ by 1 at most, so that threads with as many parts have as
/// much to do.
pub fn part(count: usize, parts: usize, at: usize) -> Range<usize> {
    at * count / parts..(at + 1) * count / parts
}

/// Into how many parts so many threads divide units that take about equal times: the thread that comes
/// late, or is slower, leaves some to others.
pub fn even_parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { 2 * threads }
}

/// The same for units that take unlike times.
pub fn uneven_parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { 4 * threads }
}

/// Runs over chunks of so many elements with the number of each, side by side.
pub fn on_chunks<T: Send>(all: &mut [T], size: usize, run: impl Fn(usize, &mut [T]) + Send + Sync) {
    struct First<T>(*mut T);
    // SAFETY: each part of the work takes other elements, which may be sent.
    unsafe impl<T: Send> Sync for First<T> {}
    // SAFETY: as above.
    unsafe impl<T: Send> Send for First<T> {}

    let (first, length) = (First(all.as_mut_ptr()), all.len());
    side_by_side(length.div_ceil(size), |at| {
        let First(first) = &first;
        let start = at * size;
        // SAFETY: chunks are inside of the slice, and no two have an element in common.
        let chunk =
            unsafe { std::slice::from_raw_parts_mut(first.add(start), size.min(length - start)) };
        run(at, chunk);
    });
}

fn pool() -> &'static Pool {
    static POOL: Pool = Pool::new();
    static STARTED: Once = Once::new();

    STARTED.call_once(|| {
        let numbers = 1..rayon::current_num_threads();
        let started = numbers.filter(|&number| {
            let thread = std::thread::Builder::new().name(format!("onnx-embed-{number}"));
            thread.spawn(move || POOL.work(number)).is_ok()
        });
        POOL.workers.store(started.count(), SeqCst);
    });
    &POOL
}

impl Pool {
    const fn new() -> Self {
        Self {
            workers: AtomicUsize::new(0),
            regions: [const { Region::new() }; REGIONS],
            opened: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    fn workers(&self) -> usize {
        self.workers.load(Relaxed)
    }

    fn run(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        let Some(region) = self.regions.iter().find(|region| region.take()) else {
            return (0..count).for_each(run);
        };
        let job = Job::new(count, self.workers() + 1, run);
        region.share(&job, || self.wake(count - 1));
    }

    /// Calls as many threads as parts are for them.
    fn wake(&self, parts: usize) {
        self.opened.fetch_add(1, SeqCst);
        let missing = parts.saturating_sub(self.awake.load(SeqCst));
        let missing = missing.min(self.asleep.load(SeqCst));
        if missing > 0 {
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            (0..missing).for_each(|_| self.wake.notify_one());
        }
    }

    /// What the thread with a number does for ever.
    fn work(&self, thread: usize) {
        loop {
            let opened = self.opened.load(SeqCst);
            for region in &self.regions {
                region.help(thread);
            }
            self.awake.fetch_add(1, SeqCst);
            let is_opened = self.is_opened(opened);
            self.awake.fetch_sub(1, SeqCst);
            if !is_opened {
                self.sleep(opened);
            }
        }
    }

    /// Whether a region has been opened, or is so after some time.
    fn is_opened(&self, opened: usize) -> bool {
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.opened.load(SeqCst) != opened {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() > AWAKE {
                return false;
            }
            std::thread::yield_now();
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

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
                while here.load(SeqCst) < 2 && start.elapsed() < Duration::from_secs(1) {
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
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        pool.install(|| {
            assert_eq!(count(), 2);
            side_by_side(10, |_| assert!(rayon::current_thread_index().is_some()));
        });
    }

    #[test]
    fn parts_are_about_equal_and_all() {
        for (count, parts) in [(0, 1), (1, 1), (10, 4), (3, 3), (101, 8)] {
            let all: Vec<_> = (0..parts).map(|at| part(count, parts, at)).collect();
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(all[0].start == 0 && all[parts - 1].end == count);
            assert!(
                all.iter()
                    .all(|part| part.len().abs_diff(count / parts) <= 1)
            );
        }
        let seen = Mutex::new(vec![0; 10]);
        in_parts(10, 40, |part| {
            part.for_each(|unit| seen.lock().unwrap()[unit] += 1);
        });
        assert_eq!(seen.into_inner().unwrap(), [1; 10]);
        in_parts(0, 4, |_| panic!("there are none"));
    }

    #[test]
    fn chunks_are_parts_of_the_slice() {
        let mut all = [0; 9];
        on_chunks(&mut all, 4, |at, chunk| {
            for (place, x) in chunk.iter_mut().enumerate() {
                *x = 4 * at + place;
            }
        });
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        on_chunks(&mut [(); 0], 4, |_, _| panic!("there is none"));
    }
}
