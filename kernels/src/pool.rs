//! Pooling over windows.

pub mod max_unpool;
mod pooling;
pub mod slide;

pub use pooling::{
    MaxPool, StorageOrder, average_pool, global_average_pool, global_lp_pool, global_max_pool, lp_pool,
    max_pool, max_pool_with_indices,
};
