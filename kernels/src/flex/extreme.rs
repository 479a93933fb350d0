//! Elementwise maximum and minimum of two tensors.
//!
//! The result is written to the memory of one of them, if possible.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    rows::in_place,
    simd::{MulAdd, compiled_per_set},
    view::Dense,
};
use crate::backend::primitives;

pub fn extreme(a: FlexTensor, b: FlexTensor, greatest: bool) -> FlexTensor {
    // Writes in place if no other tensor uses the memory.
    let (x, other) =
        if is_one(&a) || !is_one(&b) && !a.is_unique() && b.is_unique() { (b, a) } else { (a, b) };
    if x.dtype() != DType::F32 || x.shape().contains(&0) {
        return primitives::extreme::<Flex>(x, other, greatest);
    }
    if is_one(&other) {
        let bound = other.storage::<f32>()[other.layout().start_offset()];
        return in_place(x, 1, |_, part| limit(part, bound, greatest));
    }
    let other = Dense::new(&other);
    in_place(x, 1, |at, part| {
        choose(part, &other.values()[at..][..part.len()], greatest);
    })
}

/// Returns `true` if a single element broadcasts to all.
pub fn is_one(x: &FlexTensor) -> bool {
    let (shape, steps) = (x.shape(), x.layout().strides());
    let mut axes = shape.iter().zip(steps);
    axes.all(|(size, step)| *size == 1 || *step == 0)
}

compiled_per_set! {
    fn limit(elements: &mut [f32], bound: f32, greatest: bool) = limit_of;
    fn choose(elements: &mut [f32], others: &[f32], greatest: bool) = choose_of;
}

#[inline(always)]
fn limit_of<S: MulAdd>(elements: &mut [f32], bound: f32, greatest: bool) {
    if bound.is_nan() {
        elements.fill(bound);
    } else if greatest {
        for x in elements {
            *x = if *x < bound { bound } else { *x };
        }
    } else {
        for x in elements {
            *x = if *x > bound { bound } else { *x };
        }
    }
}

#[inline(always)]
fn choose_of<S: MulAdd>(elements: &mut [f32], others: &[f32], greatest: bool) {
    let pairs = elements.iter_mut().zip(others);
    if greatest {
        for (x, y) in pairs {
            *x = if *x < *y || y.is_nan() { *y } else { *x };
        }
    } else {
        for (x, y) in pairs {
            *x = if *x > *y || y.is_nan() { *y } else { *x };
        }
    }
}
