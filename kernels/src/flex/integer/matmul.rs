//! Products of matrices of bytes.

use std::sync::Arc;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};

use super::along::Along;
use super::dot::Dot;
use super::pack::{Left, Matrix, Right};
use super::result::{Result, Target};
use super::tile::{End, Outcome, Tile};
use super::{Operands, bytes};
use crate::flex::{
    gemm::{panels, threads},
    memory::side_by_side,
    packed::Pack,
    view::dense,
};
use crate::{
    backend::{ByteProduct, Optional},
    quantize::Integers,
};

/// Products of bytes in the time of one of floats.
const BYTES: usize = 4;

/// The product of matrices of the last two axes, of which the right one is the same for all of the left; `None` for
/// other products, what is not of bytes, and what has numbers along rows and columns at once.
pub fn matmul(operands: ByteProduct<Flex>, integers: Integers) -> Option<FlexTensor> {
    let (a, b, operands) = Operands::of(operands);
    let (left, right) = (a.shape().to_vec(), b.shape().to_vec());
    let ([batches @ .., rows, inner], [before @ .., terms, columns]) = (&left[..], &right[..])
    else {
        return None;
    };
    let is_one = before.iter().all(|size| *size == 1) && before.len() <= batches.len();
    let rows = batches.iter().product::<usize>() * rows;
    let (inner, columns) = (*inner, *columns);
    if !is_one || inner != *terms || rows * inner * columns == 0 {
        return None;
    }
    let a = dense(a);
    let (values, is_signed) = bytes(&a)?;
    let left_matrix = Matrix {
        values,
        rows,
        columns: inner,
        row_step: inner,
        column_step: 1,
        is_signed,
    };
    let (right, right_signed) = right_of(&b, &integers)?;
    let packed = Left::of(right.dot, left_matrix);
    let shift = if is_signed { 0 } else { -128 };
    let operand = Operand {
        left: &packed,
        right: &right,
        shifts: [shift, if right_signed { 128 } else { 0 }],
    };
    let mut shape = left;
    *shape.last_mut()? = columns;
    operand.multiply(operands, integers, shape)
}

/// The right side in tiles, and whether it is of signed bytes.
fn right_of(b: &FlexTensor, integers: &Integers) -> Option<(Arc<Right>, bool)> {
    let is_signed = bytes(b)?.1;
    let make = || {
        let rank = b.rank();
        let forward = b.layout().strides()[rank - 2..]
            .iter()
            .all(|step| *step >= 0);
        let b = if forward {
            b.clone()
        } else {
            b.to_contiguous()
        };
        let (shape, steps) = (b.shape().to_vec(), b.layout().strides());
        let matrix = Matrix {
            values: bytes(&b)?.0,
            rows: shape[rank - 2],
            columns: shape[rank - 1],
            row_step: steps[rank - 2].unsigned_abs(),
            column_step: steps[rank - 1].unsigned_abs(),
            is_signed,
        };
        Some(Arc::new(Right::new(Dot::best(), matrix)))
    };
    let right = match &integers.packed {
        None => make()?,
        Some(packed) => {
            let fits = |pack: &Pack| matches!(pack, Pack::ByteRight(_));
            match packed
                .cell()
                .pack(b, fits, || make().map(Pack::ByteRight))?
            {
                Pack::ByteRight(right) => right,
                _ => return None,
            }
        }
    };
    Some((right, is_signed))
}

/// Both sides, and what their zero points are shifted by.
pub struct Operand<'a> {
    pub left: &'a Left,
    pub right: &'a Right,
    pub shifts: [i32; 2],
}

