//! Which dtype stands in where a device lacks one.

use burn::tensor::{DType, Device};

/// The dtype that holds values of `dtype` on `device`: the same one where the device computes in it, else the nearest that it has.
///
/// i64 becomes i32, u64 u32, the 8- and 16-bit integers their 32-bit kin, f64, f16 and bf16 f32, and a boolean the device's own.
/// What i64, u64 and f64 hold beyond 32 bits is lost.
#[inline(never)]
pub fn lowered(device: &Device, dtype: DType) -> DType {
    let stand_in = match dtype {
        DType::I64 | DType::I16 | DType::I8 => DType::I32,
        DType::U64 | DType::U16 | DType::U8 => DType::U32,
        DType::F64 | DType::F16 | DType::BF16 => DType::F32,
        DType::Bool(_) => device.settings().bool_dtype.into(),
        _ => return dtype,
    };
    if device.supports_dtype(dtype) {
        dtype
    } else {
        stand_in
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(lowered(&device, dtype), dtype);
        }
    }
}
