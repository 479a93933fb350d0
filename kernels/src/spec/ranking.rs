//! The order of elements in TopK.

use alloc::{vec, vec::Vec};
use core::cmp::Ordering;

use burn::tensor::{DType, Element, TensorData};
use half::{bf16, f16};

use super::types::TensorType;

/// Parameters of TopK.
#[derive(Clone, Copy, Debug)]
pub struct Top {
    pub k: usize,
    pub axis: usize,
    pub largest: bool,
}

/// Returns the indices along the axis of its first elements, in order.
pub fn ranking(data: TensorData, top: Top) -> Vec<i64> {
    match data.dtype() {
        DType::F64 => rank(&data, top, float_order::<f64>),
        DType::F32 | DType::Flex32 => rank(&data, top, float_order::<f32>),
        DType::F16 => rank(&data, top, float_order::<f16>),
        DType::BF16 => rank(&data, top, float_order::<bf16>),
        DType::I64 => rank(&data, top, i64::cmp),
        DType::I32 => rank(&data, top, i32::cmp),
        DType::I16 => rank(&data, top, i16::cmp),
        DType::I8 => rank(&data, top, i8::cmp),
        DType::U64 => rank(&data, top, u64::cmp),
        DType::U32 => rank(&data, top, u32::cmp),
        DType::U16 => rank(&data, top, u16::cmp),
        DType::U8 => rank(&data, top, u8::cmp),
        dtype => panic!("TopK does not support {dtype:?}"),
    }
}

fn rank<E: Element>(
    data: &TensorData,
    Top { k, axis, largest }: Top,
    order: impl Fn(&E, &E) -> Ordering,
) -> Vec<i64> {
    let shape = data.shape();
    let values = data.as_slice::<E>().expect("elements of the data's own dtype");
    let size = shape[axis];
    let after: usize = shape[axis + 1..].iter().product();
    let before: usize = shape[..axis].iter().product();
    let mut indices = vec![0; before * k * after];
    let mut row: Vec<(E, i64)> = Vec::with_capacity(size);
    let compare = |a: &(E, i64), b: &(E, i64)| {
        let by_value = if largest { order(&b.0, &a.0) } else { order(&a.0, &b.0) };
        by_value.then(a.1.cmp(&b.1))
    };
    for outer in 0..before {
        for inner in 0..after {
            let at = |index: usize| values[(outer * size + index) * after + inner];
            row.clear();
            row.extend((0..size).map(|index| (at(index), index as i64)));
            if k < size {
                row.select_nth_unstable_by(k, compare);
            }
            row[..k].sort_unstable_by(compare);
            for (rank, &(_, index)) in row[..k].iter().enumerate() {
                indices[(outer * k + rank) * after + inner] = index;
            }
        }
    }
    indices
}

/// Compares floats: both zeros are equal and NaN is the greatest.
pub fn float_order<E: PartialOrd>(a: &E, b: &E) -> Ordering {
    let is_nan = |x: &E| x.partial_cmp(x).is_none();
    a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

/// Returns `true` if elements map to unsigned integers of the same order. f64 is excluded: the adapters of
/// the tests do not compute it.
pub fn has_keys(dtype: DType) -> bool {
    dtype.size() <= 4 || matches!(dtype, DType::I64 | DType::U64)
}

impl Top {
    /// Returns the type of the indices that devices find; `None` if elements have no keys.
    pub fn indices(&self, x: &TensorType) -> Option<TensorType> {
        has_keys(x.dtype).then(|| {
            let mut shape = x.shape.clone();
            shape[self.axis] = self.k;
            TensorType::new(shape, DType::I32)
        })
    }
}

/// Returns the type of the sorting permutation of rows, and of the numbers of their groups; `None` if elements have no keys.
pub fn groups(rows: &TensorType) -> Option<TensorType> {
    has_keys(rows.dtype).then(|| TensorType::new([rows.shape[0]], DType::I32))
}
