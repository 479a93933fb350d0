//! Blocks that are not in use, by size and alignment.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

/// Maximum number of different layouts of blocks that are kept.
const PLACES: usize = 1024;

/// Maximum number of places that are searched for a layout.
const SEARCHED: usize = 16;

type Beneath = &'static (dyn GlobalAlloc + Sync);

/// Blocks of one allocator that are not in use.
pub struct Table {
    places: Box<[Place; PLACES]>,
    /// The allocator of the blocks, after the first one.
    beneath: Cell<Option<Beneath>>,
}

/// Blocks of one layout.
struct Place {
    /// Size of zero: no layout.
    size: Cell<usize>,
    align: Cell<usize>,
    /// The last one was freed last.
    idle: Cell<Vec<Block>>,
    /// Number of blocks that were allocated beneath for want of an idle one. No more are kept: blocks that other code allocated
    /// and calls free must not add up.
    made: Cell<usize>,
}

/// A block that is not in use.
struct Block(*mut u8);

// SAFETY: the block has no other owner.
unsafe impl Send for Block {}

impl Table {
    pub fn new() -> Self {
        let places = Box::new([const { Place::new() }; PLACES]);
        Self { places, beneath: Cell::new(None) }
    }

    /// Returns true if the table has, or may have, blocks of this allocator.
    pub fn is_of(&self, beneath: Beneath) -> bool {
        match self.beneath.get() {
            // Allocators at one address with the same functions free each other's blocks.
            Some(own) => ptr::eq(own, beneath),
            None => {
                self.beneath.set(Some(beneath));
                true
            }
        }
    }

    /// Returns true after the first allocation within.
    pub fn is_used(&self) -> bool {
        self.beneath.get().is_some()
    }

    /// Number of bytes that are not in use.
    pub fn idle(&self) -> usize {
        self.places.iter().map(|place| place.size.get() * place.with_idle(|idle| idle.len())).sum()
    }

    /// Returns an idle block of this layout.
    pub fn take(&self, layout: Layout) -> Option<*mut u8> {
        self.place(layout)?.with_idle(Vec::pop).map(|block| block.0)
    }

    /// Notes a block that was allocated beneath.
    pub fn count(&self, layout: Layout) -> Option<()> {
        let place = self.place(layout)?;
        place.made.set(place.made.get() + 1);
        Some(())
    }

    /// Keeps a block. Returns `None` if the table has no place for it. It may allocate, and those allocations must not be kept.
    ///
    /// # Safety
    ///
    /// The block is of the table's allocator with this layout, and the caller gives it up unless the result is `None`.
    pub unsafe fn keep(&self, block: *mut u8, layout: Layout) -> Option<()> {
        let place = self.place(layout)?;
        place.with_idle(|idle| {
            let has_place = idle.len() < place.made.get() && idle.try_reserve(1).is_ok();
            has_place.then(|| idle.push(Block(block)))
        })
    }

    /// Returns the place of a layout; `None` if those where it may be are taken.
    fn place(&self, layout: Layout) -> Option<&Place> {
        let (size, align) = (layout.size(), layout.align());
        // The golden ratio spreads sizes that differ little; the upper half of the product depends on all bits.
        let hash = ((size as u64) ^ (align as u64).rotate_right(8)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let places = (0..SEARCHED).map(|step| &self.places[(hash as usize + step) % PLACES]);
        let mut found = places.filter(|place| place.size.get() == 0 || place.is_of(size, align));
        let place = found.next()?;
        place.size.set(size);
        place.align.set(align);
        Some(place)
    }
}

impl Place {
    const fn new() -> Self {
        Self { size: Cell::new(0), align: Cell::new(0), idle: Cell::new(Vec::new()), made: Cell::new(0) }
    }

    fn is_of(&self, size: usize, align: usize) -> bool {
        (self.size.get(), self.align.get()) == (size, align)
    }

    /// Calls a function with the idle blocks.
    fn with_idle<T>(&self, call: impl FnOnce(&mut Vec<Block>) -> T) -> T {
        let mut idle = self.idle.take();
        let result = call(&mut idle);
        self.idle.set(idle);
        result
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let Some(beneath) = self.beneath.get() else { return };
        for place in &*self.places {
            for block in place.idle.take() {
                // SAFETY: as in `keep`, the block is of this allocator with this layout, and has no other owner.
                unsafe {
                    let layout = Layout::from_size_align_unchecked(place.size.get(), place.align.get());
                    beneath.dealloc(block.0, layout);
                }
            }
        }
    }
}
