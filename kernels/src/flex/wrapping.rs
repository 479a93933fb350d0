//! Arithmetic of integers that wraps, in all builds.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::IntTensorOps};
use burn::tensor::{IntDType, TensorData};
use num_traits::{Num, WrappingAdd, WrappingMul, WrappingSub};

use super::{
    copy::{Word, by_words, dense, dense_words, words},
    extreme::is_one,
    outcome, tensor,
};
use crate::{
    backend::{Any, Outcome},
    spec::{arithmetic::Arithmetic, scan::Scan},
};

/// Elements of the size of an integer. Signed and unsigned integers have the same bits.
trait Integer: Word + Num + WrappingAdd + WrappingSub + WrappingMul {}

impl<T: Word + Num + WrappingAdd + WrappingSub + WrappingMul> Integer for T {}

/// Elements of the second operand.
enum Other<'a, T> {
    Each(&'a [T]),
    All(T),
}

/// Axes before an axis, its size, and the axes after it.
#[derive(Clone, Copy)]
struct Axes {
    before: usize,
    size: usize,
    after: usize,
}

/// Returns the result for each pair of elements of tensors of one shape.
pub fn pairs(a: FlexTensor, b: FlexTensor, arithmetic: Arithmetic) -> FlexTensor {
    let swaps = arithmetic != Arithmetic::Difference && is_one(&a) && !is_one(&b);
    let (a, b) = if swaps { (b, a) } else { (a, b) };
    let dtype = a.dtype();
    by_words!(dtype, pairs_of(a, &b, arithmetic)).expect("integers have 1, 2, 4 or 8 aligned bytes")
}

/// Returns the result for each element and a number.
pub fn with_number(x: FlexTensor, number: i64, arithmetic: Arithmetic) -> FlexTensor {
    let dtype = x.dtype();
    let bytes = number.to_ne_bytes();
    let size = dtype.size();
    let first = if cfg!(target_endian = "big") { 8 - size } else { 0 };
    let bytes = &bytes[first..][..size];
    by_words!(dtype, with_word(x, bytes, arithmetic)).expect("integers have 1, 2, 4 or 8 aligned bytes")
}

/// Returns the sum or the product of the elements along an axis, which keeps one element.
pub fn fold(x: FlexTensor, axis: usize, product: bool) -> FlexTensor {
    let dtype = x.dtype();
    by_words!(dtype, fold_of(&x, axis, product)).expect("integers have 1, 2, 4 or 8 aligned bytes")
}

/// Returns `x` with updates added to, or multiplied with, the elements at their indices along an axis.
pub fn scatter(
    x: FlexTensor,
    indices: FlexTensor,
    updates: FlexTensor,
    axis: usize,
    product: bool,
) -> Option<FlexTensor> {
    let indices = dense(Flex::int_cast(indices, IntDType::I64));
    let dtype = x.dtype();
    by_words!(dtype, scatter_of(x, &indices, &updates, axis, product))
}

/// Returns the cumulative sums or products of integers. Declines for floats.
pub fn scan(x: Any<Flex>, scan: Scan) -> Outcome<Flex> {
    let x = tensor(x);
    let dtype = x.dtype();
    let is_integer = dtype.is_int() || dtype.is_uint();
    outcome(if is_integer { by_words!(dtype, scan_of(x, scan)) } else { None })
}

fn pairs_of<T: Integer>(a: FlexTensor, b: &FlexTensor, arithmetic: Arithmetic) -> Option<FlexTensor> {
    if is_one(b) {
        let number = words::<T>(b)?[b.layout().start_offset()];
        return changed(a, |elements| apply(elements, Other::All(number), arithmetic));
    }
    let b = dense(b.clone());
    let values = dense_words::<T>(&b)?;
    changed(a, |elements| apply(elements, Other::Each(values), arithmetic))
}

fn with_word<T: Integer>(x: FlexTensor, bytes: &[u8], arithmetic: Arithmetic) -> Option<FlexTensor> {
    let number = bytemuck::pod_read_unaligned::<T>(bytes);
    changed(x, |elements| apply(elements, Other::All(number), arithmetic))
}

