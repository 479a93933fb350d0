//! Memory of large results, which later results reuse.
//!
//! Allocators give large memory back to the system, and the system gives new memory page by page, each with a fault and
//! filled with zeros: up to a seventh of the time of a call. Memory here is kept until it has not been used for a while.

use std::{
    alloc::Layout,
    mem::MaybeUninit,
    ptr,
    slice::{from_raw_parts, from_raw_parts_mut},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use onnx_embed_memory::is_kept;

use super::allocation::Allocation;
use crate::flex::threads::process::OfProcess;
use crate::sizes::no_memory;

/// Minimum number of bytes of memory that is reused; allocators keep smaller memory themselves.
const LEAST: usize = 64 << 10;

const PAGE: usize = 4 << 10;

/// Size of a cache line, which the widest registers fill.
const ALIGNMENT: usize = 64;

/// Maximum number of idle bytes beyond the most that were in use at once. An eighth of that is another limit.
const MORE: usize = 2 << 20;

/// Memory that is not used for a whole period is freed.
const PERIOD: Duration = Duration::from_secs(5);

/// Memory of whole pages with anything in it, of one owner.
pub struct Memory {
    /// Present until the memory is dropped.
    block: Option<Allocation>,
    /// True if the pool counts the block and gets it back.
    is_pooled: bool,
}

/// A block that is not in use.
struct Idle {
    block: Allocation,
    since: u32,
}

/// The idle blocks, and the number of bytes in use.
struct Pool {
    /// Sorted by size; of equal blocks the latest is last.
    idle: Vec<Idle>,
    waiting: usize,
    used: usize,
    /// Maximum number of bytes in use at once, in this period and in the one before.
    most: [usize; 2],
    period: u32,
    is_watched: bool,
}

/// A child of `fork` starts with an empty pool: another thread may have held the lock.
static POOL: OfProcess<Mutex<Pool>> = OfProcess::new();

impl Memory {
    /// Returns memory of at least `size` bytes, `None` for small sizes and for sizes that no allocation can have.
    ///
    /// # Panics
    /// If the allocator has none.
    pub fn new(size: usize) -> Option<Self> {
        if size < LEAST || size > isize::MAX as usize - PAGE {
            return None;
        }
        let size = size.next_multiple_of(PAGE);
        if is_kept() {
            // The allocator keeps the block for the session's next call, without a lock.
            let block = Some(block(size).unwrap_or_else(|| no_memory(size)));
            return Some(Self { block, is_pooled: false });
        }
        let (found, unused) = pool().take(size);
        drop(unused);
        let Some(block) = found.or_else(|| block(size)) else {
            pool().uncount(size);
            no_memory(size);
        };
        Some(Self { block: Some(block), is_pooled: true })
    }

    /// Returns the first `length` bytes.
    ///
    /// # Panics
    /// If the memory is smaller.
    pub fn bytes(&self, length: usize) -> &[MaybeUninit<u8>] {
        let (first, size) = self.place();
        assert!(length <= size);
        // SAFETY: the block has the bytes, by the assertion, and this is its only owner.
        unsafe { from_raw_parts(first.cast(), length) }
    }

    /// Returns the memory of the first `length` elements of a type.
    ///
    /// # Panics
    /// If the memory is smaller.
    pub fn blank<T>(&mut self, length: usize) -> &mut [MaybeUninit<T>] {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let (first, size) = self.place();
        assert!(length.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= size));
        // SAFETY: the block has room for the elements and is aligned for them, by the assertions, and this is its only owner.
        unsafe { from_raw_parts_mut(first.cast(), length) }
    }

    /// Address and size.
    fn place(&self) -> (*mut u8, usize) {
        self.block.as_ref().map_or((ptr::dangling_mut(), 0), |block| (block.first(), block.size()))
    }
}

/// A block of whole pages. `None` if the allocator has none.
fn block(size: usize) -> Option<Allocation> {
    Allocation::new(Layout::from_size_align(size, ALIGNMENT).ok()?)
}

impl Drop for Memory {
    fn drop(&mut self) {
        if !self.is_pooled {
            return;
        }
        if self.block.take().is_some_and(|block| pool().put(block)) {
            let thread = thread::Builder::new().name("onnx-embed memory".to_owned());
            if thread.spawn(watch).is_err() {
                pool().is_watched = false;
            }
        }
    }
}

impl Pool {
    const fn new() -> Self {
        Self { idle: Vec::new(), waiting: 0, used: 0, most: [0; 2], period: 0, is_watched: false }
    }

    /// Returns an idle block of at least `size` bytes, or otherwise the blocks to free before one is allocated.
    fn take(&mut self, size: usize) -> (Option<Allocation>, Vec<Allocation>) {
        let first = self.idle.partition_point(|idle| idle.block.size() < size);
        let found = self.idle.get(first).map(|idle| idle.block.size());
        // A much larger block is left for a larger result, if there is room for both.
        let is_full = self.used + self.waiting + size > self.room();
        let Some(found) = found.filter(|found| is_full || found / 2 <= size) else {
            self.count(size);
            return (None, self.surplus());
        };
        let behind = self.idle.partition_point(|idle| idle.block.size() <= found);
        let block = self.remove(behind - 1);
        self.count(found);
        (Some(block), Vec::new())
    }

    fn count(&mut self, size: usize) {
        self.used += size;
        self.most[0] = self.most[0].max(self.used);
    }

    /// Reverts [`Self::count`] for memory that could not be allocated.
    fn uncount(&mut self, size: usize) {
        self.used -= size;
        self.most[0] = self.used;
    }

    /// Returns the number of bytes that the pool may have, in use and idle.
    fn room(&self) -> usize {
        let most = self.most[0].max(self.most[1]);
        most + (most / 8).min(MORE)
    }

