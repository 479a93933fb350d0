//! Multinomial samples of a device compared with the host.

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};

use crate::random::multinomial;
use crate::testing::{device, float, has, noise, on_each, with_reads};

/// Returns the samples that the host draws with the same random numbers.
fn on_cpu(x: &Tensor<2>, count: usize) -> Vec<i64> {
    let x = Tensor::from_data(x.to_data(), (&Device::flex(), x.dtype()));
    let samples = multinomial(x, count, Some(5), DType::I64);
    samples.into_data().iter::<i64>().collect()
}

/// Compares samples with those of the host. At most `others` may differ, at the borders between indices.
fn agree(x: Tensor<2>, count: usize, others: usize) {
    let expected = on_cpu(&x, count);
    let rows = x.dims()[0];
    let samples = with_reads(0, || multinomial(x, count, Some(5), DType::I32));
    assert_eq!(samples.dims(), [rows, count]);
    let samples: Vec<i64> = samples.into_data().iter::<i64>().collect();
    let different = samples.iter().zip(&expected).filter(|(a, b)| a != b);
    assert!(different.count() <= others);
}

#[test]
fn draws_of_every_size() {
    on_each(|| {
        for classes in [1, 2, 63, 1025, 30_000] {
            for (rows, count) in [(1, 1), (3, 50)] {
                let x = noise::<2>([rows, classes], 7).mul_scalar(3.0);
                agree(x, count, 1);
            }
        }
        agree(noise([2, 5], 3), 4000, 2);
        agree(noise([5, 2], 3).transpose(), 40, 0);
        for (rows, count) in [(0, 4), (3, 0)] {
            let x = float(TensorData::new(vec![0f32; rows * 2], [rows, 2]));
            agree(x, count, 0);
        }
    });
}

#[test]
fn impossible_outcomes_are_never_drawn() {
    on_each(|| {
        let classes = 20_000;
        let values = (0..classes).map(|at| match at % 397 {
            5 => (at % 11) as f32,
            _ => f32::NEG_INFINITY,
        });
        let x = TensorData::new(values.collect::<Vec<f32>>(), [1, classes]);
        let samples = with_reads(0, || multinomial(float(x), 5000, None, DType::I32));
        let mut samples = samples.into_data().iter::<i64>().collect::<Vec<_>>();
        assert!(samples.iter().all(|sample| sample % 397 == 5));
        samples.sort_unstable();
        samples.dedup();
        assert!(samples.len() > 10, "{samples:?}");
    });
}

#[test]
fn logarithms_of_half_precision() {
    on_each(|| {
        if has(DType::F16) {
            agree(noise([2, 9], 4).cast(FloatDType::F16), 100, 1);
        }
    });
}

#[test]
fn nan_rows_yield_a_valid_index() {
    on_each(|| {
        let x = Tensor::<2>::full([2, 3], f32::NAN, &device());
        let samples = multinomial(x, 4, Some(1), DType::I32);
        let samples = samples.into_data();
        assert!(samples.iter::<i64>().all(|sample| (0..3).contains(&sample)));
    });
}
