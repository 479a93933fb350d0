//! In-place operations on elements.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use super::{
    copy::dense,
    memory::{Buffer, Cuts, Grid, Written},
    plan::tuning::elements_per_part,
    widened,
};

/// Modifies rows of `length` elements in f32; `x` must not be f64.
///
/// The arguments of `run` are some whole rows and the index of their first element.
pub fn in_place(x: FlexTensor, length: usize, run: impl Fn(usize, &mut [f32]) + Send + Sync) -> FlexTensor {
    let dtype = x.dtype();
    assert_ne!(dtype, DType::F64, "double precision has primitives");
    let x = dense(widened(x));
    let count = x.layout().num_elements();
    let parts = Parts::of_rows(count, length);
    let y = changed(x, [1, count], parts, run);
    if dtype == DType::F32 { y } else { Flex::float_cast(y, dtype.into()) }
}

/// Division of elements into tasks.
pub struct Parts {
    /// Parts of tasks: some rows, or columns of one row.
    pub grid: Grid<'static>,
    pub tasks: usize,
    /// Number of elements that are modified at a time.
    pub block: usize,
}

impl Parts {
    /// Divides a number of elements into whole rows of `length`.
    fn of_rows(count: usize, length: usize) -> Self {
        let share = elements_per_part();
        let step = if count < 2 * share { count.max(1) } else { share.next_multiple_of(length) };
        Self { grid: Grid::of_row(Cuts::every(count, step)), tasks: usize::MAX, block: step }
    }
}

/// Modifies parts of elements in parallel.
pub fn by_parts(elements: &mut [f32], run: impl Fn(&mut [f32]) + Send + Sync) {
    let Parts { grid, tasks, .. } = Parts::of_rows(elements.len(), 1);
    Written::of(elements).side_by_side(grid, tasks, |_, mut part| run(part.slice()));
}

/// Modifies the elements of `x`, which are contiguous: in its own memory if no other tensor uses it,
/// otherwise in new memory, to which each block is copied first.
///
/// The arguments of `run` are a block and the index of its first element. `rows` and `columns` are the sizes of the grid.
pub fn changed(
    mut x: FlexTensor,
    [rows, columns]: [usize; 2],
    parts: Parts,
    run: impl Fn(usize, &mut [f32]) + Send + Sync,
) -> FlexTensor {
    let (first, count) = (x.layout().start_offset(), x.layout().num_elements());
    let Parts { grid, tasks, block } = parts;
    if let Some(elements) = x.try_storage_mut::<f32>() {
        let all = Written::of(&mut elements[first..][..count]).reshaped(rows, columns);
        all.side_by_side(grid, tasks, |spot, mut part| {
            let first = spot.rows.start * columns + spot.columns.start;
            for (at, block_elements) in part.slice().chunks_mut(block).enumerate() {
                run(first + at * block, block_elements);
            }
        });
        return x;
    }
    let values = &x.storage::<f32>()[first..][..count];
    let y = Buffer::filled(count, |out| {
        let out = out.reshaped(rows, columns);
        out.side_by_side(grid, tasks, |_, spot, part| {
            let first = spot.rows.start * columns + spot.columns.start;
            let length = spot.rows.len() * spot.columns.len();
            part.reshaped(1, length).in_columns(block, |at, part| {
                let mut part = part.copied(&values[first + at..][..block.min(length - at)]);
                run(first + at, part.slice());
                part
            })
        })
    });
    y.tensor(x.shape())
}
