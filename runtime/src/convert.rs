//! Conversion of tensor data to another dtype or shape.

use alloc::{vec, vec::Vec};
use burn::tensor::{BoolStore, DType, Shape, TensorData};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::host::Scalar;

/// Converts each value to the nearest one of `dtype`.
///
/// Burn's own conversion panics if a value does not fit, such as `i64::MAX`, a common end of slices.
pub(crate) fn convert(data: TensorData, dtype: DType) -> TensorData {
    if data.dtype() == dtype {
        return data;
    }
    let shape = data.shape().clone();
    match dtype {
        DType::F32 if data.dtype() == DType::F16 => {
            let half_precision = owned::<f16>(data);
            let mut values = vec![0.0; half_precision.len()];
            half_precision.convert_to_f32_slice(&mut values);
            TensorData::new(values, shape)
        }
        DType::F64 => TensorData::new(elements::<f64>(data), shape),
        DType::F32 | DType::Flex32 => TensorData::new(elements::<f32>(data), shape),
        DType::F16 => TensorData::new(elements::<f16>(data), shape),
        DType::BF16 => TensorData::new(elements::<bf16>(data), shape),
        DType::I64 => TensorData::new(elements::<i64>(data), shape),
        DType::I32 => TensorData::new(elements::<i32>(data), shape),
        DType::I16 => TensorData::new(elements::<i16>(data), shape),
        DType::I8 => TensorData::new(elements::<i8>(data), shape),
        DType::U64 => TensorData::new(elements::<u64>(data), shape),
        DType::U32 => TensorData::new(elements::<u32>(data), shape),
        DType::U16 => TensorData::new(elements::<u16>(data), shape),
        DType::U8 => TensorData::new(elements::<u8>(data), shape),
        DType::Bool(BoolStore::Native) => TensorData::new(elements::<bool>(data), shape),
        // Devices that store booleans as numbers accept native booleans and convert them.
        DType::Bool(_) => TensorData::new(elements::<bool>(data), shape),
        DType::QFloat(_) => data,
    }
}

/// Returns the values as `T`, each the nearest one of `T`.
pub(crate) fn elements<T: Scalar>(data: TensorData) -> Vec<T> {
    match data.dtype() {
        dtype if dtype == T::dtype() => owned(data),
        DType::F64 => nearest::<f64, T>(data),
        DType::F32 | DType::Flex32 => nearest::<f32, T>(data),
        DType::F16 => nearest::<f16, T>(data),
        DType::BF16 => nearest::<bf16, T>(data),
        DType::I64 => nearest::<i64, T>(data),
        DType::I32 => nearest::<i32, T>(data),
        DType::I16 => nearest::<i16, T>(data),
        DType::I8 => nearest::<i8, T>(data),
        DType::U64 => nearest::<u64, T>(data),
        DType::U32 | DType::Bool(BoolStore::U32) => nearest::<u32, T>(data),
        DType::U16 => nearest::<u16, T>(data),
        DType::U8 | DType::Bool(BoolStore::U8) => nearest::<u8, T>(data),
        DType::Bool(BoolStore::Native) => nearest::<bool, T>(data),
        DType::QFloat(_) => panic!("cannot convert the elements of quantized data"),
    }
}

/// Returns the data with `rank` axes: rank 0 becomes `[1]`, and sizes that are all 1 become rank 0.
pub(crate) fn with_shape(data: TensorData, rank: usize) -> TensorData {
    let (bytes, shape, dtype) = data.into_parts();
    let shape = match (shape.len(), rank) {
        (0, 1) => Shape::from([1]),
        (_, 0) if shape.iter().all(|&size| size == 1) => Shape::from([0; 0]),
        _ => shape,
    };
    TensorData::from_bytes(bytes, shape, dtype)
}

fn nearest<S: Scalar, T: Scalar>(data: TensorData) -> Vec<T> {
    let convert = |value: S| T::nearest(value.widen());
    owned::<S>(data).into_iter().map(convert).collect()
}

fn owned<T: Scalar>(data: TensorData) -> Vec<T> {
    match data.try_into_vec() {
        Ok(values) => values,
        Err(error) => panic!("cannot read tensor data: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_become_the_nearest() {
        let data = TensorData::from([i64::MAX, i64::MIN, 5]);
        let lowered = convert(data, DType::I32);
        assert_eq!(lowered, TensorData::from([i32::MAX, i32::MIN, 5]));
    }

    #[test]
    fn floats_narrow_and_widen() {
        let data = TensorData::from([1.5f64, 1e300]);
        let narrow = convert(data, DType::F32);
        assert_eq!(narrow, TensorData::from([1.5f32, f32::INFINITY]));
        let half = TensorData::from([f16::from_f32(0.5)]);
        assert_eq!(convert(half, DType::F32), TensorData::from([0.5f32]));
    }

    #[test]
    fn a_scalar_gains_and_loses_its_axis() {
        let scalar = TensorData::new(vec![1i64], Shape::from([0; 0]));
        let vector = with_shape(scalar.clone(), 1);
        assert_eq!(vector.shape().as_slice(), [1]);
        assert_eq!(with_shape(vector, 0), scalar);
    }

    #[test]
    fn booleans_stored_as_bytes_are_read() {
        let stored = TensorData::from_bytes_vec(vec![0, 1], [2], DType::Bool(BoolStore::U8));
        assert_eq!(elements::<bool>(stored), [false, true]);
    }
}
