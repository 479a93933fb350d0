//! The global memory limit of a program without `std`.

use spin::Mutex;

static LIMIT: Mutex<Option<usize>> = Mutex::new(None);

pub fn get() -> Option<usize> {
    *LIMIT.lock()
}

pub fn replace(limit: Option<usize>) -> Option<usize> {
    core::mem::replace(&mut *LIMIT.lock(), limit)
}

/// Returns 4 GiB, or half of the address space if that is less: no system reports the memory.
pub fn default() -> usize {
    usize::try_from(4u64 << 30).map_or(isize::MAX as usize / 2, |bytes| bytes.min(isize::MAX as usize / 2))
}
