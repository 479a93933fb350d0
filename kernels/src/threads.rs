//! Threads that kernels on a CPU use.

/// Runs a function whose kernels use at most so many threads, the caller included.
#[cfg(feature = "flex")]
pub fn with<T>(count: usize, run: impl FnOnce() -> T) -> T {
    crate::flex::threads::with(count, run)
}

/// Runs a function; there are no kernels of threads.
#[cfg(not(feature = "flex"))]
pub fn with<T>(_: usize, run: impl FnOnce() -> T) -> T {
    run()
}

/// Prepares this thread for a call of a model: Burn's own loops cannot be divided in a child of `fork`, nor where the system
/// refuses threads.
#[cfg(feature = "flex")]
pub fn enter() {
    crate::flex::threads::enter();
}

/// There are no threads to prepare.
#[cfg(not(feature = "flex"))]
pub fn enter() {}
