//! BitCast between floats and integers.
//!
//! Burn has no such operation: the host reads the bits.

use alloc::vec::Vec;
use burn::tensor::{DType, Int, Tensor, TensorData};

use crate::{
    dtype::lowered,
    quantize::{float8, small::Small},
    reader::{Blocking, Reader, Waiting, now},
};

/// Returns the bits of floats of dtype `from` as integers of dtype `to`, which has the same width.
#[inline(never)]
pub fn float_to_int<const D: usize>(x: Tensor<D>, from: DType, to: DType) -> Tensor<D, Int> {
    now(float_to_int_by(x, from, to, Blocking))
}

/// Async version of [`float_to_int`].
pub async fn float_to_int_async<const D: usize>(x: Tensor<D>, from: DType, to: DType) -> Tensor<D, Int> {
    float_to_int_by(x, from, to, Waiting).await
}

async fn float_to_int_by<const D: usize>(
    x: Tensor<D>,
    from: DType,
    to: DType,
    reader: impl Reader,
) -> Tensor<D, Int> {
    let device = x.device();
    let data = recast(reader.read(x).await, from, to);
    Tensor::from_data(data, (&device, lowered(&device, to)))
}

/// Returns the floats of dtype `to` whose bits are integers of dtype `from`, which has the same width.
#[inline(never)]
pub fn int_to_float<const D: usize>(x: Tensor<D, Int>, from: DType, to: DType) -> Tensor<D> {
    now(int_to_float_by(x, from, to, Blocking))
}

/// Async version of [`int_to_float`].
pub async fn int_to_float_async<const D: usize>(x: Tensor<D, Int>, from: DType, to: DType) -> Tensor<D> {
    int_to_float_by(x, from, to, Waiting).await
}

async fn int_to_float_by<const D: usize>(
    x: Tensor<D, Int>,
    from: DType,
    to: DType,
    reader: impl Reader,
) -> Tensor<D> {
    let device = x.device();
    let data = recast(reader.read(x).await, from, to);
    Tensor::from_data(data, (&device, lowered(&device, to)))
}

/// Returns the bits of small floats, stored in f32, as bytes. All NaNs of a type become the same one.
#[inline(never)]
pub fn small_to_int<const D: usize>(x: Tensor<D>, small: Small) -> Tensor<D, Int> {
    now(small_to_int_by(x, small, Blocking))
}

/// Async version of [`small_to_int`].
pub async fn small_to_int_async<const D: usize>(x: Tensor<D>, small: Small) -> Tensor<D, Int> {
    small_to_int_by(x, small, Waiting).await
}

async fn small_to_int_by<const D: usize>(x: Tensor<D>, small: Small, reader: impl Reader) -> Tensor<D, Int> {
    let (device, dims) = (x.device(), x.dims());
    let x = reader.read(x).await;
    let decode = decoder(small);
    let values: Vec<f32> = (0..=255).map(decode).collect();
    let code = |value: f32| {
        let same = |found: &f32| found.to_bits() == value.to_bits() || found.is_nan() && value.is_nan();
        values.iter().position(same).unwrap_or_default() as u8
    };
    let codes: Vec<u8> = x.iter::<f32>().map(code).collect();
    let data = TensorData::new(codes, dims);
    Tensor::from_data(data, (&device, lowered(&device, DType::U8)))
}

/// Returns the small floats, stored in f32, whose bits are these bytes.
#[inline(never)]
pub fn int_to_small<const D: usize>(x: Tensor<D, Int>, small: Small) -> Tensor<D> {
    now(int_to_small_by(x, small, Blocking))
}

/// Async version of [`int_to_small`].
pub async fn int_to_small_async<const D: usize>(x: Tensor<D, Int>, small: Small) -> Tensor<D> {
    int_to_small_by(x, small, Waiting).await
}

async fn int_to_small_by<const D: usize>(x: Tensor<D, Int>, small: Small, reader: impl Reader) -> Tensor<D> {
    let (device, dims) = (x.device(), x.dims());
    let decode = decoder(small);
    let codes = reader.read(x).await;
    let codes = codes.iter::<i64>().map(|code| decode(code as u8)).collect::<Vec<f32>>();
    Tensor::from_data(TensorData::new(codes, dims), (&device, DType::F32))
}

/// Reinterprets the bytes as another dtype.
fn recast(data: TensorData, from: DType, to: DType) -> TensorData {
    let data = data.convert_dtype(from);
    let shape = data.shape().clone();
    TensorData::from_bytes(data.into_bytes(), shape, to)
}

fn decoder(small: Small) -> fn(u8) -> f32 {
    match small {
        Small::E4M3Fn => float8::e4m3fn,
        Small::E4M3Fnuz => float8::e4m3fnuz,
        Small::E5M2 => float8::e5m2,
        Small::E5M2Fnuz => float8::e5m2fnuz,
        Small::E2M1 => float8::e2m1,
        Small::E8M0(_) => float8::e8m0,
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::quantize::small::Toward;
    use crate::testing::{float, has_all, int, same};

    #[test]
    fn bits_of_every_width_survive() {
        if !has_all(&[DType::F64, DType::U16]) {
            return;
        }
        let x = [1.5f32, -0.0, f32::NAN, f32::INFINITY, 1e-45];
        let bits = x.map(|x| x.to_bits() as i32);
        same(float_to_int(float::<1>(x), DType::F32, DType::I32), bits);
        same(float_to_int(float::<1>(x), DType::F32, DType::U32), x.map(f32::to_bits));
        let back = int_to_float(int::<1>(bits), DType::I32, DType::F32);
        same(back.is_nan(), [false, false, true, false, false]);
        let x = [1e300f64, -2.0];
        let bits = x.map(|x| x.to_bits() as i64);
        same(float_to_int(float::<1>(x), DType::F64, DType::I64), bits);
        same(int_to_float(int::<1>(bits), DType::I64, DType::F64), x);
        let x = [f16::from_f32(0.1), f16::MAX];
        same(float_to_int(float::<1>(x), DType::F16, DType::U16), x.map(f16::to_bits));
        let x = [bf16::from_f32(0.1), bf16::NEG_INFINITY];
        let bits = x.map(|x| x.to_bits() as i16);
        same(float_to_int(float::<1>(x), DType::BF16, DType::I16), bits);
        let back = int_to_float(int::<1>(bits), DType::I16, DType::BF16);
        same(back, x.map(f32::from));
    }

    #[test]
    fn small_floats_have_the_bits_of_their_type() {
        if !has_all(&[DType::U8]) {
            return;
        }
        use Small::*;
        let smalls = [E4M3Fn, E4M3Fnuz, E5M2, E5M2Fnuz, E8M0(Toward::Up)];
        for small in smalls {
            let all: Vec<u8> = (0..=255).collect();
            let codes = int::<1>(TensorData::new(all.clone(), [256]));
            let values = int_to_small(codes, small);
            let nan = values.clone().is_nan().into_data();
            let back = small_to_int(values, small).into_data().try_into_vec::<u8>();
            let back = back.expect("bytes");
            for (code, nan) in all.into_iter().zip(nan.iter::<bool>()) {
                assert!(nan || back[usize::from(code)] == code, "{small:?} {code}");
            }
        }
        let x = float::<1>([-0.5f32, 6.0, 0.0]);
        same(small_to_int(x, E2M1), [9u8, 7, 0]);
        same(int_to_small(int::<1>([9u8, 7, 8]), E2M1), [-0.5f32, 6.0, -0.0]);
    }
}
