//! Unique slices compared with the host.

use burn::tensor::{DType, Device, Int, IntDType, Tensor, TensorData};

use crate::index::unique::unique;
use crate::kind::AnyKind;
use crate::testing::{bool, float, has, int, noise, on_cpu, on_each, same, with_reads};

/// Sizes around those of one tile and of several.
const SIZES: [usize; 6] = [1, 2, 65, 512, 513, 1700];

fn agree<const D: usize, K: AnyKind>(x: Tensor<D, K>, axis: usize) {
    let options = (&Device::flex(), x.dtype());
    let on_host = Tensor::<D, K>::from_data(x.to_data(), options);
    for sorted in [true, false] {
        let (values, first, inverse, counts) = unique(on_host.clone(), axis, sorted);
        let found = with_reads(1, || unique(x.clone(), axis, sorted));
        same(found.0, values.into_data());
        for (found, expected) in [(found.1, first), (found.2, inverse), (found.3, counts)] {
            same(found, expected.into_data());
        }
    }
}

/// Returns values with many repetitions, of both signs.
fn few<const D: usize>(shape: [usize; D], count: f32) -> Tensor<D> {
    noise::<D>(shape, 5).mul_scalar(count).round()
}

#[test]
fn elements() {
    on_each(|| {
        for size in SIZES {
            for count in [0.0, 1.0, 20.0, 1e6] {
                agree(few([size], count), 0);
            }
            agree(few([size], 3.0).greater_scalar(1.0), 0);
        }
    });
}

#[test]
fn slices_along_each_axis() {
    on_each(|| {
        for size in SIZES {
            agree(few([size, 3], 1.0), 0);
            agree(few([2, size, 2], 1.0), 1);
            agree(few([3, 1, size], 2.0).permute([2, 0, 1]), 0);
        }
        agree(few([40, 70], 0.4), 0);
    });
}

#[test]
fn integers_of_every_size() {
    on_each(|| {
        for dtype in [IntDType::I64, IntDType::U64, IntDType::I32, IntDType::U32, IntDType::U8, IntDType::I8]
        {
            if !has(dtype.into()) {
                continue;
            }
            let values: Vec<i64> = (0..1400).map(|value| value * value % 101).collect();
            let x = int::<2>(TensorData::new(values, [700, 2])).cast(dtype);
            agree(x.clone(), 0);
            agree(x.clone().reshape([1400]), 0);
            if DType::from(dtype).is_int() {
                agree(x.sub_scalar(50), 0);
            }
        }
        if has(DType::I64) {
            let ends = [i64::MIN, 0, i64::MAX, -1, 1 << 32, 1, i64::MIN, -(1 << 32), 1 << 32];
            agree(int::<1>(ends), 0);
        }
        if has(DType::U64) {
            agree(int::<1>([u64::MAX, 0, 1 << 63, 1 << 32, u64::MAX, 1]), 0);
        }
    });
}

#[test]
fn zeros_are_equal_and_every_nan_is() {
    on_each(|| {
        const INF: f32 = f32::INFINITY;
        agree(float::<1>([INF, 0.0, -0.0, -INF, 1e-30, INF, -1e-30]), 0);
        agree(float::<2>([[1.0, -0.0], [1.0, 0.0], [-1.0, 0.0]]), 0);
        if on_cpu("shaders may assume that nothing is NaN") {
            agree(float::<1>([f32::NAN, 0.0, -f32::NAN, INF]), 0);
        }
    });
}

#[test]
fn nothing_and_slices_of_nothing() {
    on_each(|| {
        let none = |shape: [usize; 2]| int::<2>(TensorData::new(Vec::<i32>::new(), shape));
        agree(none([0, 2]), 0);
        let (_, first, inverse, counts): (Tensor<2, Int>, _, _, _) = unique(none([3, 0]), 0, true);
        same(first, [0i64]);
        same(inverse, [0i64, 0, 0]);
        same(counts, [3i64]);
        agree(bool::<1>([false]), 0);
    });
}
