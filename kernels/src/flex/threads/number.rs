//! Number of threads that run a kernel.

use std::{cell::Cell, env, num::NonZero, sync::OnceLock, thread};

/// Most threads of one process, whatever the environment or a caller asks for; more if there are more processors.
const MOST: usize = 256;

thread_local! {
    /// Number that the caller of [`with`] asks for.
    static ASKED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Most threads for a kernel that this thread calls.
pub fn here() -> usize {
    asked().unwrap_or_else(default)
}

/// Number of threads that the caller asks for.
pub fn asked() -> Option<usize> {
    ASKED.get()
}

/// Runs a function whose kernels use at most `threads` threads, but at least the caller.
pub fn with<T>(count: usize, run: impl FnOnce() -> T) -> T {
    struct Restore(Option<usize>);

    impl Drop for Restore {
        fn drop(&mut self) {
            ASKED.set(self.0);
        }
    }

    let _around = Restore(ASKED.replace(Some(count.clamp(1, most()))));
    run()
}

/// Number of threads where no caller asks for one: that of `RAYON_NUM_THREADS`, which Burn's loops obey too,
/// else one for each processor.
///
/// Rayon's own function would start its pool.
pub fn default() -> usize {
    static DEFAULT: OnceLock<usize> = OnceLock::new();
    *DEFAULT.get_or_init(|| {
        let asked = env::var("RAYON_NUM_THREADS").ok();
        let asked = asked.and_then(|asked| asked.parse().ok()).filter(|asked| *asked > 0);
        let bounded = asked.unwrap_or_else(processors).min(most());
        if asked.is_some_and(|asked| asked > bounded) {
            // Burn's first loop would start them all. This fails if rayon's pool exists already.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(bounded).build_global();
        }
        bounded
    })
}

fn most() -> usize {
    MOST.max(processors())
}

fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    // The system reads files to answer.
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_asks_for_its_own_calls() {
        let before = here();
        with(3, || {
            assert_eq!(here(), 3);
            with(0, || assert_eq!(here(), 1));
            let other = thread::spawn(here).join().unwrap();
            assert_eq!(other, before);
            assert_eq!(here(), 3);
        });
        assert_eq!(with(usize::MAX, here), most());
        assert_eq!(here(), before);
    }
}