    /// Removes the blocks that have been idle for longest until the rest fits the room.
    fn surplus(&mut self) -> Vec<Allocation> {
        let mut surplus = Vec::new();
        while self.used + self.waiting > self.room() {
            let oldest = (0..self.idle.len()).min_by_key(|at| self.idle[*at].since);
            let Some(oldest) = oldest else { break };
            surplus.push(self.remove(oldest));
        }
        surplus
    }

    fn remove(&mut self, at: usize) -> Allocation {
        let block = self.idle.remove(at).block;
        self.waiting -= block.size();
        block
    }

    /// Adds an idle block. Returns true if a thread has to be started that frees idle blocks.
    fn put(&mut self, block: Allocation) -> bool {
        // A child of `fork` does not count the blocks of its parent.
        self.used = self.used.saturating_sub(block.size());
        self.waiting += block.size();
        let at = self.idle.partition_point(|idle| idle.block.size() <= block.size());
        let since = self.period;
        self.idle.insert(at, Idle { block, since });
        !std::mem::replace(&mut self.is_watched, true)
    }

    /// Starts the next period, and removes the blocks that were not used in the last one.
    fn age(&mut self) -> Vec<Allocation> {
        let mut unused = Vec::new();
        for at in (0..self.idle.len()).rev() {
            if self.idle[at].since != self.period {
                unused.push(self.remove(at));
            }
        }
        self.period = self.period.wrapping_add(1);
        self.most = [self.used, self.most[0]];
        self.is_watched = !self.idle.is_empty();
        unused
    }
}

fn pool() -> MutexGuard<'static, Pool> {
    let pool = POOL.get(|| Mutex::new(Pool::new()));
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees blocks that are not used, as long as there are idle ones.
fn watch() {
    let mut is_watched = true;
    while is_watched {
        thread::sleep(PERIOD);
        let unused;
        {
            let mut pool = pool();
            unused = pool.age();
            is_watched = pool.is_watched;
        }
        drop(unused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    /// Returns a pool with idle blocks of these numbers of pages.
    fn waiting(pages: &[usize]) -> Pool {
        let mut pool = Pool::new();
        for pages in pages {
            pool.count(pages * PAGE);
        }
        for pages in pages {
            pool.put(block(pages * PAGE).expect("a block"));
        }
        pool
    }

    fn taken(pool: &mut Pool, pages: usize) -> Option<usize> {
        pool.take(pages * PAGE).0.map(|block| block.size() / PAGE)
    }

    #[test]
    fn the_smallest_block_that_suffices_is_taken() {
        let mut pool = waiting(&[40, 20, 30]);
        assert_eq!(taken(&mut pool, 19), Some(20));
        assert_eq!(taken(&mut pool, 19), Some(30));
        assert_eq!(taken(&mut pool, 20), Some(40));
        let mut pool = waiting(&[40]);
        assert_eq!(taken(&mut pool, 41), None);
        let mut pool = waiting(&[40, 70]);
        assert_eq!(taken(&mut pool, 70), Some(70));
        pool.most[0] = 200 * PAGE;
        assert_eq!(taken(&mut pool, 19), None);
        pool.most[0] = 0;
        assert_eq!(taken(&mut pool, 19), Some(40));
    }

    #[test]
    fn of_equal_blocks_the_latest_is_taken() {
        let mut pool = waiting(&[20, 20]);
        let last = pool.idle[1].block.first();
        let block = pool.take(20 * PAGE).0.expect("a block");
        assert_eq!(block.first(), last);
    }

    #[test]
    fn no_more_waits_than_was_in_use() {
        let mut pool = waiting(&[10, 10, 10]);
        let (found, freed) = pool.take(25 * PAGE);
        assert!(found.is_none() && freed.len() == 3);
        assert!(pool.used == 25 * PAGE && pool.waiting == 0);
    }

    #[test]
    fn little_waits_beyond_large_memory() {
        let mut pool = waiting(&[10_000, 20_000]);
        assert_eq!(taken(&mut pool, 20_000), Some(20_000));
        assert_eq!(taken(&mut pool, 500), None);
        assert_eq!(taken(&mut pool, 500), Some(10_000));
    }

    #[test]
    fn what_had_no_use_in_a_period_is_freed() {
        let mut pool = waiting(&[10, 20]);
        assert!(pool.age().is_empty() && pool.is_watched);
        let block = pool.take(20 * PAGE).0.expect("a block");
        assert_eq!(pool.age().len(), 1);
        pool.put(block);
        assert!(pool.age().is_empty());
        assert_eq!(pool.age().len(), 1);
        assert!(!pool.is_watched && pool.waiting == 0 && pool.most == [0; 2]);
    }

    #[test]
    fn memory_that_there_is_not_is_a_fault() {
        // More than any address space has, and no more than a layout may have.
        let asked = (isize::MAX as usize - PAGE) / PAGE * PAGE;
        let fault = attempt(|| Memory::new(asked).is_some()).unwrap_err();
        assert!(fault.reason.starts_with("cannot allocate 8.0 EiB"), "{fault}");
        assert!(pool().most[0] < asked && Memory::new(LEAST).is_some());
    }

    #[test]
    fn memory_is_aligned_and_of_one_user() {
        let all: Vec<Memory> = (0..20).filter_map(|_| Memory::new(LEAST + 1)).collect();
        assert_eq!(all.len(), 20);
        let mut places: Vec<usize> = all.iter().map(|memory| memory.place().0 as usize).collect();
        places.sort_unstable();
        assert!(places.iter().all(|place| place % ALIGNMENT == 0));
        assert!(places.windows(2).all(|two| two[1] - two[0] > LEAST));
        assert!(Memory::new(LEAST - 1).is_none() && Memory::new(usize::MAX).is_none());
    }
}
