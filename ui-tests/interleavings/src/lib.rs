//! The kernels' thread pool, compiled for a model checker.
//!
//! Its files import atomics, locks, time and thread-local values from `super::sync`, which is based on loom here. A
//! model runs in every order of steps of its threads, and with every value that the memory model allows an atomic
//! load to read.

#![expect(clippy::new_without_default, reason = "private types of the kernels")]

pub mod sync;

#[path = "../../../kernels/src/flex/threads/burst.rs"]
pub mod burst;
#[path = "../../../kernels/src/flex/threads/pool.rs"]
pub mod pool;
#[path = "../../../kernels/src/flex/threads/region.rs"]
pub mod region;

mod alone {
    /// Rayon's loops are not in the model.
    pub fn refuse() {}
}
