//! What products of bytes are written to.

use std::mem::MaybeUninit;

use burn::tensor::{DType, Element, TensorData};

use super::tile::Place;
use crate::flex::memory::Buffer;

/// The type of the elements of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Result {
    Unsigned,
    Signed,
    Sums,
    Floats,
}

/// The memory of a result, which threads write in parts.
#[derive(Clone, Copy)]
pub struct Target {
    first: *mut u8,
    size: usize,
    length: usize,
}

// SAFETY: who writes through the pointer says that no other thread writes there.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Result {
    /// That of bytes of a dtype, if it is one.
    pub fn of_bytes(dtype: DType) -> Option<Self> {
        match dtype {
            DType::U8 => Some(Self::Unsigned),
            DType::I8 => Some(Self::Signed),
            _ => None,
        }
    }

    /// A tensor that `fill` writes; it writes each element.
    pub fn filled(self, shape: Vec<usize>, fill: impl FnOnce(Target)) -> TensorData {
        match self {
            Self::Unsigned => filled::<u8>(shape, fill),
            Self::Signed => filled::<i8>(shape, fill),
            Self::Sums => filled::<i32>(shape, fill),
            Self::Floats => filled::<f32>(shape, fill),
        }
    }
}

fn filled<T: Element + bytemuck::Pod>(shape: Vec<usize>, fill: impl FnOnce(Target)) -> TensorData {
    let length = shape.iter().product();
    let write = |blank: &mut [MaybeUninit<T>]| {
        fill(Target {
            first: blank.as_mut_ptr().cast(),
            size: size_of::<T>(),
            length,
        });
    };
    // SAFETY: `fill` writes all elements; tests compare runs under two patterns of blank memory.
    let values = unsafe { Buffer::written(length, write) };
    TensorData::from_bytes(values.into_bytes(), shape, T::dtype())
}

impl Target {
    /// From an element on, with rows that are `step` apart.
    pub fn place(&self, at: usize, step: usize) -> Place {
        assert!(at <= self.length);
        Place {
            // SAFETY: the place is inside of the memory, or its end.
            first: unsafe { self.first.add(at * self.size) },
            room: self.length - at,
            step,
        }
    }
}
