//! Max and Min.

use burn::tensor::{Tensor, kind::Ordered};

use crate::{backend::call, shape::expand::together};

/// Returns the greater of two elements, NaN if either is.
pub fn max<const D: usize, K: Ordered>(a: Tensor<D, K>, b: Tensor<D, K>) -> Tensor<D, K> {
    extreme(a, b, true)
}

/// Returns the lesser of two elements, NaN if either is.
pub fn min<const D: usize, K: Ordered>(a: Tensor<D, K>, b: Tensor<D, K>) -> Tensor<D, K> {
    extreme(a, b, false)
}

fn extreme<const D: usize, K: Ordered>(a: Tensor<D, K>, b: Tensor<D, K>, greatest: bool) -> Tensor<D, K> {
    let (a, b) = together(a, b);
    if a.dtype().is_float() {
        return Tensor::from_dispatch(call!(extreme(a, b; greatest)));
    }
    let takes_b = if greatest { a.clone().lower(b.clone()) } else { a.clone().greater(b.clone()) };
    a.mask_where(takes_b, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, same};

    const NAN: f32 = f32::NAN;

    #[test]
    fn nan_wins_over_every_bound() {
        let a = float::<1>([NAN, 1.0, 2.0]);
        let b = float::<1>([1.0, NAN, 3.0]);
        same(max(a.clone(), b.clone()), [NAN, NAN, 3.0]);
        same(min(a.clone(), b), [NAN, NAN, 2.0]);
        same(max(a.clone(), float([NAN])), [NAN; 3]);
        same(min(float([1.5f32]), a), [NAN, 1.0, 1.5]);
    }

    #[test]
    fn max_and_min_broadcast_every_dtype() {
        if !crate::testing::has(burn::tensor::DType::U8) {
            return;
        }
        let a = int::<2>([[1u8, 200]]);
        let b = int::<2>([[100u8], [250]]);
        same(max(a.clone(), b.clone()), [[100u8, 200], [250, 250]]);
        same(min(a, b), [[1u8, 100], [1, 200]]);
    }
}
