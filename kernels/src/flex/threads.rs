//! Threads that run parts of a kernel at the same time.
//!
//! The threads are the process's own, as many as there are processors or as `RAYON_NUM_THREADS` or [`with`] says, less the
//! caller. Between two kernels of a model there are microseconds, in which a thread that sleeps could not be woken: threads
//! without work look for some during [`pool::AWAKE`] at most before they sleep.

mod alone;
mod burst;
mod number;
mod pool;
pub mod process;
mod region;
mod sync;

use std::ops::Range;

use super::memory::poison;
use crate::deterministic::inherited;
pub use number::with;
use pool::Pool;
use process::OfProcess;

/// Threads that share a caller's parts.
enum Team {
    /// The caller.
    Alone,
    /// The caller and the pool's threads, and their number.
    Own(&'static Pool, usize),
    /// Threads of the rayon pool that the caller belongs to, and their number.
    Rayon(usize),
}

impl Team {
    fn here() -> Self {
        if region::is_inside() {
            return Self::Alone;
        }
        if alone::is_in_a_pool() {
            let all = rayon::current_num_threads();
            return match number::asked().map_or(all, |asked| all.min(asked)) {
                1 => Self::Alone,
                threads => Self::Rayon(threads),
            };
        }
        let threads = number::here();
        let pool = pool_for(threads);
        alone::settle();
        match threads.min(pool.workers() + 1) {
            1 => Self::Alone,
            threads => Self::Own(pool, threads),
        }
    }
}

/// Returns the number of threads that run a kernel: 1 within a part of a kernel.
pub fn count() -> usize {
    match Team::here() {
        Team::Alone => 1,
        Team::Own(_, threads) | Team::Rayon(threads) => threads,
    }
}

/// Prepares this thread for a call of a model: for Burn's own loops, which rayon's global pool runs.
pub fn enter() {
    number::default();
    process::watch_forks();
    alone::settle();
}

/// Calls `run` with the numbers from 0 to `count`, on several threads if there are several.
pub fn side_by_side(count: usize, run: impl Fn(usize) + Send + Sync) {
    use rayon::prelude::*;

    #[cfg(test)]
    let run = super::simd::with_this_set(run);
    let run = inherited(run);
    if count <= 1 {
        return (0..count).for_each(run);
    }
    match Team::here() {
        Team::Alone => (0..count).for_each(run),
        Team::Own(pool, threads) => pool.run(count, threads, &poison::inherited(run)),
        Team::Rayon(threads) => {
            // Where the caller asks for fewer threads than the pool has, as many tasks.
            let least = number::asked().map_or(1, |_| count.div_ceil(threads));
            let parts = (0..count).into_par_iter().with_min_len(least);
            parts.for_each(poison::inherited(run));
        }
    }
}

/// Calls `run` with ranges that divide the units from 0 to `count` into at most `parts` parts, in parallel.
pub fn in_parts(count: usize, parts: usize, run: impl Fn(Range<usize>) + Send + Sync) {
    let parts = parts.max(1).min(count);
    side_by_side(parts, |at| run(part(count, parts, at)));
}

/// Returns the units of a part. The sizes of parts differ by at most 1, and so do those of runs of as many parts: the
/// shares of threads are as even as parts are.
pub fn part(count: usize, parts: usize, at: usize) -> Range<usize> {
    // Most calls: the divisions below take as long as small kernels.
    if parts == 1 {
        return 0..count;
    }
    if parts == count {
        return at..at + 1;
    }
    let first = |part: usize| {
        let rest = (count % parts) as u128 * part as u128 / parts as u128;
        count / parts * part + rest as usize
    };
    first(at)..first(at + 1)
}

/// Returns the number of parts for threads whose units take equal times. There are more parts than threads,
/// so that a late or slow thread leaves some to others.
pub fn even_parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { 2 * threads }
}

/// Returns the number of tasks if each part is a task of its own, unless one thread runs all parts.
pub fn task_for_each(threads: usize) -> usize {
    if threads == 1 { 1 } else { usize::MAX }
}

/// [`even_parts`] for units that take different times.
pub fn uneven_parts(threads: usize) -> usize {
    if threads == 1 { 1 } else { 4 * threads }
}

/// Returns the pool of this process with `threads - 1` threads, or fewer if the system refuses some.
fn pool_for(threads: usize) -> &'static Pool {
    static POOL: OfProcess<Pool> = OfProcess::new();

    let pool = POOL.get(Pool::new);
    pool.grow(threads - 1, |number| {
        #[cfg(test)]
        if tests::refuses_threads() {
            return false;
        }
        let thread = std::thread::Builder::new().name(format!("onnx-embed-{number}"));
        thread.spawn(move || pool.work(number)).is_ok()
    });
    pool
}

#[cfg(test)]
mod tests;
