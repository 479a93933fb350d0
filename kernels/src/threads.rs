//! Threads of the CPU kernels.

/// Runs a function whose kernels use at most `count` threads, including the caller's.
#[cfg(feature = "flex")]
pub fn with<T>(count: usize, run: impl FnOnce() -> T) -> T {
    crate::flex::threads::with(count, run)
}

/// Runs a function. Without CPU kernels there are no threads to limit.
#[cfg(not(feature = "flex"))]
pub fn with<T>(_: usize, run: impl FnOnce() -> T) -> T {
    run()
}

/// Prepares this thread for a call of a model. In a child of `fork`, and if the system refuses threads,
/// Burn's own loops cannot be divided.
#[cfg(feature = "flex")]
pub fn enter() {
    crate::flex::threads::enter();
}

/// Does nothing: there are no threads to prepare.
#[cfg(not(feature = "flex"))]
pub fn enter() {}
