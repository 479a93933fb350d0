//! Memory that kernels write to.

mod allocation;
mod buffer;
mod grid;
mod lines;
pub mod pages;
mod parallel;
pub mod poison;
mod provided;
mod recycled;
mod region;
mod serial;
mod slices;

use std::{cell::Cell, sync::OnceLock};

pub use buffer::Buffer;
pub use grid::{Cuts, Grid, Order, Spot};
pub use lines::Lines;
pub use parallel::on_chunks;
pub use provided::{Provider, bytes_of};
pub use region::{Unwritten, Written};
pub use serial::{InOrder, RunWriter};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use slices::write_chunks;
pub use slices::{
    SliceWriter, overwrite, write_all_of, write_by_index, write_each, write_interleaved, write_lines,
    write_pairs, write_repeated, write_triples, zeroed,
};

use crate::{backend::switches, sizes::no_memory};

/// Returns true if kernels reuse memory of earlier kernels. With `ONNX_EMBED_UNPOOLED=1` each result, scratch buffer and packed matrix has
/// an allocation of its own, of exactly its size: tools that check accesses see one beyond it, or after its end.
fn is_pooled() -> bool {
    static POOLED: OnceLock<bool> = OnceLock::new();
    *POOLED
        .get_or_init(|| switches::chosen("ONNX_EMBED_UNPOOLED", &[("0", true), ("1", false)]).unwrap_or(true))
}

/// A vector of `length` copies of a value, allocated fallibly: the length may come from data.
///
/// # Panics
/// If there is no memory for them.
pub fn repeated<T: Clone>(length: usize, value: T) -> Vec<T> {
    let mut values = Vec::new();
    resize(&mut values, length, value);
    values
}

/// [`Vec::resize`] that ends the step where there is no memory.
pub fn resize<T: Clone>(values: &mut Vec<T>, length: usize, value: T) {
    let more = length.saturating_sub(values.len());
    if values.try_reserve_exact(more).is_err() {
        no_memory(length.saturating_mul(size_of::<T>()));
    }
    values.resize(length, value);
}

/// Numbers in a line of memory.
const LINE: usize = 16;

thread_local! {
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Memory with anything in it, used again by the next one on this thread.
pub fn with_scratch<T>(length: usize, run: impl FnOnce(&mut [f32]) -> T) -> T {
    if !is_pooled() {
        let mut values = repeated(length, 0.0);
        poison::fill_used(&mut values);
        return run(&mut values);
    }
    // Uses within `run` find none and allocate their own.
    let mut values = SCRATCH.take();
    // Aligned to cache lines, so that no load of a register crosses two.
    if values.len() < length + LINE {
        resize(&mut values, length + LINE, 0.0);
    }
    let first = values.as_ptr().align_offset(4 * LINE).min(LINE);
    let scratch = &mut values[first..first + length];
    poison::fill_used(scratch);
    let result = run(scratch);
    SCRATCH.set(values);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    #[test]
    fn scratch_memory_may_be_used_inside_of_itself() {
        let sum = with_scratch(3, |outer| {
            outer.fill(1.0);
            with_scratch(5, |inner| inner.fill(2.0));
            outer.iter().sum::<f32>()
        });
        assert_eq!(sum, 3.0);
        assert_eq!(with_scratch(4, |values| values.len()), 4);
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let most = isize::MAX as usize / 4;
        for length in [most, most - 16, usize::MAX / 8] {
            let scratch = attempt(|| with_scratch(length, |_| ())).unwrap_err();
            assert!(scratch.reason.starts_with("cannot allocate "), "{}", scratch.reason);
            assert!(attempt(|| repeated(length, 0f32)).is_err());
        }
        // The memory of this thread is as before.
        assert_eq!(with_scratch(4, |values| values.len()), 4);
        assert_eq!(repeated(3, 2u8), [2; 3]);
    }
}
