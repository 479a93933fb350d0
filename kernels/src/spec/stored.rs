//! Weights in memory that is read in place.

use alloc::sync::Arc;

/// Bytes that several models and their tensors share, for example those of a mapped file.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;
