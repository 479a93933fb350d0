//! Elements changed where they are, row after row.

use std::ops::Range;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use super::{
    copy::dense,
    memory::{Output, Target},
    threads::side_by_side,
    widened,
};

/// Elements that one thread takes at least, where there are several threads.
const SHARE: usize = 1 << 15;

/// `x`, which is not of double precision, with its rows of `length` changed by `run` in single precision.
///
/// `run` gets some rows at a time, and how many elements are before them.
pub fn in_place(
    x: FlexTensor,
    length: usize,
    run: impl Fn(usize, &mut [f32]) + Send + Sync,
) -> FlexTensor {
    let dtype = x.dtype();
    assert_ne!(dtype, DType::F64, "double precision has primitives");
    let y = changed(dense(widened(x)), |target, fetch| {
        fetched(target, length, fetch, run);
    });
    if dtype == DType::F32 {
        y
    } else {
        Flex::float_cast(y, dtype.into())
    }
}

/// `x`, whose elements follow one another, with what `run` makes of them: in the same memory where no other tensor has it,
/// else in memory of which `run` fetches each part before it changes it.
pub fn changed(
    mut x: FlexTensor,
    run: impl FnOnce(Target, &(dyn Fn(Range<usize>) + Send + Sync)),
) -> FlexTensor {
    let (first, count) = (x.layout().start_offset(), x.layout().num_elements());
    if let Some(elements) = x.try_storage_mut::<f32>() {
        run(Target::of(&mut elements[first..][..count]), &|_| {});
        return x;
    }
    let values = &x.storage::<f32>()[first..][..count];
    let y = Output::filled(count, |out| {
        run(out, &|part| {
            let values = &values[part.clone()];
            let to = out.part(part.start, values.len()).at(0);
            // SAFETY: the part has as many elements, and is another memory.
            unsafe { to.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        });
    });
    y.tensor(x.shape())
}

/// Runs over parts of whole rows of `length`, on several threads where it is worth it.
pub fn by_rows(elements: &mut [f32], length: usize, run: impl Fn(usize, &mut [f32]) + Send + Sync) {
    fetched(Target::of(elements), length, |_| {}, run);
}

/// The same over the elements of a target, each part once `fetch` has written it.
fn fetched(
    target: Target,
    length: usize,
    fetch: impl Fn(Range<usize>) + Send + Sync,
    run: impl Fn(usize, &mut [f32]) + Send + Sync,
) {
    let count = target.length();
    let part = if count < 2 * SHARE {
        count.max(1)
    } else {
        SHARE.next_multiple_of(length)
    };
    side_by_side(count.div_ceil(part), |at| {
        let first = at * part;
        let rows = first..count.min(first + part);
        fetch(rows.clone());
        // SAFETY: the elements are written, and no other thread has those of this part.
        run(first, unsafe { target.written(first, rows.len()) });
    });
}
