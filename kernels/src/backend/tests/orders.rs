//! TopK compared with the host.

use burn::tensor::{DType, FloatDType, Int, IntDType, Tensor, TensorData, kind::Ordered};

use crate::index::top_k::{Top, top_k};
use crate::spec::ranking::ranking;
use crate::testing::{float, has, int, noise, on_cpu, on_each, same, with_reads};

/// Sizes around those of one tile and of several.
const SIZES: [usize; 7] = [1, 2, 511, 512, 513, 1025, 3000];

fn agree<const D: usize, K: Ordered>(x: Tensor<D, K>, axis: usize) {
    let size = x.dims()[axis];
    for k in [1, size / 3, 33, size] {
        if k == 0 || k > size {
            continue;
        }
        for largest in [true, false] {
            let (values, indices) = with_reads(0, || top_k(x.clone(), k, axis, largest));
            let mut shape = x.dims();
            shape[axis] = k;
            let expected = ranking(x.to_data(), Top { k, axis, largest });
            same(indices, TensorData::new(expected.clone(), shape));
            let expected = int::<D>(TensorData::new(expected, shape));
            same(values, x.clone().gather(axis, expected).into_data());
        }
    }
}

/// Returns values with many repetitions, of both signs.
fn few<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    noise::<D>(shape, 5).mul_scalar(9.0).round()
}

#[test]
fn orders_of_floats() {
    on_each(|| {
        for size in SIZES {
            agree(noise::<1>([size], 1), 0);
            agree(few([2, size, 3]), 1);
            agree(few([2, size, 3]).swap_dims(1, 2), 2);
            agree(few([size, 2, 2]), 0);
        }
    });
}

#[test]
fn orders_of_many_rows() {
    on_each(|| agree(few([300, 40]), 1));
}

#[test]
fn orders_of_integers() {
    on_each(|| {
        for dtype in [IntDType::I64, IntDType::U64, IntDType::I32, IntDType::U32, IntDType::U8, IntDType::I8]
        {
            if !has(dtype.into()) {
                continue;
            }
            let values: Vec<i64> = (0..1400).map(|value| value * value % 101).collect();
            let x = int::<2>(TensorData::new(values, [2, 700])).cast(dtype);
            agree(x.clone(), 1);
            if DType::from(dtype).is_int() {
                agree(x.clone().sub_scalar(50), 1);
            }
            agree(x.transpose(), 0);
        }
        let ends = || int::<1>([i32::MAX, 0, i32::MIN, -1, 1]).cast(IntDType::I32);
        same::<1, Int>(top_k(ends(), 5, 0, true).1, [0i64, 4, 1, 3, 2]);
        same::<1, Int>(top_k(ends(), 5, 0, false).1, [2i64, 3, 1, 4, 0]);
    });
}

#[test]
fn orders_of_64_bits() {
    on_each(|| {
        if has(DType::I64) {
            // Equal in their upper halves, in their lower ones, or in neither.
            let values: Vec<i64> = (0..1300)
                .map(|value| (value * value % 7 - 3) * (1 << 32) + (value % 5 - 2) * 0x7000_0000)
                .collect();
            agree(int::<2>(TensorData::new(values, [650, 2])), 0);
            agree(int::<1>([i64::MIN, -1, 0, i64::MAX, 1 << 32, -1, 1]), 0);
        }
        if has(DType::U64) {
            agree(int::<1>([u64::MAX, 1 << 63, 0, 1 << 32, 1]), 0);
        }
    });
}

#[test]
fn orders_of_half_precision() {
    on_each(|| {
        for dtype in [FloatDType::F16, FloatDType::BF16] {
            if has(dtype.into()) {
                agree(few([3, 600]).cast(dtype), 1);
            }
        }
    });
}

#[test]
fn zeros_are_equal_and_infinities_are_ends() {
    on_each(|| {
        const INF: f32 = f32::INFINITY;
        let x = || float::<1>([0.0, -0.0, INF, -1e-30, -INF, f32::MIN, f32::MAX, 0.0]);
        same(top_k(x(), 8, 0, true).1, [2i64, 6, 0, 1, 7, 3, 5, 4]);
        same(top_k(x(), 8, 0, false).1, [4i64, 5, 3, 0, 1, 7, 6, 2]);
        if on_cpu("shaders may assume that nothing is NaN") {
            let x = || float::<1>([1.0, f32::NAN, INF, -f32::NAN]);
            same(top_k(x(), 3, 0, true).1, [1i64, 3, 2]);
            same(top_k(x(), 4, 0, false).1, [0i64, 2, 1, 3]);
        }
    });
}
