//! Concatenation in the memory of the first tensor.

use burn::backend::{
    TensorMetadata,
    flex::{FlexTensor, Layout},
};
use burn::tensor::{BoolStore, DType, Element, bf16, f16};
use bytemuck::Pod;

use super::{by_elements, concat, dense, dense_words};
use crate::{memory_limit::memory_limit, sizes::extent};

/// Number of elements along the axis for which a cache has room at least.
const LEAST_ROOM: usize = 16;

/// Concatenates a cache and what is added to it, in the memory of the cache if there is room, otherwise in new memory with room for
/// more. Returns the cache if something else refers to its memory, as it will be copied again, or if dtypes differ.
///
/// Other sizes are equal.
pub fn append(cache: FlexTensor, new: &FlexTensor, axis: usize) -> Result<FlexTensor, FlexTensor> {
    let rows = new.shape()[axis];
    if !cache.is_unique() || cache.dtype() != new.dtype() || rows == 0 {
        return Err(cache);
    }
    in_place(cache, new, axis).or_else(|cache| with_room(&cache, new, axis).ok_or(cache))
}

/// Writes the new elements after those of the cache, in its memory. Returns the cache if there is no room.
fn in_place(mut cache: FlexTensor, new: &FlexTensor, axis: usize) -> Result<FlexTensor, FlexTensor> {
    let Some(room) = Room::of(cache.layout(), axis) else {
        return Err(cache);
    };
    let dense = dense(new.clone());
    let written = by_elements!(cache.dtype(), written(&mut cache, &dense, &room));
    match written {
        Some(()) => Ok(room.with(cache, new.shape()[axis])),
        None => Err(cache),
    }
}

/// Returns `None` if the memory limit leaves no room.
fn with_room(cache: &FlexTensor, new: &FlexTensor, axis: usize) -> Option<FlexTensor> {
    let mut shape = new.shape();
    let total = cache.shape()[axis] + shape[axis];
    let room = (total / 2).max(LEAST_ROOM);
    shape[axis] = total + room;
    extent(&shape, cache.dtype().size()).filter(|bytes| *bytes <= memory_limit())?;
    shape[axis] = room;
    let unused = FlexTensor::zeros(shape, cache.dtype());
    let y = concat(vec![cache.clone(), new.clone(), unused], axis)?;
    let layout = y.layout().narrow(axis, 0, total);
    Some(y.with_layout(layout))
}

/// Blocks of contiguous elements, one for each index of the axes before the one that grows.
#[derive(Debug)]
struct Room {
    axis: usize,
    blocks: usize,
    /// Distance of the beginnings of two blocks. A single block reaches to the end of the memory.
    step: Option<usize>,
    /// Number of elements of a block.
    length: usize,
}

impl Room {
    /// Returns `None` if the elements are not in such blocks.
    fn of(layout: &Layout, axis: usize) -> Option<Self> {
        let sizes: &[usize] = layout.shape();
        let axes = sizes.iter().zip(layout.strides());
        let axes = axes.map(|(&size, &stride)| Some((size, usize::try_from(stride).ok()?)));
        let axes: Vec<(usize, usize)> = axes.collect::<Option<_>>()?;
        let (outer, inner) = axes.split_at_checked(axis)?;
        let mut length = 1;
        for &(size, stride) in inner.iter().rev() {
            if size > 1 && stride != length {
                return None;
            }
            length *= size;
        }
        let (mut step, mut next) = (None, 0);
        for &(size, stride) in outer.iter().rev().filter(|(size, _)| *size > 1) {
            if step.is_some() && stride != next {
                return None;
            }
            step.get_or_insert(stride);
            next = stride * size;
        }
        Some(Self { axis, blocks: outer.iter().map(|(size, _)| size).product(), step, length })
    }

    /// Returns the tensor with more rows.
    fn with(&self, x: FlexTensor, rows: usize) -> FlexTensor {
        let (mut shape, first) = (x.shape(), x.layout().start_offset());
        shape[self.axis] += rows;
        let mut strides = vec![0; shape.num_dims()];
        let mut next = 1;
        for axis in (0..shape.num_dims()).rev() {
            if axis + 1 == self.axis {
                next = self.step.unwrap_or(next);
            }
            strides[axis] = next as isize;
            next *= shape[axis];
        }
        x.with_layout(Layout::new(shape, strides, first))
    }
}

/// Writes a part of the new elements after each block. Returns `None`, with nothing written, if the memory is shared or ends
/// before.
fn written<T: Element + Pod>(cache: &mut FlexTensor, new: &FlexTensor, room: &Room) -> Option<()> {
    let words = dense_words::<T>(new)?;
    let part = words.len().checked_div(room.blocks).filter(|part| *part > 0)?;
    let first = cache.layout().start_offset();
    let is_free = room.step.is_none_or(|step| room.length + part <= step);
    let memory = cache.try_storage_mut::<T>().filter(|_| is_free)?;
    let last = (room.blocks - 1) * room.step.unwrap_or(0);
    let end = first + last + room.length + part;
    let blocks = memory.get_mut(first + room.length..end)?.chunks_mut(room.step.unwrap_or(usize::MAX));
    for (block, words) in blocks.zip(words.chunks(part)) {
        block[..part].copy_from_slice(words);
    }
    Some(())
}
