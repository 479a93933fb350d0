//! Tensors joined along an axis, an old or a new one.

use alloc::vec::Vec;
use burn::backend::Dispatch;
use burn::tensor::{Tensor, kind::Basic};

#[cfg(feature = "flex")]
use crate::observe::by_host;
use crate::{
    backend::{Parts, call},
    fault::fail,
};

/// Tensors one behind another along an axis.
///
/// # Panics
/// If two differ in a size along another axis.
pub fn concat<const D: usize, K: Basic>(parts: Vec<Tensor<D, K>>, axis: usize) -> Tensor<D, K> {
    let dims = parts.iter().map(Tensor::dims);
    let other = |dims: [usize; D]| {
        let mut dims = dims;
        dims[axis] = 0;
        dims
    };
    let mut dims = dims.clone().zip(dims.skip(1));
    if let Some((a, b)) = dims.find(|(a, b)| other(*a) != other(*b)) {
        fail(format_args!(
            "shapes {a:?} and {b:?} cannot be joined along axis {axis}"
        ));
    }
    #[cfg(feature = "flex")]
    if let Some(joined) = on_flex_joined(&parts, axis) {
        by_host("concat");
        return joined;
    }
    let is_full = |part: &Tensor<D, K>| part.shape().num_elements() > 0;
    if (2..=Parts::<Dispatch>::MOST).contains(&parts.len()) && parts.iter().all(is_full) {
        let operands = parts.clone();
        if let Some(joined) = call!(concat(operands; axis)).tensor() {
            return Tensor::from_dispatch(joined);
        }
    }
    Tensor::cat(parts, axis)
}

#[cfg(feature = "flex")]
fn on_flex_joined<const D: usize, K: Basic>(
    parts: &[Tensor<D, K>],
    axis: usize,
) -> Option<Tensor<D, K>> {
    use crate::backend::{of_flex, on_flex};

    let parts = parts.iter().map(on_flex).collect::<Option<_>>()?;
    let joined = crate::flex::copy::concat(parts, axis)?;
    Some(of_flex(joined))
}

/// The items along a new axis; `none` where there are no items.
pub fn stack_or<const D: usize, const E: usize, K: Basic>(
    items: Vec<Tensor<D, K>>,
    axis: usize,
    none: impl FnOnce() -> Tensor<E, K>,
) -> Tensor<E, K> {
    if items.is_empty() {
        none()
    } else {
        Tensor::stack(items, axis)
    }
}

/// The items, of which each is one number, as a vector; `none` where there are no items.
pub fn cat_or<K: Basic>(
    items: Vec<Tensor<1, K>>,
    none: impl FnOnce() -> Tensor<1, K>,
) -> Tensor<1, K> {
    if items.is_empty() {
        none()
    } else {
        Tensor::cat(items, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, same};

    #[test]
    fn items_become_an_axis() {
        let items = vec![float::<1>([1f32, 2.0]), float([3f32, 4.0])];
        same(
            stack_or(items, 1, || float::<2>([[0f32]])),
            [[1f32, 3.0], [2.0, 4.0]],
        );
        same(
            cat_or(vec![float([1f32]), float([2f32])], || float([0f32])),
            [1f32, 2.0],
        );
    }

    #[test]
    fn no_items_are_what_was_asked_for() {
        let none = || float::<2>([[7f32]]);
        same(stack_or(Vec::<Tensor<1>>::new(), 0, none), [[7f32]]);
    }
}
