//! Microkernel for tiles of few columns, with rows in the lanes.

use super::{FloatEpilogue, FloatOperands, Tile, offsets::even_rows};
use crate::deterministic;
use crate::flex::{
    memory::{Unwritten, Written, write_by_index},
    simd::{Floats, InstructionSet, Isa, WIDEST, with_isa},
};

/// Maximum number of columns of a narrow tile.
const NARROW_COLUMNS: usize = 4;

/// Maximum number of columns of a narrow tile of an instruction set: 0 if the rows of a tile exceed a register.
pub fn narrow_columns(set: InstructionSet) -> usize {
    if set.mr() <= set.lanes() { NARROW_COLUMNS } else { 0 }
}

/// Accumulators of a narrow tile: the rows of each column.
type Columns = [[f32; WIDEST]; NARROW_COLUMNS];

impl Tile<FloatOperands<'_>, FloatEpilogue<'_>> {
    /// Returns true if [`Tile::run_narrow`] can compute the tile: its rows fit a register, and a whole
    /// register can be loaded for the last k too.
    pub fn is_narrow(&self, set: InstructionSet) -> bool {
        let lanes = set.lanes();
        let operands = &self.operands;
        let read = self.rows * operands.offsets.count().saturating_sub(1) + lanes;
        let columns = self.columns.count_ones() as usize;
        self.rows <= lanes
            && operands.left.len() >= read
            && (1..=narrow_columns(set)).contains(&columns)
            && self.columns == (1 << columns) - 1
    }

    /// Computes the tile and writes it to `out`, which has as many rows and columns.
    pub fn run_narrow<'a>(self, set: InstructionSet, out: Unwritten<'a>) -> Written<'a> {
        let columns = self.columns.count_ones() as usize;
        assert!(self.is_narrow(set));
        assert!(out.rows() == self.rows && out.columns() == columns);
        let mut sums = [[0.0; WIDEST]; NARROW_COLUMNS];
        if deterministic::is_on() {
            with_isa!(set, isa => in_order(isa, &self.operands, self.rows, columns, &mut sums));
        } else {
            with_isa!(set, isa => multiply(isa, &self.operands, self.rows, columns, &mut sums));
        }
        out.write_rows(|row, out| {
            write_by_index(out, |column| self.epilogue.of_one(sums[column][row], row, column))
        })
    }
}

#[inline(always)]
fn multiply<I: Isa>(isa: I, operands: &FloatOperands<'_>, rows: usize, columns: usize, sums: &mut Columns) {
    match columns {
        1 => multiply_columns::<I, 1, 8>(isa, operands, rows, sums),
        2 => multiply_columns::<I, 2, 4>(isa, operands, rows, sums),
        3 => multiply_columns::<I, 3, 2>(isa, operands, rows, sums),
        _ => multiply_columns::<I, 4, 2>(isa, operands, rows, sums),
    }
}

/// The same with one accumulator for each column, as other tiles have.
#[inline(always)]
fn in_order<I: Isa>(isa: I, operands: &FloatOperands<'_>, rows: usize, columns: usize, sums: &mut Columns) {
    match columns {
        1 => multiply_columns::<I, 1, 1>(isa, operands, rows, sums),
        2 => multiply_columns::<I, 2, 1>(isa, operands, rows, sums),
        3 => multiply_columns::<I, 3, 1>(isa, operands, rows, sums),
        _ => multiply_columns::<I, 4, 1>(isa, operands, rows, sums),
    }
}

/// Sums of `COLUMNS` columns, each in `PARTS` independent accumulators that hide the latency of additions.
#[inline(always)]
fn multiply_columns<I: Isa, const COLUMNS: usize, const PARTS: usize>(
    isa: I,
    operands: &FloatOperands<'_>,
    rows: usize,
    out: &mut Columns,
) {
    let mut sums = [[isa.splat(0.0); COLUMNS]; PARTS];
    let mut left = even_rows([operands.left], operands.offsets.count(), rows, I::LANES);
    let (parts, rest) = operands.offsets.groups::<_, PARTS>(operands.right, COLUMNS);
    for right in parts {
        for (k, (sums, [left])) in sums.iter_mut().zip(&mut left).enumerate() {
            add_products(isa, sums, left, right.row(k));
        }
    }
    for ([left], right) in left.zip(rest) {
        add_products(isa, &mut sums[0], left, right);
    }
    for (column, out) in out[..COLUMNS].iter_mut().enumerate() {
        let mut sum = sums[0][column];
        for part in &sums[1..] {
            sum = sum + part[column];
        }
        sum.store(out);
    }
}

/// Adds the products of one k.
#[inline(always)]
fn add_products<I: Isa, const COLUMNS: usize>(
    isa: I,
    sums: &mut [I::Floats; COLUMNS],
    rows: &[f32],
    right: &[f32],
) {
    let rows = isa.load(rows);
    for (sum, right) in sums.iter_mut().zip(right) {
        *sum = rows.mul_add(isa.splat(*right), *sum);
    }
}
