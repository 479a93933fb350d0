//! Random numbers: uniform, normal, Bernoulli, multinomial.
//!
//! A seed determines the result of every call on every device, because the host generates the random numbers. Without a seed,
//! results differ from call to call.

mod philox;

use alloc::vec::Vec;
use core::f64::consts::TAU;
use core::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::reader::{Blocking, Reader, Waiting, now};
use crate::widen::widened;
use crate::{dtype::lowered, ensure, sizes::elements};
use philox::Philox;

/// Returns uniform floats from `low` to `high`.
#[inline(never)]
pub fn uniform<const D: usize>(
    shape: [usize; D],
    [low, high]: [f64; 2],
    seed: Option<u64>,
    dtype: DType,
    device: &Device,
) -> Tensor<D> {
    let mut random = generator(seed);
    let bits = digits(dtype).min(digits(lowered(device, dtype)));
    let value = |_| low + (high - low) * random.fraction(bits);
    let values: Vec<f64> = (0..elements(&shape, size_of::<f64>())).map(value).collect();
    tensor(values, shape, dtype, device)
}

/// Returns normally distributed floats of this mean and standard deviation.
#[inline(never)]
pub fn normal<const D: usize>(
    shape: [usize; D],
    [mean, scale]: [f64; 2],
    seed: Option<u64>,
    dtype: DType,
    device: &Device,
) -> Tensor<D> {
    let mut random = generator(seed);
    let count = elements(&shape, size_of::<f64>());
    let pairs = (0..count.div_ceil(2)).flat_map(|_| pair(&mut random));
    let values: Vec<f64> = pairs.take(count).map(|z| mean + scale * z).collect();
    tensor(values, shape, dtype, device)
}

fn tensor<const D: usize>(values: Vec<f64>, shape: [usize; D], dtype: DType, device: &Device) -> Tensor<D> {
    let computed = lowered(device, dtype);
    let data = TensorData::new(values, shape).convert_dtype(dtype);
    Tensor::from_data(data.convert_dtype(computed), (device, computed))
}

/// Returns `true` with the probability of each element.
#[inline(never)]
pub fn bernoulli<const D: usize>(probability: Tensor<D>, seed: Option<u64>) -> Tensor<D, Bool> {
    let probability = widened(probability);
    let (device, dtype) = (probability.device(), probability.dtype());
    let drawn = uniform(probability.dims(), [0.0, 1.0], seed, dtype, &device);
    drawn.lower(probability)
}

/// Returns `count` samples for each row of log-probabilities, which need not be normalized.
///
/// The host reads the rows.
#[inline(never)]
pub fn multinomial(logarithms: Tensor<2>, count: usize, seed: Option<u64>, dtype: DType) -> Tensor<2, Int> {
    now(multinomial_by(logarithms, count, seed, dtype, Blocking))
}

/// Async version of [`multinomial`].
pub async fn multinomial_async(
    logarithms: Tensor<2>,
    count: usize,
    seed: Option<u64>,
    dtype: DType,
) -> Tensor<2, Int> {
    multinomial_by(logarithms, count, seed, dtype, Waiting).await
}

async fn multinomial_by(
    logarithms: Tensor<2>,
    count: usize,
    seed: Option<u64>,
    dtype: DType,
    reader: impl Reader,
) -> Tensor<2, Int> {
    let (device, [rows, classes]) = (logarithms.device(), logarithms.dims());
    elements(&[rows, count], size_of::<f64>());
    ensure!(classes > 0 || rows * count == 0, "expected classes to sample from, found none");
    let dtype = lowered(&device, dtype);
    let values: Vec<f64> = match rows * count {
        0 => Vec::new(),
        _ => reader.read(logarithms).await.iter::<f64>().collect(),
    };
    let mut random = generator(seed);
    let mut samples = Vec::with_capacity(rows * count);
    for row in values.chunks_exact(classes.max(1)) {
        let sums = running_sums(row);
        samples.extend((0..count).map(|_| sample_index(&sums, random.fraction(53))));
    }
    let data = TensorData::new(samples, [rows, count]).convert_dtype(dtype);
    Tensor::from_data(data, (&device, dtype))
}

/// Returns each element times `1 / (1 - ratio)`, or 0 with probability `ratio`, and a mask of the kept ones.
/// Without `training` all elements are unchanged.
#[inline(never)]
pub fn dropout<const D: usize>(
    x: Tensor<D>,
    ratio: f64,
    training: bool,
    seed: Option<u64>,
) -> (Tensor<D>, Tensor<D, Bool>) {
    ensure!((0.0..1.0).contains(&ratio), "expected a ratio of at least 0 and less than 1, found {ratio}");
    let (shape, device, dtype) = (x.dims(), x.device(), x.dtype());
    if !training || ratio == 0.0 {
        return (x, Tensor::ones(shape, &device));
    }
    let drawn = uniform(shape, [0.0, 1.0], seed, DType::F32, &device);
    let kept = drawn.greater_equal_scalar(ratio);
    let x = widened(x).mul_scalar(1.0 / (1.0 - ratio));
    let mask = kept.clone().cast(burn::tensor::FloatDType::from(x.dtype()));
    ((x * mask).cast(dtype), kept)
}

