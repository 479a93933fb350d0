//! Matrix products of bytes.

use std::sync::Arc;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};

use super::corrections::{Corrections, Zeros};
use super::pack::{Left, Right};
use super::requantize::Requantization;
use super::{Operands, bytes};
use crate::flex::simd::DotInstructions;
use crate::flex::{
    copy::dense,
    memory::{Cuts, Grid, Unwritten, Written},
    packed::{Pack, pack},
    plan::{byte_grid, threads, threads_reading, tuning},
    threads::task_for_each,
    tile::{ByteEpilogue, ByteOperands, Tile},
    view::Matrix,
};
use crate::{
    backend::ByteProduct,
    spec::packed::Packed,
    spec::quantize::{Ending, Integers},
};

/// Products of the matrices of the last two axes. The axes before broadcast.
///
/// Returns `None` if the product is empty, for other element types, and for scales along rows and columns at once.
pub fn product(operands: ByteProduct<Flex>, integers: Integers) -> Option<FlexTensor> {
    let (a, b, operands) = Operands::of(operands);
    let (left, right) = (a.shape().to_vec(), b.shape().to_vec());
    let ([batches @ .., rows, inner], [before @ .., terms, columns]) = (&left[..], &right[..]) else {
        return None;
    };
    let (rows, inner, columns) = (*rows, *inner, *columns);
    if inner != *terms || inner == 0 {
        return None;
    }
    let is_one = before.iter().all(|size| *size == 1) && before.len() <= batches.len();
    if !is_one {
        return several(&a, &b, operands, &integers);
    }
    let rows = batches.iter().product::<usize>() * rows;
    if rows * columns == 0 {
        return None;
    }
    let (right, right_signed) = right_of(&b, &integers)?;
    let (requantization, zeros) = Requantization::of(operands, integers.ending, [rows, columns], right.dot)?;
    let a = dense(a);
    let (values, is_signed) = bytes(&a)?;
    // The memory may extend past the rows.
    let matrix = Matrix { rows, ..Matrix::dense(values, inner) };
    let packed = Left::of(right.dot, matrix, is_signed);
    let product = Product { left: &packed, right: &right };
    let zeros = zeros.shifted(right.dot, [is_signed, right_signed]);
    let corrections = product.corrections(&zeros, &requantization);
    let mut shape = left.clone();
    *shape.last_mut()? = columns;
    let weight = columns.saturating_mul(inner);
    let threads = threads_reading(rows.saturating_mul(weight) / tuning::bytes_per_float(), weight);
    let (output, conversion) = requantization.conversion()?;
    let epilogue = corrections.epilogue(conversion);
    let y = output.filled(shape, |out| product.run(epilogue, threads, out));
    Some(FlexTensor::from_data(y))
}

/// Products with several right matrices.
fn several(a: &FlexTensor, b: &FlexTensor, operands: Operands, integers: &Integers) -> Option<FlexTensor> {
    let (a, b) = (forward(a, true), forward(b, false));
    let (a, b) = (Matrices::of(&a)?, Matrices::of(&b)?);
    let [rows, inner] = a.sizes;
    let (columns, dot) = (b.sizes[1], DotInstructions::best());
    let mut shape = broadcast(&a.batches, &b.batches)?;
    let count: usize = shape.iter().map(|(size, _)| size).product();
    if count * rows * columns == 0 {
        return None;
    }
    let places: Vec<[usize; 2]> = (0..count).map(|at| place(at, &shape)).collect();
    let (requantization, zeros) = Requantization::of(operands, integers.ending, [rows, columns], dot)?;
    let zeros = zeros.shifted(dot, [a.is_signed, b.is_signed]);
    let (output, conversion) = requantization.conversion()?;
    let threads = threads((count * rows * columns).saturating_mul(inner) / tuning::bytes_per_float());
    // Few products run one after another, each on all threads.
    let each = if count < threads { threads } else { 1 };
    let mut sizes: Vec<usize> = shape.drain(..).map(|(size, _)| size).collect();
    sizes.extend([rows, columns]);
    let tasks = if threads == 1 || each > 1 { 1 } else { usize::MAX };
    let y = output.filled(sizes, |out| {
        let length = rows * columns * conversion.size();
        let grid = Grid::of_rows(Cuts::every(count, 1), length);
        let out = out.reshaped(count, length);
        out.side_by_side(grid, tasks, |at, _, out| {
            let [left, right] = places[at];
            let product = Product {
                left: &Left::of(dot, a.matrix(left), a.is_signed),
                right: &Right::new(dot, b.matrix(right), b.is_signed),
            };
            let corrections = product.corrections(&zeros, &requantization);
            product.run(corrections.epilogue(conversion), each, out)
        })
    });
    Some(FlexTensor::from_data(y))
}

/// The matrices of the last two axes of a tensor.
struct Matrices<'a> {
    values: &'a [u8],
    is_signed: bool,
    /// Sizes and strides of the axes before.
    batches: Vec<(usize, usize)>,
    sizes: [usize; 2],
    steps: [usize; 2],
}

