//! Pooling.

pub mod max_unpool;
pub mod pooling;

super::families![max_unpool, pooling];
