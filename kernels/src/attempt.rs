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
/// A failure still ends the program where panics abort, and without `std`, where they cannot be caught.
pub fn attempt<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    let outer = pending::replace(Some(Vec::new()));
    let result = caught(run);
    let checks = pending::replace(outer).unwrap_or_default();
    // A wrong index is reported first: it may be the cause of the failure.
    now(Check::all(checks, Blocking))?;
    result
}
