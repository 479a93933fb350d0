//! Elements of results.

use std::{
    marker::PhantomData,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
};

use burn::{
    backend::flex::FlexTensor,
    tensor::{Bytes, Element, Shape, TensorData},
};
use bytemuck::Pod;
use cubecl_environment::bytes::{AccessError, AccessPolicy, AllocationController, AllocationProperty};

use super::{
    is_pooled, poison,
    recycled::Memory,
    region::{Unwritten, Written},
};
use crate::sizes::no_memory;

/// Contiguous elements, in recycled memory if they are many.
pub struct Buffer<T = f32> {
    bytes: Bytes,
    of: PhantomData<T>,
}

/// Recycled memory of a tensor, whose first `length` bytes are initialized.
struct Controller {
    memory: Memory,
    length: usize,
}

impl<T: Pod + Send + Sync> Buffer<T> {
    /// `length` elements, all of which `write` writes.
    ///
    /// # Panics
    ///
    /// If `write` returns the proof for other elements.
    pub fn filled(length: usize, write: impl for<'p> FnOnce(Unwritten<'p, T>) -> Written<'p, T>) -> Self {
        let checked = |blank: &mut [MaybeUninit<T>]| {
            let (first, length) = (blank.as_ptr().cast(), blank.len());
            let is_all = write(Unwritten::of_slice(blank)).is_of(first, length);
            assert!(is_all, "a kernel writes all elements of its output");
        };
        // SAFETY: the proof for all elements is checked.
        unsafe { Self::written(length, checked) }
    }

    /// Allocates `length` elements that `write` initializes.
    ///
    /// # Safety
    ///
    /// It writes each.
    pub unsafe fn written(length: usize, write: impl FnOnce(&mut [MaybeUninit<T>])) -> Self {
        let size = length.saturating_mul(size_of::<T>());
        let recycled = is_pooled().then(|| Memory::new(size)).flatten();
        let bytes = match recycled {
            Some(mut memory) => {
                let blank = memory.blank(length);
                poison::fill(blank);
                write(blank);
                let controller = Box::new(Controller { memory, length: size });
                // SAFETY: so many bytes are written, as the caller says.
                unsafe { Bytes::from_controller(controller, size) }
            }
            None => {
                let mut values = Vec::new();
                if values.try_reserve_exact(length).is_err() {
                    no_memory(size);
                }
                let blank = &mut values.spare_capacity_mut()[..length];
                poison::fill(blank);
                write(blank);
                // SAFETY: there is room for the elements, and each is written, as the caller says.
                unsafe { values.set_len(length) };
                Bytes::from_elems(values)
            }
        };
        Self { bytes, of: PhantomData }
    }

    #[cfg(test)]
    fn copied(values: &[T]) -> Self {
        // SAFETY: all elements are copied.
        unsafe {
            Self::written(values.len(), |blank| {
                blank.write_copy_of_slice(values);
            })
        }
    }
}

impl<T: Element> Buffer<T> {
    pub fn tensor(self, shape: impl Into<Shape>) -> FlexTensor {
        FlexTensor::from_data(TensorData::from_bytes(self.bytes, shape, T::dtype()))
    }
}

impl<T> Buffer<T> {
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes)
    }
}

impl AllocationController for Controller {
    fn alloc_align(&self) -> usize {
        // Burn's own memory has this alignment.
        align_of::<u128>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, _: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        Ok(self.memory.blank(self.length))
    }

    fn memory(&self, _: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        Ok(self.memory.bytes(self.length))
    }

    fn duplicate(&self) -> Option<Box<dyn AllocationController>> {
        let length = self.length;
        let mut memory = Memory::new(length)?;
        memory.blank(length).copy_from_slice(self.memory.bytes(length));
        Some(Box::new(Self { memory, length }))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;

    #[test]
    fn few_and_many_elements() {
        for length in [0, 1, 1000, 100_000] {
            let values: Vec<u16> = (0..length).map(|at| at as u16).collect();
            let mut buffer = Buffer::copied(&values);
            assert_eq!(*buffer, *values);
            buffer.fill(7);
            let y = buffer.tensor([length]);
            assert!(y.dtype() == DType::U16 && y.storage::<u16>() == vec![7; length]);
        }
    }

    #[test]
    fn a_copy_has_memory_of_its_own() {
        let bytes = Buffer::copied(&[1u8; 100_000]).into_bytes();
        let mut copy = bytes.clone();
        copy[0] = 2;
        assert!(bytes[0] == 1 && copy[1..] == bytes[1..]);
        copy.extend_from_byte_slice(&[3]);
        let copy = copy.clone();
        assert!(copy.len() == 100_001 && copy[0] == 2 && copy[100_000] == 3);
        let values: Vec<u8> =
            TensorData::from_bytes(bytes, [100_000], DType::U8).try_into_vec().expect("bytes");
        assert_eq!(values, [1; 100_000]);
    }
}
