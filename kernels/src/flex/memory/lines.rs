//! Memory of packed matrices.
//!
//! A product of few rows reads a weight once, as fast as memory gives it. From pages of 4 KiB that takes up to twice as
//! long as from large ones: each page is looked up, and ends the stream that the processor reads ahead. A large page is
//! whole even where little of it is used, so that only processes with many weights have some.

use std::{
    alloc::Layout,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    slice,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use bytemuck::Pod;

use super::{allocation::Allocation, is_pooled};
use crate::flex::threads::process::OfProcess;
use crate::sizes::no_memory;

/// Bytes of a line of a cache, which the widest registers fill.
const LINE: usize = 64;

/// Bytes of a large page.
const PAGE: usize = 2 << 20;

/// Bytes that small weights share.
const SHARED: usize = 4 * PAGE;

/// Bytes of weights in small pages, about as many as the processor's translation buffer (TLB) has addresses for.
const FEW: usize = 8 << 20;

/// Numbers that begin with a line of a cache, zeros at first.
pub struct Lines<T> {
    first: *mut T,
    length: usize,
    /// Kept as long as any lines in it.
    _block: Arc<Block>,
    of: PhantomData<T>,
}

// SAFETY: the numbers are of one owner, as those of a vector.
unsafe impl<T: Send> Send for Lines<T> {}
// SAFETY: shared lines are read alone; writing needs lines that are borrowed mutably.
unsafe impl<T: Sync> Sync for Lines<T> {}

/// Zeros of the allocator.
struct Block {
    memory: Allocation,
    /// Number of its bytes that count among [`SMALL`].
    small: usize,
}

/// Position of the next weight that shares a block.
struct Next {
    block: Weak<Block>,
    used: usize,
}

static NEXT: OfProcess<Mutex<Next>> = OfProcess::new();

/// Bytes of weights in small pages.
static SMALL: AtomicUsize = AtomicUsize::new(0);

impl<T: Pod> Lines<T> {
    pub fn new(length: usize) -> Self {
        Self::of(Place::alone(size::<T>(length), LINE, 0), length)
    }

    /// The same for a weight, which is kept, and read at each call.
    pub fn of_weight(length: usize) -> Self {
        Self::of(Place::of_weight(size::<T>(length)), length)
    }

    /// Creates the numbers in these bytes.
    ///
    /// # Panics
    ///
    /// If there is no room for them.
    fn of(place: Place, length: usize) -> Self {
        const { assert!(align_of::<T>() <= LINE) };
        let Place { block, alignment, offset } = place;
        let first = block.aligned(alignment).wrapping_add(offset);
        let behind = first.addr() - block.memory.first().addr();
        let size = length.checked_mul(size_of::<T>()).and_then(|size| size.checked_add(behind));
        assert!(size.is_some_and(|size| size <= block.memory.size()));
        Self { first: first.cast(), length, _block: block, of: PhantomData }
    }
}

/// Number of bytes of numbers.
fn size<T>(length: usize) -> usize {
    length.checked_mul(size_of::<T>()).expect("a matrix fits the memory")
}

/// Bytes of a block that have no other owner.
struct Place {
    block: Arc<Block>,
    alignment: usize,
    /// Offset of the first byte from the first aligned one.
    offset: usize,
}

impl Place {
    fn of_weight(size: usize) -> Self {
        if cfg!(not(any(target_os = "linux", target_os = "android"))) || !is_pooled() {
            return Self::alone(size, LINE, 0);
        }
        let size = size.checked_next_multiple_of(LINE).expect("a matrix fits the memory");
        if SMALL.load(Relaxed).saturating_add(size) <= FEW {
            return Self::alone(size, LINE, size);
        }
        if size > SHARED / 2 {
            return Self::alone(size, PAGE, 0);
        }
        let next = NEXT.get(|| Mutex::new(Next { block: Weak::new(), used: 0 }));
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let there = next.block.upgrade();
        let block = match there.filter(|_| next.used + size <= SHARED) {
            Some(block) => block,
            None => {
                let block = Arc::new(Block::new(SHARED, PAGE, 0));
                (next.block, next.used) = (Arc::downgrade(&block), 0);
                block
            }
        };
        let offset = next.used;
        next.used += size;
        Self { block, alignment: PAGE, offset }
    }

    /// A block of its own.
    fn alone(size: usize, alignment: usize, small: usize) -> Self {
        Self { block: Arc::new(Block::new(size, alignment, small)), alignment, offset: 0 }
    }
}

impl<T> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `Lines::of` has found the numbers in the block, `Place` makes these the only owner, and
        // zeros, which they were at first, are numbers of every `Pod`.
        unsafe { slice::from_raw_parts(self.first, self.length) }
    }
}

