//! Rows that replace rows of a cache.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{BoolStore, DType, Element, bf16, f16};
use bytemuck::Pod;

use super::{by_elements, concat, dense, dense_words};

/// Writes rows along `axis` into a cache, for each element of the batch, the first axis, from its start on, and after the last
/// row of the cache from its first row on. Returns the cache if dtypes differ. The memory is that of the cache if nothing else
/// refers to it.
///
/// Other sizes are equal. There are at most as many rows as in the cache, and each start is one of the cache's rows.
pub fn overwrite(
    cache: FlexTensor,
    rows: &FlexTensor,
    axis: usize,
    starts: &[usize],
) -> Result<FlexTensor, FlexTensor> {
    if cache.dtype() != rows.dtype() {
        return Err(cache);
    }
    let own = if cache.is_unique() { Some(dense(cache.clone())) } else { concat(vec![cache.clone()], axis) };
    let Some(mut own) = own else {
        return Err(cache);
    };
    drop(cache);
    let rows = dense(rows.clone());
    let written = by_elements!(own.dtype(), written(&mut own, &rows, axis, starts));
    if written.is_some() { Ok(own) } else { Err(own) }
}

/// Returns `None`, with nothing written, if memory is shared or not aligned.
fn written<T: Element + Pod>(
    cache: &mut FlexTensor,
    rows: &FlexTensor,
    axis: usize,
    starts: &[usize],
) -> Option<()> {
    let (shape, words) = (cache.shape(), dense_words::<T>(rows)?);
    let plane: usize = shape[axis + 1..].iter().product();
    let (length, part) = (shape[axis] * plane, rows.shape()[axis] * plane);
    let blocks: usize = shape[1..axis].iter().product();
    let first = cache.layout().start_offset();
    let memory = cache.try_storage_mut::<T>()?.get_mut(first..first + shape.num_elements())?;
    if part == 0 || length == 0 || starts.len() * blocks * part != words.len() {
        return None;
    }
    let starts = starts.iter().flat_map(|start| std::iter::repeat_n(start * plane, blocks));
    for ((block, words), start) in memory.chunks_mut(length).zip(words.chunks(part)).zip(starts) {
        let (before, after) = block.split_at_mut(start);
        let (high, low) = words.split_at(part.min(after.len()));
        after[..high.len()].copy_from_slice(high);
        before[..low.len()].copy_from_slice(low);
    }
    Some(())
}
