//! An allocator with a limit, which fuzzers and tests set for each call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Number of bytes of all blocks.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// Maximum of [`HELD`].
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Runs a function that may hold at most `limit` bytes more than the process holds before. A block beyond the limit cannot be
/// allocated, which ends the process unless the function expects it.
pub fn within<T>(limit: usize, run: impl FnOnce() -> T) -> T {
    MOST.store(HELD.load(Ordering::Relaxed).saturating_add(limit), Ordering::Relaxed);
    let result = run();
    MOST.store(usize::MAX, Ordering::Relaxed);
    result
}

/// Forwards to the allocator of the system.
struct Limited;

impl Limited {
    /// Adds the bytes of a block. Returns `false` if the limit does not allow it.
    fn take(size: usize) -> bool {
        let held = HELD.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        let fits = held <= MOST.load(Ordering::Relaxed);
        if !fits {
            Self::give(size);
        }
        fits
    }

    fn give(size: usize) {
        HELD.fetch_sub(size, Ordering::Relaxed);
    }
}

// SAFETY: all methods forward to the system's allocator, or return null, by which an allocator reports that memory is exhausted.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, first: *mut u8, layout: Layout) {
        Self::give(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(first, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, first: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`.
        let moved = unsafe { System.realloc(first, layout, size) };
        Self::give(if moved.is_null() { size } else { layout.size() });
        moved
    }
}
