//! Elements changed where they are, row after row.

use burn::backend::{Flex, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::{DType, TensorData};

use super::widened;

/// Elements that one thread takes at least, where there are several threads.
const SHARE: usize = 1 << 15;

/// `x` with its elements changed by `run` in single precision; `other` computes in double precision.
pub fn in_place(
    x: FlexTensor,
    run: impl FnOnce(&mut [f32]),
    other: impl FnOnce(FlexTensor) -> FlexTensor,
) -> FlexTensor {
    let dtype = x.dtype();
    if dtype == DType::F64 {
        return other(x);
    }
    // Takes the buffer itself where no other tensor has it.
    let mut data: TensorData = widened(x).into_data();
    match data.as_mut_slice::<f32>() {
        Ok(elements) => run(elements),
        Err(error) => panic!("{error:?}"),
    }
    let y = FlexTensor::from_data(data);
    if dtype == DType::F32 {
        y
    } else {
        Flex::float_cast(y, dtype.into())
    }
}

/// Runs over parts of whole rows of `length`, on several threads where it is worth it.
pub fn by_rows(elements: &mut [f32], length: usize, run: impl Fn(&mut [f32]) + Sync + Send) {
    if elements.len() >= 2 * SHARE {
        use rayon::prelude::*;

        let part = SHARE.next_multiple_of(length);
        return elements.par_chunks_mut(part).for_each(run);
    }
    run(elements);
}
