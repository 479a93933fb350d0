//! Dtypes in which devices store and compute values.

use burn::tensor::{DType, Device, FloatDType, Tensor};

use crate::backend::Runtime;

/// Returns the dtype in which `device` computes values of `dtype`: the same one if it is supported, otherwise the nearest.
///
/// i64 becomes i32, u64 u32, 8- and 16-bit integers 32-bit ones, f64, f16 and bf16 f32, and a boolean the device's own. Digits of
/// i64, u64 and f64 beyond 32 bits are lost. CPUs compute 16-bit floats in f32, and wgpu 64-bit floats.
#[inline(never)]
pub fn lowered(device: &Device, dtype: DType) -> DType {
    if Runtime::of(device).computes(dtype) { stored(device, dtype) } else { DType::F32 }
}

/// Returns the dtype in which `device` stores values of `dtype`, as callers pass and receive them:
/// [`lowered`], except that CPUs store 16-bit floats.
#[inline(never)]
pub fn stored(device: &Device, dtype: DType) -> DType {
    let stand_in = match dtype {
        DType::I64 | DType::I16 | DType::I8 => DType::I32,
        DType::U64 | DType::U16 | DType::U8 => DType::U32,
        DType::F64 | DType::F16 | DType::BF16 => DType::F32,
        DType::Bool(_) => device.settings().bool_dtype.into(),
        _ => return dtype,
    };
    if device.supports_dtype(dtype) && Runtime::of(device).stores(dtype) { dtype } else { stand_in }
}

/// Casts a tensor to the dtype in which its device computes values of `dtype`.
pub fn computed<const D: usize>(x: Tensor<D>, dtype: DType) -> Tensor<D> {
    let dtype: FloatDType = lowered(&x.device(), dtype).into();
    x.cast(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, on_cpu};

    #[test]
    fn the_cpu_has_every_number_type() {
        let device = Device::flex();
        let all = [
            DType::F64,
            DType::F32,
            DType::F16,
            DType::BF16,
            DType::I64,
            DType::I32,
            DType::I16,
            DType::I8,
            DType::U64,
            DType::U32,
            DType::U16,
            DType::U8,
        ];
        for dtype in all {
            assert_eq!(stored(&device, dtype), dtype);
        }
    }

    #[test]
    fn the_cpu_computes_floats_of_16_bits_in_single_precision() {
        if !on_cpu("it is about the CPU") {
            return;
        }
        let device = Device::flex();
        for dtype in [DType::F16, DType::BF16] {
            assert_eq!(lowered(&device, dtype), DType::F32);
            assert_eq!(computed(float::<1>([1f32]), dtype).dtype(), DType::F32);
        }
        for dtype in [DType::F64, DType::F32, DType::I64, DType::U8] {
            assert_eq!(lowered(&device, dtype), dtype);
        }
    }
}
