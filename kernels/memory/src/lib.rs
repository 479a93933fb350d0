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

    /// Calls a function with the table of this thread. Returns `None` outside of [`Memory::within`], and if the table holds
    /// blocks of another allocator.
    fn with_table<T>(&self, call: impl FnOnce(&Table) -> Option<T>) -> Option<T> {
        // SAFETY: `within` borrows the table for as long as its address stands here.
        let table = unsafe { RUNNING.get().as_ref() }?;
        if table.is_of(self.beneath) { call(table) } else { None }
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
        if !new.is_null() {
            self.with_table(|table| table.count(layout));
        }
        new
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(kept) = self.with_table(|table| table.take(layout)) {
            // SAFETY: the block has so many bytes, and this call alone has it.
            unsafe { kept.write_bytes(0, layout.size()) };
            return kept;
        }
        // SAFETY: the caller upholds the contract.
        let new = unsafe { self.beneath.alloc_zeroed(layout) };
        if !new.is_null() {
            self.with_table(|table| table.count(layout));
        }
        new
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
            // SAFETY: both blocks have so many bytes, and the new one is not in use before. The caller gives up the old one.
            unsafe {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        new
    }
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
    // SAFETY: `within` borrows the table for as long as its address stands here.
    unsafe { RUNNING.get().as_ref() }.is_some_and(Table::is_used)
}
