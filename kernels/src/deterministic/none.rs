//! Without the feature, or without kernels for CPUs, nothing is deterministic.

#[cfg(feature = "flex")]
#[inline]
pub fn is_on() -> bool {
    false
}

pub fn replace(_: bool) -> bool {
    false
}

#[cfg(feature = "flex")]
#[inline]
pub fn inherited(run: impl Fn(usize) + Send + Sync) -> impl Fn(usize) + Send + Sync {
    run
}
