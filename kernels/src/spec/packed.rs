//! Packed weights.

use core::fmt;

#[cfg(feature = "flex")]
use {
    alloc::{boxed::Box, sync::Arc},
    core::any::Any,
    std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// Packed weight of a device, of a type that is private to its kernels.
#[cfg(feature = "flex")]
type Kept = Option<Box<dyn Any + Send + Sync>>;

/// Cache of a weight in the layout that the kernels of a device read.
///
/// The first kernel that uses the weight packs it, and packs it again after the weight changed. A layer
/// stores it with its weight; clones share it.
#[derive(Clone, Default)]
pub struct Packed {
    #[cfg(feature = "flex")]
    kept: Arc<RwLock<Kept>>,
}

#[cfg(feature = "flex")]
impl Packed {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packed")
    }
}
