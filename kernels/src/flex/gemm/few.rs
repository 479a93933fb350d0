//! Microkernel for tiles of few columns, with rows in the lanes.

use super::tile::{Addend, Start, Tile};
use crate::flex::{
    memory::{Unwritten, Written, write_by_index},
    simd::{Floats, Isa, WIDEST, with_isa},
};

/// Maximum number of columns.
pub const FEW: usize = 4;

impl Tile<'_> {
    /// Returns true if [`Tile::run_few`] can compute the tile: its rows fit a register, and a whole register can be loaded for
    /// the last term too.
    pub fn is_narrow(&self) -> bool {
        let lanes = self.set.lanes();
        let read = self.rows * self.steps.count().saturating_sub(1) + lanes;
        let columns = self.columns.count_ones() as usize;
        self.rows <= lanes
            && lanes > 4
            && self.left.len() >= read
            && (1..=FEW).contains(&columns)
            && self.columns == (1 << columns) - 1
    }

    /// Computes the tile and writes it to `out`, which has as many rows and columns.
    pub fn run_few<'a>(self, out: Unwritten<'a>, addend: Option<Addend<'_>>) -> Written<'a> {
        let columns = self.columns.count_ones() as usize;
        assert!(self.is_narrow());
        assert!(out.rows() == self.rows && out.columns() == columns);
        let mut sums = [[0.0; WIDEST]; FEW];
        with_isa!(self.set, isa => all(isa, &self, columns, &mut sums));
        out.write_rows(|row, out| {
            write_by_index(out, |column| {
                let mut value = sums[column][row];
                value += match self.start {
                    Start::Zero => 0.0,
                    Start::Rows(bias) => bias[row],
                    Start::Columns(bias) => bias[column],
                };
                value += addend.map_or(0.0, |addend| addend.values[row * addend.stride + column]);
                match self.bounds {
                    Some(bounds) => bounds.of_one(value),
                    None => value,
                }
            })
        })
    }
}

#[inline(always)]
fn all<I: Isa>(isa: I, tile: &Tile<'_>, columns: usize, sums: &mut [[f32; WIDEST]; FEW]) {
    match columns {
        1 => some::<I, 1, 8>(isa, tile, sums),
        2 => some::<I, 2, 4>(isa, tile, sums),
        3 => some::<I, 3, 2>(isa, tile, sums),
        _ => some::<I, 4, 2>(isa, tile, sums),
    }
}

/// Sums of `C` columns, each in `P` independent parts that hide the latency of additions.
#[inline(always)]
fn some<I: Isa, const C: usize, const P: usize>(
    isa: I,
    tile: &Tile<'_>,
    out: &mut [[f32; WIDEST]; FEW],
) {
    let mut sums = [[isa.splat(0.0); C]; P];
    let mut left = tile.left;
    let (parts, rest) = tile.steps.offsets().as_chunks::<P>();
    for offsets in parts {
        for (sums, offset) in sums.iter_mut().zip(offsets) {
            add(isa, sums, left, &tile.right[*offset as usize..]);
            left = &left[tile.rows..];
        }
    }
    for offset in rest {
        add(isa, &mut sums[0], left, &tile.right[*offset as usize..]);
        left = &left[tile.rows..];
    }
    for (column, out) in out[..C].iter_mut().enumerate() {
        let mut sum = sums[0][column];
        for part in &sums[1..] {
            sum = sum + part[column];
        }
        sum.store(out);
    }
}

/// Accumulates the products of a term.
#[inline(always)]
fn add<I: Isa, const C: usize>(isa: I, sums: &mut [I::Floats; C], rows: &[f32], right: &[f32]) {
    let rows = isa.load(rows);
    for (sum, right) in sums.iter_mut().zip(&right[..C]) {
        *sum = rows.mul_add(isa.splat(*right), *sum);
    }
}