/// Returns the number of binary digits of a fraction of this type, so that none rounds to 1.
fn digits(dtype: DType) -> u32 {
    match dtype {
        DType::F64 => 53,
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => 24,
    }
}

/// Box-Muller transform: two normal numbers from two fractions.
fn pair(random: &mut Philox) -> [f64; 2] {
    let length = (-2.0 * (1.0 - random.fraction(53)).ln()).sqrt();
    let (sine, cosine) = (TAU * random.fraction(53)).sin_cos();
    [length * cosine, length * sine]
}

/// Returns the cumulative probabilities, on any scale.
fn running_sums(logarithms: &[f64]) -> Vec<f64> {
    let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    let add = |value: &f64| {
        sum += (value - most).exp();
        sum
    };
    logarithms.iter().map(add).collect()
}

/// Returns the index at `fraction` of the total. Indices of probability 0 are never returned.
fn sample_index(sums: &[f64], fraction: f64) -> i64 {
    let whole = sums.last().copied().unwrap_or_default();
    let at = sums.partition_point(|&sum| sum <= fraction * whole);
    let last = sums.partition_point(|&sum| sum < whole);
    at.min(last) as i64
}

fn generator(seed: Option<u64>) -> Philox {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    Philox::new(seed.unwrap_or_else(|| seed_of(CALLS.fetch_add(1, Ordering::Relaxed))))
}

/// The keys of the hasher are random numbers of the system, if it has any.
#[cfg(feature = "std")]
fn seed_of(call: usize) -> u64 {
    use core::hash::BuildHasher;

    std::hash::RandomState::new().hash_one(call)
}

