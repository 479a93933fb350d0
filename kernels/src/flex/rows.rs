//! Elements changed where they are, row after row.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use super::{copy::dense, memory::Buffer, threads::on_chunks, widened};

/// Elements that one thread takes at least, where there are several threads.
pub const SHARE: usize = 1 << 15;

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
    let y = changed(dense(widened(x)), run);
    if dtype == DType::F32 {
        y
    } else {
        Flex::float_cast(y, dtype.into())
    }
}

/// The same memory where no other tensor has it, else a copy.
fn changed(mut x: FlexTensor, run: impl FnOnce(&mut [f32])) -> FlexTensor {
    let (first, length) = (x.layout().start_offset(), x.layout().num_elements());
    if let Some(elements) = x.try_storage_mut::<f32>() {
        run(&mut elements[first..][..length]);
        return x;
    }
    let mut y = Buffer::copied(&x.storage::<f32>()[first..][..length]);
    run(&mut y);
    y.tensor(x.shape())
}

/// Runs over parts of whole rows of `length`, on several threads where it is worth it.
pub fn by_rows(elements: &mut [f32], length: usize, run: impl Fn(&mut [f32]) + Sync + Send) {
    if elements.len() >= 2 * SHARE {
        let part = SHARE.next_multiple_of(length);
        return on_chunks(elements, part, |_, rows| run(rows));
    }
    run(elements);
}

/// Runs over parts and those of `others` at the same places, on several threads where it is worth it.
pub fn with_each(
    elements: &mut [f32],
    others: &[f32],
    run: impl Fn(&mut [f32], &[f32]) + Send + Sync,
) {
    if elements.len() >= 2 * SHARE {
        return on_chunks(elements, SHARE, |at, part| {
            run(part, &others[at * SHARE..][..part.len()]);
        });
    }
    run(elements, others);
}