fn fold_of<T: Integer>(x: &FlexTensor, axis: usize, product: bool) -> Option<FlexTensor> {
    let axes = Axes::of(x, axis);
    let x = dense(x.clone());
    let first = if product { T::one() } else { T::zero() };
    let mut sums = vec![first; axes.before * axes.after];
    let lines = dense_words::<T>(&x)?.chunks_exact(axes.after.max(1));
    for (at, line) in lines.enumerate() {
        let sums = &mut sums[at / axes.size * axes.after..][..axes.after];
        for (sum, value) in sums.iter_mut().zip(line) {
            *sum = if product { sum.wrapping_mul(value) } else { sum.wrapping_add(value) };
        }
    }
    let mut shape = x.shape();
    shape[axis] = 1;
    let bytes = bytemuck::cast_slice(&sums).to_vec();
    Some(FlexTensor::from_data(TensorData::from_bytes_vec(bytes, shape, x.dtype())))
}

fn scatter_of<T: Integer>(
    x: FlexTensor,
    indices: &FlexTensor,
    updates: &FlexTensor,
    axis: usize,
    product: bool,
) -> Option<FlexTensor> {
    let (Axes { size, after, .. }, count) = (Axes::of(&x, axis), indices.shape()[axis]);
    let updates = dense(updates.clone());
    let (indices, updates) = (dense_words::<u64>(indices)?, dense_words::<T>(&updates)?);
    changed(x, |elements: &mut [T]| {
        for (at, (index, update)) in indices.iter().zip(updates).enumerate() {
            let (before, inner) = (at / (count * after), at % after);
            let element = &mut elements[(before * size + *index as usize) * after + inner];
            *element = if product { element.wrapping_mul(update) } else { element.wrapping_add(update) };
        }
    })
}

fn scan_of<T: Integer>(x: FlexTensor, scan: Scan) -> Option<FlexTensor> {
    let Axes { size, after, .. } = Axes::of(&x, scan.axis);
    let mut sums = Vec::new();
    changed(x, |elements: &mut [T]| {
        for plane in elements.chunks_exact_mut((size * after).max(1)) {
            sums.clear();
            sums.resize(after, if scan.product { T::one() } else { T::zero() });
            for step in 0..size {
                let line = if scan.reverse { size - 1 - step } else { step };
                let line = &mut plane[line * after..][..after];
                for (sum, value) in sums.iter_mut().zip(line) {
                    let before = *sum;
                    *sum = if scan.product { sum.wrapping_mul(value) } else { sum.wrapping_add(value) };
                    *value = if scan.exclusive { before } else { *sum };
                }
            }
        }
    })
}

/// Modifies the elements: in the tensor's own memory if no other tensor uses it.
fn changed<T: Integer>(x: FlexTensor, change: impl FnOnce(&mut [T])) -> Option<FlexTensor> {
    let dtype = x.dtype();
    let (mut bytes, shape, _) = x.into_data().into_parts();
    change(bytemuck::try_cast_slice_mut(&mut bytes).ok()?);
    Some(FlexTensor::from_data(TensorData::from_bytes(bytes, shape, dtype)))
}

fn apply<T: Integer>(elements: &mut [T], other: Other<'_, T>, arithmetic: Arithmetic) {
    match arithmetic {
        Arithmetic::Sum => each(elements, other, |a, b| a.wrapping_add(&b)),
        Arithmetic::Difference => each(elements, other, |a, b| a.wrapping_sub(&b)),
        Arithmetic::Product => each(elements, other, |a, b| a.wrapping_mul(&b)),
    }
}

fn each<T: Integer>(elements: &mut [T], other: Other<'_, T>, function: impl Fn(T, T) -> T) {
    match other {
        Other::All(b) => elements.iter_mut().for_each(|a| *a = function(*a, b)),
        Other::Each(others) => {
            elements.iter_mut().zip(others).for_each(|(a, b)| *a = function(*a, *b));
        }
    }
}

impl Axes {
    fn of(x: &FlexTensor, axis: usize) -> Self {
        let shape = x.shape();
        let count = |sizes: &[usize]| sizes.iter().product();
        Self { before: count(&shape[..axis]), size: shape[axis], after: count(&shape[axis + 1..]) }
    }
}