impl<T> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the numbers are those of `deref`, and the lines are borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.first, self.length) }
    }
}

impl Block {
    /// Large pages where it is aligned to one.
    fn new(size: usize, alignment: usize, small: usize) -> Self {
        let layout = if is_pooled() {
            // Zeros of a larger alignment are written at once, others come from the system when they are needed.
            Layout::array::<u128>(size.saturating_add(alignment).div_ceil(16))
        } else {
            Layout::from_size_align(size.max(1), alignment)
        };
        let layout = layout.expect("a matrix fits the memory");
        let Some(memory) = Allocation::zeroed(layout) else {
            no_memory(layout.size());
        };
        SMALL.fetch_add(small, Relaxed);
        let block = Self { memory, small };
        if alignment == PAGE {
            block.ask_for_large_pages(size / PAGE * PAGE);
        }
        block
    }

    /// Systems that have none leave the pages small.
    #[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(unused_variables))]
    fn ask_for_large_pages(&self, size: usize) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        // SAFETY: the bytes are in the block, and their values stay.
        unsafe {
            let first = self.aligned(PAGE).cast();
            libc::madvise(first, size, libc::MADV_HUGEPAGE);
        }
    }

    /// The first byte with an alignment that the block was made for.
    ///
    /// The block is longer by the alignment, or begins with it.
    fn aligned(&self, alignment: usize) -> *mut u8 {
        let begin = self.memory.first();
        begin.wrapping_add(begin.addr().next_multiple_of(alignment) - begin.addr())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        SMALL.fetch_sub(self.small, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_zeros_of_one_owner() {
        for make in [Lines::<u32>::new, Lines::of_weight] {
            let lengths = [0, 1, 17, 300_000, 1_500_000, 3_000_000, 300_000, 5];
            let mut all: Vec<Lines<u32>> = (0..3).flat_map(|_| lengths).map(make).collect();
            for (at, lines) in all.iter_mut().enumerate() {
                assert!(lines.as_ptr().addr().is_multiple_of(LINE));
                assert!(lines.len() == lengths[at % 8] && lines.iter().all(|x| *x == 0));
                lines.fill(at as u32 + 1);
            }
            for (at, lines) in all.iter().enumerate() {
                assert!(lines.iter().all(|x| *x == at as u32 + 1));
            }
        }
    }

    #[test]
    fn memory_that_is_shared_lasts_as_long_as_one_of_its_weights() {
        // Others may make weights meanwhile, and fill a block; those that are kept here are many at some time.
        let mut kept = Vec::new();
        let pair = (0..1000).find_map(|_| {
            let pair = [(); 2].map(|()| Lines::<u8>::of_weight(FEW / 128));
            if Arc::ptr_eq(&pair[0]._block, &pair[1]._block) {
                return Some(pair);
            }
            kept.push(pair);
            None
        });
        let is_shared = is_pooled() && cfg!(any(target_os = "linux", target_os = "android"));
        assert!(is_shared || pair.is_none());
        if is_shared {
            let [first, mut second] = pair.expect("small weights share a block");
            drop((kept, first));
            second.fill(1);
            assert!(second.iter().all(|x| *x == 1));
        }
    }
}
