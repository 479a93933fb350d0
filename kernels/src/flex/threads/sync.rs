//! Synchronization, time and table sizes of the pool.
//!
//! `ui-tests/interleavings` compiles the pool's files with those of a model checker in their place.

pub use std::{
    hint::spin_loop,
    sync::{Condvar, Mutex, atomic},
    thread::yield_now,
    thread_local,
    time::Instant,
};

/// Maximum number of callers that share the threads at once; further ones run all parts themselves.
pub const REGIONS: usize = 8;

/// Maximum number of shares of one job.
pub const SHARES: usize = 64;

/// Number of looks for work before a thread lets others run: some 3 µs.
pub const LOOKS: usize = 64;

/// Number of looks for the last helper before a caller lets others run.
pub const LAST_LOOKS: u32 = 256;
