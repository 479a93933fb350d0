//! Cumulative sums and products compared with Burn's.

use burn::tensor::{DType, FloatDType, IntDType, Tensor, TensorData, kind::Numeric};

use crate::reduce::cumulative::{Scan, cumprod, cumsum, passes};
use crate::testing::{has, int, near, noise, on_each};

/// Sizes around those of rows that one unit scans, of tiles, and of several tiles.
const SIZES: [usize; 6] = [1, 64, 65, 1024, 1025, 3100];

fn agree<const D: usize, K: Numeric>(x: Tensor<D, K>, axis: usize, product: bool, tolerance: f64) {
    for (exclusive, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
        let scan = Scan { axis, exclusive, reverse, product };
        let expected = passes(x.clone(), scan).into_data();
        let run = if product { cumprod } else { cumsum };
        near(run(x.clone(), axis, exclusive, reverse), expected, tolerance);
    }
}

#[test]
fn sums_of_floats() {
    on_each(|| {
        for size in SIZES {
            let x = noise::<3>([2, size, 3], 1);
            agree(x.clone(), 1, false, 1e-4);
            agree(x.swap_dims(1, 2), 2, false, 1e-4);
            agree(noise::<1>([size], 2), 0, false, 1e-4);
        }
    });
}

#[test]
fn sums_of_many_rows() {
    on_each(|| {
        agree(noise::<3>([70, 65, 60], 1), 1, false, 1e-5);
        agree(noise::<2>([4100, 70], 1), 1, false, 1e-5);
    });
}

#[test]
fn sums_of_half_precision_are_wide() {
    on_each(|| {
        if has(DType::F16) {
            let x = noise::<2>([3, 2100], 1).cast(FloatDType::F16);
            let expected = x.clone().cast(FloatDType::F32).cumsum(1);
            let expected = expected.cast(FloatDType::F16).into_data();
            near(cumsum(x, 1, false, false), expected, 2e-3);
        }
    });
}

#[test]
fn sums_of_integers_are_exact() {
    on_each(|| {
        let values: Vec<i64> = (0..2500).map(|value| value * value % 101 - 50).collect();
        let x = int::<2>(TensorData::new(values, [2, 1250]));
        for dtype in [IntDType::I64, IntDType::I32] {
            if has(dtype.into()) {
                let x = x.clone().cast(dtype);
                agree(x.clone(), 1, false, 0.0);
                agree(x.transpose(), 0, false, 0.0);
            }
        }
    });
}

#[test]
fn products() {
    on_each(|| {
        for size in SIZES {
            let x = noise::<2>([2, size], 1).mul_scalar(0.01).add_scalar(1.0);
            agree(x, 1, true, 1e-4);
        }
    });
}
