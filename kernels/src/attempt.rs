//! Runs whose failures are returned as errors.
//!
//! Indices that are on a device are checked when the results of the run are read.

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
pub(crate) use checks::{flatten_indices, lengths};
pub use checks::{nonnegative, within};
pub use future::attempt_async;

/// Returns the value of `run`, or why it failed. Indices on a device are checked here, after `run` has read its results.
///
/// Without `std`, or with `panic = "abort"`, panics cannot be caught: a failure still ends the program.
pub fn attempt<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    let outer = pending::replace(Some(Vec::new()));
    let result = caught(run);
    let checks = pending::replace(outer).unwrap_or_default();
    // A wrong index is reported first: it may be the cause of the failure.
    now(Check::all(checks, Blocking))?;
    result
}
