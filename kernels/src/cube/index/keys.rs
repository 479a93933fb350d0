//! Keys: unsigned integers in the order of elements or rows.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    launch::{Grid, launch},
    unwritten,
};

/// Conversion of elements to keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// NaN is the greatest, and both zeros are equal.
    Float,
    Signed,
    Unsigned,
}

/// Keys, plane after plane. A further plane orders elements whose keys are equal in those before.
pub struct Keys {
    pub numbers: CubeTensor,
    pub planes: usize,
    /// Number of keys of a plane.
    pub size: usize,
}

/// Returns `true` if elements take two planes, of their upper and their lower halves.
fn is_wide(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::U64)
}

impl Keys {
    /// Returns the keys of a tensor of planes of this size, in the order of the elements or in the opposite one.
    pub fn new(x: CubeTensor, size: usize, descending: bool) -> Self {
        let x = into_contiguous(x);
        let kind = match x.dtype {
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => Kind::Signed,
            DType::U64 | DType::U32 | DType::U16 | DType::U8 => Kind::Unsigned,
            _ => Kind::Float,
        };
        let (dtype, count) = (x.dtype, x.shape().num_elements());
        let is_wide = is_wide(dtype);
        // Devices without 64-bit integers have their halves, the lower one first.
        let (x, words, dtype) = if is_wide {
            let shape = [2 * count].into();
            let (client, device) = (x.client, x.device);
            let x = CubeTensor::new_contiguous(client, device, shape, x.handle, DType::U32);
            (x, 2, DType::U32)
        } else {
            (x, 1, dtype)
        };
        let numbers = unwritten(&x, [words * count].into(), DType::U32);
        launch!(Grid::units(count) => keys_kernel(
            x, &numbers;
            count, size, kind, is_wide, descending, dtype_to_storage_type(dtype),
        ));
        Self { numbers, planes: words * count / size, size }
    }
}

/// A unit writes the key of an element.
///
/// Units beyond `count` end. `input` and `keys` have `count` elements, twice that number if elements are wide. Wide keys are
/// written in whole planes of `size` elements: the upper halves of a plane, then its lower halves.
#[cube(launch_unchecked, address_type = "dynamic")]
fn keys_kernel<T: Numeric>(
    input: &Tensor<T>,
    keys: &mut Tensor<u32>,
    count: usize,
    size: usize,
    #[comptime] kind: Kind,
    #[comptime] is_wide: bool,
    #[comptime] descending: bool,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    if comptime!(is_wide) {
        let low = u32::cast_from(input[2 * ABSOLUTE_POS]);
        let mut high = u32::cast_from(input[2 * ABSOLUTE_POS + 1]);
        if comptime!(kind == Kind::Signed) {
            high ^= 0x8000_0000u32;
        }
        let at = ABSOLUTE_POS / size * (2 * size) + ABSOLUTE_POS % size;
        keys[at] = directed(high, descending);
        keys[at + size] = directed(low, descending);
    } else {
        let value = input[ABSOLUTE_POS];
        #[allow(unused_assignments)]
        let mut key = 0u32;
        if comptime!(kind == Kind::Float) {
            let bits = u32::reinterpret(f32::cast_from(value));
            let size = bits & 0x7fff_ffffu32;
            key = bits | 0x8000_0000u32;
            if size == 0u32 {
                key = 0x8000_0000u32;
            } else if size > 0x7f80_0000u32 {
                key = 0xffff_fffeu32;
            } else if size != bits {
                key = !bits;
            }
        } else if comptime!(kind == Kind::Signed) {
            key = u32::reinterpret(i32::cast_from(value)) ^ 0x8000_0000u32;
        } else {
            key = u32::cast_from(value);
        }
        keys[ABSOLUTE_POS] = directed(key, descending);
    }
}

#[cube]
fn directed(key: u32, #[comptime] descending: bool) -> u32 {
    if comptime!(descending) { !key } else { key }
}

/// Returns `true` if an element is before another one of the same key in the first plane. If all keys are
/// equal, the lower index is.
#[cube]
pub fn decided_later(
    keys: &Tensor<u32>,
    at: usize,
    place: u32,
    other: usize,
    of_other: u32,
    planes: usize,
    size: usize,
) -> bool {
    let mut is_before = place < of_other;
    let mut plane = 1usize;
    while plane < planes {
        let key = keys[plane * size + at];
        let key_of_other = keys[plane * size + other];
        if key == key_of_other {
            plane += 1;
        } else {
            is_before = key < key_of_other;
            plane = planes;
        }
    }
    is_before
}