/// Returns `call`, since `core` has no source of randomness: calls within a program differ, but each run draws the
/// same numbers.
#[cfg(not(feature = "std"))]
fn seed_of(call: usize) -> u64 {
    call as u64
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::{device, float, noise, same, with_reads};

    fn mean_and_deviation(values: &[f64]) -> [f64; 2] {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        [mean, (squares.sum::<f64>() / count).sqrt()]
    }

    const COUNT: usize = 20_000;

    #[test]
    fn uniform_numbers_fill_their_range() {
        let device = Device::flex();
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            let x = uniform([COUNT], [-2.0, 4.0], Some(1), dtype, &device);
            assert_eq!(x.dtype(), lowered(&device, dtype));
            let values: Vec<f64> = x.into_data().iter::<f64>().collect();
            assert!(values.iter().all(|value| (-2.0..=4.0).contains(value)));
            let [mean, deviation] = mean_and_deviation(&values);
            let expected = 6.0 / 12f64.sqrt();
            let error = expected / (COUNT as f64).sqrt();
            assert!((mean - 1.0).abs() < 5.0 * error + 0.02, "{dtype:?} {mean}");
            assert!((deviation - expected).abs() < 0.05, "{dtype:?} {deviation}");
        }
    }

    #[test]
    fn normal_numbers_have_their_moments() {
        let x = normal([COUNT], [3.0, 0.5], Some(1), DType::F64, &Device::flex());
        let values: Vec<f64> = x.into_data().iter::<f64>().collect();
        let [mean, deviation] = mean_and_deviation(&values);
        let error = 0.5 / (COUNT as f64).sqrt();
        assert!((mean - 3.0).abs() < 5.0 * error, "{mean}");
        assert!((deviation - 0.5).abs() < 5.0 * error, "{deviation}");
        let within = values.iter().filter(|value| (*value - 3.0).abs() < 0.5);
        let share = within.count() as f64 / COUNT as f64;
        assert!((share - 0.6827).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_seed_gives_the_same_numbers_and_none_gives_others() {
        let device = Device::flex();
        let draw = |seed| normal([4], [0.0, 1.0], seed, DType::F32, &device).into_data();
        assert_eq!(draw(Some(5)), draw(Some(5)));
        assert_ne!(draw(Some(5)), draw(Some(6)));
        assert_ne!(draw(None), draw(None));
        let four = uniform([4], [0.0, 1.0], Some(0), DType::F32, &device);
        let first = 0xe169_c58d_u32 >> 8;
        let first = first as f32 / (1 << 24) as f32;
        same(four.narrow(0, 0, 1), [first]);
    }

    #[test]
    fn an_empty_shape_draws_nothing() {
        let device = Device::flex();
        assert_eq!(uniform([2, 0], [0.0, 1.0], None, DType::F32, &device).dims(), [2, 0]);
        let x = normal([0], [0.0, 1.0], None, DType::F16, &device);
        assert_eq!(x.clone().dims(), [0]);
        assert_eq!(bernoulli(x.clone(), None).dims(), [0]);
        let (y, mask) = dropout(x, 0.5, true, None);
        assert_eq!((y.dims(), mask.dims()), ([0], [0]));
    }

    #[test]
    fn certain_outcomes_are_certain() {
        let p = float::<1>([0.0f32, 1.0]).repeat_dim(0, 500);
        let drawn = bernoulli(p.clone(), None);
        same(drawn, TensorData::from([false, true].repeat(500).as_slice()));
        let half = float::<1>([0.25f64]).repeat_dim(0, COUNT);
        let hits = bernoulli(half, Some(3)).int().sum().into_scalar::<i64>();
        let error = (0.25 * 0.75 * COUNT as f64).sqrt();
        assert!((hits as f64 - 0.25 * COUNT as f64).abs() < 5.0 * error);
    }

    #[test]
    fn samples_follow_their_probabilities() {
        let never = f32::NEG_INFINITY;
        let rows = [[1f32.ln(), 3f32.ln(), never], [never, never, 800.0]];
        let drawn = multinomial(float(rows), COUNT, Some(2), DType::I32).into_data();
        assert_eq!(drawn.shape().as_slice(), [2, COUNT]);
        let samples: Vec<i64> = drawn.iter::<i64>().collect();
        let (first, second) = samples.split_at(COUNT);
        assert!(second.iter().all(|&sample| sample == 2));
        assert!(first.iter().all(|&sample| sample < 2));
        let ones = first.iter().filter(|&&sample| sample == 1).count() as f64;
        let error = (0.25 * 0.75 * COUNT as f64).sqrt();
        assert!((ones - 0.75 * COUNT as f64).abs() < 5.0 * error, "{ones}");
    }

    fn samples(x: Tensor<2>, count: usize) -> Vec<i64> {
        multinomial(x, count, Some(5), DType::I64).into_data().iter::<i64>().collect()
    }

    #[test]
    fn a_seed_samples_the_same_on_every_device() {
        let x = noise::<2>([3, 1025], 7).mul_scalar(3.0);
        let on_cpu = Tensor::from_data(x.to_data(), (&Device::flex(), x.dtype()));
        assert_eq!(samples(x, 50), samples(on_cpu, 50));
    }

    #[test]
    fn impossible_classes_among_many_are_never_sampled() {
        let logarithms =
            (0..20_000).map(|at| if at % 397 == 5 { (at % 11) as f32 } else { f32::NEG_INFINITY });
        let x = TensorData::new(logarithms.collect::<Vec<f32>>(), [1, 20_000]);
        let mut samples = samples(float(x), 5000);
        assert!(samples.iter().all(|sample| sample % 397 == 5));
        samples.sort_unstable();
        samples.dedup();
        assert!(samples.len() > 10, "{samples:?}");
    }

    #[test]
    fn rows_of_nan_have_an_index() {
        let x = Tensor::<2>::full([2, 3], f32::NAN, &device());
        assert!(samples(x, 4).into_iter().all(|sample| (0..3).contains(&sample)));
    }

    #[test]
    fn nothing_is_read_for_no_samples() {
        for (rows, count) in [(0, 4), (3, 0)] {
            let x = float(TensorData::new(vec![0f32; rows * 2], [rows, 2]));
            let y = with_reads(0, || multinomial(x, count, None, DType::I32));
            assert_eq!(y.dims(), [rows, count]);
        }
    }

    #[test]
    fn kept_elements_are_scaled() {
        let x = float::<1>([f16::from_f32(3.0)]).repeat_dim(0, COUNT);
        let (y, mask) = dropout(x.clone(), 0.75, true, Some(1));
        let kept = mask.clone().int().sum().into_scalar::<i64>() as f64;
        let error = (0.25 * 0.75 * COUNT as f64).sqrt();
        assert!((kept - 0.25 * COUNT as f64).abs() < 5.0 * error, "{kept}");
        same(y.clone().equal_elem(12.0), mask.clone().into_data());
        same(y.equal_elem(0.0), mask.bool_not().into_data());
        let (y, mask) = dropout(x.clone(), 0.75, false, None);
        same(y, x.clone().into_data());
        assert!(mask.all().into_scalar::<bool>());
        same(dropout(x.clone(), 0.0, true, None).0, x.into_data());
    }
}
