//! Which dtype a device stores and computes values in.

use burn::tensor::{DType, Device, FloatDType, Tensor};

use crate::backend::Runtime;

/// The dtype that computes with values of `dtype` on `device`: the same one where the device computes in it, else the nearest that
/// it has.
///
/// i64 becomes i32, u64 u32, the 8- and 16-bit integers their 32-bit kin, f64, f16 and bf16 f32, and a boolean the device's own.
/// What i64, u64 and f64 hold beyond 32 bits is lost. CPUs compute floats of 16 bits in f32, and wgpu those of 64.
#[inline(never)]
pub fn lowered(device: &Device, dtype: DType) -> DType {
    if Runtime::of(device).computes(dtype) {
        stored(device, dtype)
    } else {
        DType::F32
    }
}

/// The dtype that stores values of `dtype` on `device`, as callers give and get them; [`lowered`] but for floats of 16 bits on
/// CPUs.
#[inline(never)]
pub fn stored(device: &Device, dtype: DType) -> DType {
    let stand_in = match dtype {
        DType::I64 | DType::I16 | DType::I8 => DType::I32,
        DType::U64 | DType::U16 | DType::U8 => DType::U32,
        DType::F64 | DType::F16 | DType::BF16 => DType::F32,
        DType::Bool(_) => device.settings().bool_dtype.into(),
        _ => return dtype,
    };
    if device.supports_dtype(dtype) && Runtime::of(device).stores(dtype) {
        dtype
    } else {
        stand_in
    }
}

/// The tensor in the dtype that computes with values of `dtype` on its device.
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
