//! The system's allocator, which counts the blocks of each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static FREED: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Returns the numbers of blocks that this thread has allocated and freed.
pub fn counts() -> [usize; 2] {
    [ALLOCATED.get(), FREED.get()]
}

/// Returns the number of bytes that this thread has allocated.
#[allow(dead_code)]
pub fn bytes() -> usize {
    BYTES.get()
}

// SAFETY: all methods forward to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + 1);
        BYTES.set(BYTES.get() + layout.size());
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        FREED.set(FREED.get() + 1);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(block, layout) }
    }
}