impl Operand<'_> {
    fn multiply(
        &self,
        operands: Operands,
        integers: Integers,
        shape: Vec<usize>,
    ) -> Option<FlexTensor> {
        let (rows, columns) = (self.left.rows, self.right.columns);
        let width = columns.next_multiple_of(self.right.dot.columns());
        let numbers = |tensor: Optional<_>| Along::<i32>::of(tensor.int());
        let scale = |tensor: Optional<_>| Along::<f32>::of(tensor.float());
        let [left_zero, right_zero] = operands.zeros;
        let zeros = [numbers(left_zero)?, numbers(right_zero)?];
        let (bias, float_bias) = match operands.bias {
            bias @ Optional::Float(_) => (Along::One(0), Some(scale(bias)?)),
            bias => (numbers(bias)?, None),
        };
        let [left, right, result] = operands.scales;
        let result = match result {
            Optional::None => None,
            result => Some(scale(result)?),
        };
        let factor = Along::factor(scale(left)?, scale(right)?, result)?;
        let fits = zeros.iter().chain([&bias]).all(|of| of.fits(rows, columns));
        let floats = float_bias.iter().chain([&factor]);
        if !fits || !floats.into_iter().all(|of| of.fits(rows, columns)) {
            return None;
        }
        let float_bias = match float_bias {
            None => None,
            Some(Along::One(bias)) => Some(vec![bias; width]),
            Some(Along::Columns(bias)) => Some(Along::Columns(bias).padded(width).each(width)),
            Some(Along::Rows(_)) => return None,
        };
        let factor = factor.padded(width);
        let zero = numbers(operands.zero)?;
        let (result, outcome) = Outcome::of(
            &integers.ending,
            factor.as_factor(),
            zero,
            float_bias.as_deref(),
        )?;
        let corrections = self.corrections(zeros, bias, width)?;
        let end = End {
            result: outcome,
            ..corrections.end()
        };
        Some(FlexTensor::from_data(self.run(end, result, shape)))
    }

    pub fn run(&self, end: End<'_>, result: Result, shape: Vec<usize>) -> burn::tensor::TensorData {
        let (left, right) = (self.left, self.right);
        let (rows, columns, width) = (left.rows, right.columns, right.dot.columns());
        let threads = threads((rows * columns).saturating_mul(right.inner) / BYTES);
        let part = |rows: std::ops::Range<usize>, first: usize, out: Target| {
            let count = width.min(columns - first);
            for rows in panels(rows.end, left.panel).skip(rows.start / left.panel) {
                let tile = Tile {
                    dot: right.dot,
                    left: left.rows(rows.clone()),
                    rows: rows.len(),
                    right: right.panel(first),
                    steps: &right.steps,
                    registers: count.div_ceil(right.dot.lanes()),
                    columns: (1 << count) - 1,
                };
                let place = out.place(rows.start * columns + first, columns);
                // SAFETY: the place is inside of the target, of which each part writes its own rows and columns.
                unsafe { tile.run(end.from(rows.start, first), place) };
            }
        };
        let panels = columns.div_ceil(width);
        let share = rows
            .div_ceil(threads.div_ceil(panels))
            .next_multiple_of(left.panel);
        result.filled(shape, |out| {
            let run = |unit: usize| {
                let first = unit / panels * share;
                part(first..rows.min(first + share), unit % panels * width, out);
            };
            let units = panels * rows.div_ceil(share);
            if threads == 1 {
                (0..units).for_each(run);
            } else {
                side_by_side(units, run);
            }
        })
    }

    /// What zero points add to the sums; `None` where both have several.
    pub fn corrections(
        &self,
        [left, right]: [Along<i32>; 2],
        bias: Along<i32>,
        width: usize,
    ) -> Option<Corrections> {
        let shifted = |zero: Along<i32>, shift: i32| zero.zip(Along::One(shift), i32::wrapping_add);
        let (left, right) = (
            shifted(left, self.shifts[0])?,
            shifted(right, self.shifts[1])?,
        );
        let inner = self.right.inner as i32;
        let rows = self.left.sums.iter();
        let mut all = Corrections::default();
        // (a - p) (b - q) = a b - q a + p (n q - b), in sums.
        let seen = |zero: i32, sum: i32| inner.wrapping_mul(zero).wrapping_sub(sum);
        match (left, right) {
            (Along::One(left), right) => {
                let right = right.padded(width);
                let mut columns = right.clone().each(width);
                if left != 0 {
                    for (out, sum) in columns.iter_mut().zip(&self.right.sums) {
                        *out = left.wrapping_mul(seen(*out, *sum));
                    }
                    all.columns = Some(columns);
                }
                match right {
                    Along::One(0) => {}
                    Along::One(right) => {
                        all.rows = Some(rows.map(|sum| sum.wrapping_mul(-right)).collect());
                    }
                    Along::Columns(right) => {
                        let negative = rows.map(|sum| sum.wrapping_neg()).collect();
                        all.products = Some([negative, right]);
                    }
                    Along::Rows(_) => return None,
                }
            }
            (Along::Rows(left), Along::One(right)) => {
                all.rows = Some(
                    rows.map(|sum| sum.wrapping_mul(right.wrapping_neg()))
                        .collect(),
                );
                let columns = self
                    .right
                    .sums
                    .iter()
                    .map(|sum| seen(right, *sum))
                    .collect();
                all.products = Some([left, columns]);
            }
            _ => return None,
        }
        match bias {
            Along::One(0) => {}
            Along::Rows(bias) => add(&mut all.rows, bias),
            bias => add(&mut all.columns, bias.padded(width).each(width)),
        }
        Some(all)
    }
}

/// What is added to sums, by rows and columns.
#[derive(Default)]
pub struct Corrections {
    rows: Option<Vec<i32>>,
    columns: Option<Vec<i32>>,
    products: Option<[Vec<i32>; 2]>,
}

impl Corrections {
    pub fn end(&self) -> End<'_> {
        End {
            rows: self.rows.as_deref(),
            columns: self.columns.as_deref(),
            products: self.products.as_ref().map(|[a, b]| [&a[..], &b[..]]),
            ..End::default()
        }
    }
}

fn add(all: &mut Option<Vec<i32>>, more: Vec<i32>) {
    match all {
        None => *all = Some(more),
        Some(all) => {
            for (all, more) in all.iter_mut().zip(more) {
                *all = all.wrapping_add(more);
            }
        }
    }
}
