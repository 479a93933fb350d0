//! Casts of integers to floats.

use burn::backend::{Flex, flex::FlexTensor, ops::IntTensorOps};
use burn::tensor::{DType, FloatDType, TensorData};

use super::{
    rows::by_parts,
    simd::{MulAdd, compiled_per_set},
};

/// Casts 32-bit integers to floats in place, if no other tensor reads them: accumulators of products are large.
pub fn int_to_single(x: FlexTensor) -> FlexTensor {
    let is_whole = x.is_contiguous() && x.layout().start_offset() == 0;
    if x.dtype() != DType::I32 || !is_whole || !x.is_unique() {
        return Flex::int_into_float(x, FloatDType::F32);
    }
    let (mut bytes, shape, _) = x.into_data().into_parts();
    let elements = bytemuck::cast_slice_mut(&mut bytes);
    by_parts(elements, floats);
    FlexTensor::from_data(TensorData::from_bytes(bytes, shape, DType::F32))
}

compiled_per_set! {
    /// Replaces the bits of integers by floats.
    fn floats(elements: &mut [f32]) = floats_of;
}

#[inline(always)]
fn floats_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        *x = x.to_bits() as i32 as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    #[test]
    fn integers_become_floats_in_place_or_not() {
        with_each_set(|_| {
            for length in [0, 1, 37, 100_000] {
                let values: Vec<i32> = (0..length).map(|at| (at - 7) * 20_001).collect();
                let floats: Vec<f32> = values.iter().map(|x| *x as f32).collect();
                let tensor = || FlexTensor::from_data(TensorData::new(values.clone(), [values.len()]));
                let (alone, shared) = (tensor(), tensor());
                let place = alone.bytes().as_ptr();
                let y = int_to_single(alone);
                assert!(y.storage::<f32>() == floats && y.bytes().as_ptr() == place);
                assert_eq!(int_to_single(shared.clone()).storage::<f32>(), floats);
                assert_eq!(shared.storage::<i32>(), values);
            }
        });
    }

    #[test]
    fn parts_and_other_integers() {
        let x = FlexTensor::from_data(TensorData::new(vec![1i32, 2, 3, 4, 5, 6], [2, 3]));
        let part = x.narrow(1, 1, 2);
        assert_eq!(int_to_single(part).into_data().try_into_vec::<f32>().unwrap(), [2.0, 3.0, 5.0, 6.0]);
        let x = FlexTensor::from_data(TensorData::new(vec![-1i64, 9], [2]));
        assert_eq!(int_to_single(x).storage::<f32>(), [-1.0, 9.0]);
    }
}
