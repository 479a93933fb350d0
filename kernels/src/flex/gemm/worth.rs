//! How many threads products are worth.

use crate::flex::threads::count;

/// Multiplications that are worth another thread.
const SHARE: usize = 1 << 17;

/// Bytes of a weight that are.
const READ: usize = 1 << 16;

/// How many threads so many multiplications are for.
pub fn threads(multiplications: usize) -> usize {
    threads_reading(multiplications, 0)
}

/// The same for products of few rows, which take as long as a weight of so many bytes is read.
pub fn threads_reading(multiplications: usize, bytes: usize) -> usize {
    let worth = (multiplications / SHARE).max(bytes / READ);
    if worth <= 1 { 1 } else { worth.min(count()) }
}
