//! Memory of packed matrices.
//!
//! A product of few rows reads a weight once, as fast as memory gives it. From pages of 4 KiB that takes up to twice as
//! long as from large ones: each page is looked up, and ends the stream that the processor reads ahead. A large page is
//! whole even where little of it is used, so that only processes with many weights have some.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    marker::PhantomData,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use bytemuck::Pod;

use super::is_pooled;
use crate::flex::threads::process::OfProcess;
use crate::sizes::no_memory;

/// Bytes of a line of a cache, which the widest registers fill.
const LINE: usize = 64;

/// Bytes of a large page.
const PAGE: usize = 2 << 20;

/// Bytes that small weights share.
const SHARED: usize = 4 * PAGE;

/// Bytes of weights in small pages, about as many as the processor has addresses of at hand (its TLB).
const FEW: usize = 8 << 20;

/// Numbers that begin with a line of a cache, zeros at first.
pub struct Lines<T> {
    first: NonNull<T>,
    length: usize,
    /// Kept as long as any lines in it.
    _block: Arc<Block>,
    of: PhantomData<T>,
}

// SAFETY: the numbers are of one owner.
unsafe impl<T: Send> Send for Lines<T> {}
// SAFETY: as above; writing needs lines that are borrowed mutably.
unsafe impl<T: Sync> Sync for Lines<T> {}

/// Zeros of the allocator.
struct Block {
    begin: NonNull<u8>,
    layout: Layout,
    /// How many of its bytes count among [`SMALL`].
    small: usize,
}

// SAFETY: a block is memory alone, of which lines say who reads and writes what.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Where the next weight that shares a block goes.
struct Next {
    block: Weak<Block>,
    used: usize,
}

static NEXT: OfProcess<Mutex<Next>> = OfProcess::new();

/// Bytes of weights in small pages.
static SMALL: AtomicUsize = AtomicUsize::new(0);

impl<T: Pod> Lines<T> {
    pub fn new(length: usize) -> Self {
        Self::alone(length, LINE, 0)
    }

    /// The same for a weight, which is kept, and read at each call.
    pub fn of_weight(length: usize) -> Self {
        let size = length.checked_mul(size_of::<T>());
        let size = size.and_then(|size| size.checked_next_multiple_of(LINE));
        let size = size.expect("a matrix fits the memory");
        if cfg!(not(any(target_os = "linux", target_os = "android"))) || !is_pooled() {
            return Self::alone(length, LINE, 0);
        }
        if SMALL.load(Relaxed).saturating_add(size) <= FEW {
            return Self::alone(length, LINE, size);
        }
        if size > SHARED / 2 {
            return Self::alone(length, PAGE, 0);
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
        let at = next.used;
        next.used += size;
        // SAFETY: so many bytes of the block have no other owner.
        unsafe { Self::at(block, PAGE, at, length) }
    }

    /// In a block of their own.
    fn alone(length: usize, alignment: usize, small: usize) -> Self {
        const { assert!(align_of::<T>() <= LINE) };
        let size = length.saturating_mul(size_of::<T>());
        let block = Arc::new(Block::new(size, alignment, small));
        // SAFETY: the block is as long and nobody else's.
        unsafe { Self::at(block, alignment, 0, length) }
    }

    /// # Safety
    ///
    /// The block has as many numbers at these bytes behind its first aligned one, and they have no other owner.
    unsafe fn at(block: Arc<Block>, alignment: usize, bytes: usize, length: usize) -> Self {
        Self {
            // SAFETY: the place is inside of the block, as the caller says.
            first: unsafe { block.aligned(alignment).add(bytes) }.cast(),
            length,
            _block: block,
            of: PhantomData,
        }
    }
}

impl<T> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the numbers are of this owner, and were zeros at first, which all types that there are lines of have.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.first.as_ptr(), self.length) }
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
        // SAFETY: the size is not zero.
        let begin = unsafe { alloc_zeroed(layout) };
        let Some(begin) = NonNull::new(begin) else {
            no_memory(layout.size());
        };
        SMALL.fetch_add(small, Relaxed);
        let block = Self { begin, layout, small };
        if alignment == PAGE {
            block.ask_for_large_pages(size / PAGE * PAGE);
        }
        block
    }

    /// Systems that have none leave the pages small.
    #[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(unused_variables))]
    fn ask_for_large_pages(&self, size: usize) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        // SAFETY: so many bytes are inside of the block, and stay what they are.
        unsafe {
            let first = self.aligned(PAGE).as_ptr().cast();
            libc::madvise(first, size, libc::MADV_HUGEPAGE);
        }
    }

    /// The first byte with an alignment that the block was made for.
    fn aligned(&self, alignment: usize) -> NonNull<u8> {
        let before = self.begin.as_ptr().addr().next_multiple_of(alignment) - self.begin.as_ptr().addr();
        // SAFETY: the block is longer by the alignment, or begins with it and `before` is 0.
        unsafe { self.begin.add(before) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        SMALL.fetch_sub(self.small, Relaxed);
        // SAFETY: the memory is of the allocator with this layout.
        unsafe { dealloc(self.begin.as_ptr(), self.layout) };
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
