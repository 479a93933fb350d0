//! Attempts: runs whose failures are errors, and the indices that are checked when their results are read.

mod checks;
mod future;
#[cfg_attr(not(feature = "std"), path = "attempt/pending/bare.rs")]
mod pending;

use alloc::vec::Vec;

use crate::{
    fault::{Fault, caught},
    reader::{Blocking, now},
};
use checks::Check;
pub(crate) use checks::{lengths, places};
pub use checks::{nonnegative, within};
pub use future::attempt_async;

/// Returns the value of `run`, or why it failed. Indices on a device are checked here, after `run` has read its results.
///
/// Where panics abort, or cannot be caught for want of `std`, `run` does too.
pub fn attempt<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    let outer = pending::replace(Some(Vec::new()));
    let result = caught(run);
    let checks = pending::replace(outer).unwrap_or_default();
    // What comes after an index that is wrong may fail by it.
    now(Check::all(checks, Blocking))?;
    result
}
