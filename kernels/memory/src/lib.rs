#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod table;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::ptr;

use table::Table;

thread_local! {
    /// Table of the memory within which this thread runs, null outside.
    static RUNNING: Cell<*const Table> = const { Cell::new(ptr::null()) };
}

/// A global allocator for programs that call [`Memory::within`].
///
/// Within, freed blocks are kept, and allocations of the same size and alignment get them. All other allocations are
/// those of the allocator beneath: the system's, or another one.
///
/// ```
/// use onnx_embed_memory::SessionAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: SessionAllocator = SessionAllocator::new();
/// # fn main() {}
/// ```
pub struct SessionAllocator {
    beneath: &'static (dyn GlobalAlloc + Sync),
}

impl SessionAllocator {
    /// On top of the system's allocator.
    pub const fn new() -> Self {
        Self::over(&System)
    }

    /// On top of another allocator: `SessionAllocator::over(&OtherAllocator)`.
    pub const fn over(beneath: &'static (dyn GlobalAlloc + Sync)) -> Self {
        Self { beneath }
    }

    /// Calls a function with the table of this thread. Returns `None` outside of [`Memory::within`], or if the blocks of the
    /// table belong to another allocator.
    fn with_table<T>(&self, call: impl FnOnce(&Table) -> Option<T>) -> Option<T> {
        with_running(|table| if table.is_of(self.beneath) { call(table) } else { None })
    }

    /// Notes a block that the allocator beneath returned, and returns it. Null if there is no memory.
    fn noted(&self, block: *mut u8, layout: Layout) -> *mut u8 {
        if !block.is_null() {
            self.with_table(|table| table.count(layout));
        }
        block
    }
}

impl Default for SessionAllocator {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SessionAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionAllocator").finish_non_exhaustive()
    }
}

// SAFETY: blocks are those of the allocator beneath, with the layout that the caller names. The table has blocks that were freed
// alone, and gives each once, for an allocation of the layout with which it was freed.
unsafe impl GlobalAlloc for SessionAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(kept) = self.with_table(|table| table.take(layout)) {
            return kept;
        }
        // SAFETY: the caller upholds the contract.
        let new = unsafe { self.beneath.alloc(layout) };
        self.noted(new, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(kept) = self.with_table(|table| table.take(layout)) {
            // SAFETY: the block has `layout.size()` bytes, and its only owner is this call.
            unsafe { kept.write_bytes(0, layout.size()) };
            return kept;
        }
        // SAFETY: the caller upholds the contract.
        let new = unsafe { self.beneath.alloc_zeroed(layout) };
        self.noted(new, layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller gives up the block, which has this layout.
        let kept = self.with_table(|table| outside(|| unsafe { table.keep(block, layout) }));
        if kept.is_none() {
            // SAFETY: the caller upholds the contract, and the table has no such block.
            unsafe { self.beneath.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if self.with_table(|_| Some(())).is_none() {
            // SAFETY: the caller upholds the contract.
            return unsafe { self.beneath.realloc(block, layout, size) };
        }
        // SAFETY: the caller upholds that the size is valid for the alignment and not zero.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both blocks have at least this size, and they do not overlap. The caller gives up the old one.
            unsafe {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

/// Calls a function with the table of this thread. Returns `None` outside of [`Memory::within`].
fn with_running<T>(call: impl FnOnce(&Table) -> Option<T>) -> Option<T> {
    // SAFETY: `Memory::within` borrows the table until it resets the address.
    unsafe { RUNNING.get().as_ref() }.and_then(call)
}

/// Restores the table of this thread when dropped, also after a panic.
struct Restored(*const Table);

impl Drop for Restored {
    fn drop(&mut self) {
        RUNNING.set(self.0);
    }
}

/// Calls a function whose allocations are those of the allocator beneath.
fn outside<T>(call: impl FnOnce() -> T) -> T {
    let _restored = Restored(RUNNING.replace(ptr::null()));
    call()
}

/// Memory that repeated calls use again.
///
/// If [`SessionAllocator`] is not the program's global allocator, nothing is kept.
pub struct Memory {
    table: Table,
}

impl Memory {
    /// Memory without a block.
    pub fn new() -> Self {
        Self { table: Table::new() }
    }

    /// Calls a function whose freed blocks are kept for later calls.
    ///
    /// This applies to this thread alone: other threads that the function starts have the allocator beneath. Values may leave the
    /// function and be freed elsewhere; the next call allocates their memory again.
    pub fn within<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let _restored = Restored(RUNNING.replace(&raw const self.table));
        call()
    }

    /// Number of bytes that are kept and not in use.
    pub fn idle(&self) -> usize {
        self.table.idle()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("idle", &self.idle()).finish_non_exhaustive()
    }
}

/// Returns true within [`Memory::within`], if [`SessionAllocator`] is the program's global allocator.
///
/// Pools of memory that other code has need not keep blocks of their own then.
pub fn is_kept() -> bool {
    with_running(|table| table.is_used().then_some(())).is_some()
}
