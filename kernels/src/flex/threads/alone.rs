//! Burn's own loops where rayon has no threads for them.
//!
//! Burn divides its loops with rayon's global pool. In a child of `fork` that pool has no threads and is waited for without
//! end; where the system refuses a thread it cannot be built and panics. A thread that is a pool of its own runs the loops.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::process;

/// Whether the system has refused a thread.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the system has refused a thread.
pub fn refuse() {
    IS_REFUSED.store(true, Relaxed);
}

/// Returns true if this thread belongs to a rayon pool that has other threads.
pub fn is_in_a_pool() -> bool {
    rayon::current_thread_index().is_some() && !IS_ALONE.get()
}

/// Makes this thread a pool of its own where rayon's has no threads.
pub fn settle() {
    if process::is_forked() || IS_REFUSED.load(Relaxed) {
        separate();
    }
}

#[cold]
fn separate() {
    if rayon::current_thread_index().is_some() {
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    if let Ok(pool) = pool {
        IS_ALONE.set(true);
        // The thread stays in the pool as long as it lives.
        std::mem::forget(pool);
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn a_separate_thread_runs_loops_of_rayon() {
        let sum = std::thread::spawn(|| {
            separate();
            separate();
            assert!(!is_in_a_pool() && rayon::current_num_threads() == 1);
            let here = std::thread::current().id();
            let parts = (0..1000).into_par_iter().map(|at| {
                assert_eq!(std::thread::current().id(), here);
                at
            });
            parts.sum::<usize>()
        });
        assert_eq!(sum.join().unwrap(), 499_500);
    }
}
