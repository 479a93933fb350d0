//! Memory of the allocator.

use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc},
    ptr::NonNull,
};

/// Memory of the allocator, freed with its owner. Who reads and writes what of it is the owner's to say.
pub struct Allocation {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: an allocation is an address that only its owner frees, and gives no access to the memory itself.
unsafe impl Send for Allocation {}
// SAFETY: a shared allocation gives its address and its size alone.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Memory with anything in it. `None` if the allocator has none, or the layout has no bytes.
    pub fn new(layout: Layout) -> Option<Self> {
        Self::by(alloc, layout)
    }

    /// Memory filled with zeros. `None` if the allocator has none, or the layout has no bytes.
    pub fn zeroed(layout: Layout) -> Option<Self> {
        Self::by(alloc_zeroed, layout)
    }

    fn by(allocate: unsafe fn(Layout) -> *mut u8, layout: Layout) -> Option<Self> {
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the size is not zero, which is all that the functions of the allocator ask for.
        let first = NonNull::new(unsafe { allocate(layout) })?;
        Some(Self { first, layout })
    }

    pub fn first(&self) -> *mut u8 {
        self.first.as_ptr()
    }

    /// Number of bytes.
    pub fn size(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the memory is of the allocator with this layout.
        unsafe { dealloc(self.first.as_ptr(), self.layout) };
    }
}