impl<'a> Matrices<'a> {
    /// Returns `None` for other element types.
    fn of(x: &'a FlexTensor) -> Option<Self> {
        let (values, is_signed) = bytes(x)?;
        let steps = x.layout().strides().iter().map(|step| step.unsigned_abs());
        let axes: Vec<_> = x.shape().to_vec().into_iter().zip(steps).collect();
        let (batches, [(rows, row_step), (columns, column_step)]) = axes.split_last_chunk()?;
        Some(Self {
            values,
            is_signed,
            batches: batches.to_vec(),
            sizes: [*rows, *columns],
            steps: [*row_step, *column_step],
        })
    }

    /// The matrix that begins at an offset.
    fn matrix(&self, place: usize) -> Matrix<'a, u8> {
        let ([rows, columns], [row_step, column_step]) = (self.sizes, self.steps);
        Matrix { values: self.values.get(place..).unwrap_or(&[]), rows, columns, row_step, column_step }
    }
}

/// The tensor without negative strides and, if `by_rows`, with contiguous rows.
fn forward(x: &FlexTensor, by_rows: bool) -> FlexTensor {
    let steps = x.layout().strides();
    let is_forward = steps.iter().all(|step| *step >= 0);
    if is_forward && (!by_rows || steps.last() == Some(&1)) { x.clone() } else { dense(x.clone()) }
}

/// Broadcast sizes of the axes of two tensors, and the strides of both.
fn broadcast(left: &[(usize, usize)], right: &[(usize, usize)]) -> Option<Vec<(usize, [usize; 2])>> {
    let rank = left.len().max(right.len());
    let axis = |of: &[(usize, usize)], axis: usize| {
        let (size, step) = (axis + of.len()).checked_sub(rank).map_or((1, 0), |at| of[at]);
        (size, if size == 1 { 0 } else { step })
    };
    let axes = (0..rank).map(|at| match (axis(left, at), axis(right, at)) {
        ((a, from), (b, to)) if a == b || b == 1 => Some((a, [from, to])),
        ((1, from), (b, to)) => Some((b, [from, to])),
        _ => None,
    });
    axes.collect()
}

/// Offsets of both matrices of a product.
fn place(at: usize, shape: &[(usize, [usize; 2])]) -> [usize; 2] {
    let mut rest = at;
    shape.iter().rev().fold([0; 2], |[left, right], (size, steps)| {
        let along = rest % size;
        rest /= size;
        [left + along * steps[0], right + along * steps[1]]
    })
}

/// Packs the right matrix before the first product.
pub fn pack_matrix(weight: FlexTensor, packed: Packed) -> FlexTensor {
    let integers = Integers { ending: Ending::Sums, packed: Some(packed) };
    if weight.shape().num_elements() > 0 {
        // Other element types are not packed.
        right_of(&weight, &integers);
    }
    weight
}

/// The packed right matrix, and whether its bytes are signed.
fn right_of(b: &FlexTensor, integers: &Integers) -> Option<(Arc<Right>, bool)> {
    let is_signed = bytes(b)?.1;
    let make = |right: fn(DotInstructions, Matrix<'_, u8>, bool) -> Right| {
        let b = forward(b, false);
        let matrix = Matrices::of(&b)?.matrix(0);
        Some(Arc::new(right(DotInstructions::best(), matrix, is_signed)))
    };
    let right = match &integers.packed {
        None => make(Right::new)?,
        Some(packed) => {
            let fits = |pack: &Pack| matches!(pack, Pack::ByteRight(_));
            let make = || make(Right::of_weight).map(Pack::ByteRight);
            match pack(Some(packed), b, fits, make)? {
                Pack::ByteRight(right) => right,
                _ => return None,
            }
        }
    };
    Some((right, is_signed))
}

/// Both matrices, packed.
struct Product<'a> {
    left: &'a Left,
    right: &'a Right,
}

impl Product<'_> {
    fn corrections(&self, zeros: &Zeros, requantization: &Requantization) -> Corrections {
        let sums = [&self.left.sums[..], &self.right.sums];
        Corrections::new(zeros, sums, self.right.inner, &requantization.bias)
    }

    fn run<'a>(&self, epilogue: ByteEpilogue<'_>, threads: usize, out: Unwritten<'a, u8>) -> Written<'a, u8> {
        let (left, right, size) = (self.left, self.right, epilogue.conversion.size());
        let (rows, columns) = (left.rows, right.columns);
        let grid = byte_grid([rows, columns], size, left.panel_rows, right.dot.nr(), threads);
        let (tasks, ahead) = (task_for_each(threads), tuning::prefetch_distance());
        let out = out.reshaped(rows, columns * size);
        out.side_by_side(grid, tasks, |_, spot, out| {
            let first = spot.columns.start / size;
            let count = spot.columns.len() / size;
            out.in_rows(left.panel_rows, |at, out| {
                let row = spot.rows.start + at;
                let operands = ByteOperands {
                    left: left.rows(row..row + out.rows()),
                    right: right.panel(first),
                    offsets: &right.offsets,
                    ahead,
                };
                let tile = Tile {
                    rows: out.rows(),
                    registers: count.div_ceil(right.dot.lanes()),
                    columns: (1 << count) - 1,
                    operands,
                    epilogue: epilogue.from(row, first),
                };
                tile.run(right.dot, out)
            })
        })
    }
}
