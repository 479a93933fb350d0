//! Products of floats.

use super::{F32_PER_CACHE_LINE, FloatEpilogue, Multiply, RowOffsets, Tile};
use crate::flex::{
    memory::{Unwritten, Written},
    simd::{InstructionSet, Isa, match_isa, prefetch},
};

/// Operands of a tile of floats.
#[derive(Clone, Copy)]
pub struct FloatOperands<'a> {
    /// Packed panel of A: a value of each row for each k.
    pub left: &'a [f32],
    /// B, from the tile's first column of the first row on.
    pub right: &'a [f32],
    pub offsets: &'a RowOffsets,
    /// Operands of the next tiles: a cache line of them is prefetched for each k.
    pub next: &'a [f32],
    /// Distance of the columns of B that are prefetched, or 0.
    pub ahead: usize,
}

/// Number of k of an iteration: the instructions of the loop itself take issue slots from the multiplications. In
/// WebAssembly the compiler would load the operands of all k first, which leaves too few registers.
const UNROLL: usize = if cfg!(target_arch = "wasm32") { 1 } else { 4 };

impl Tile<FloatOperands<'_>, FloatEpilogue<'_>> {
    /// Computes the tile and writes it to `out`, which has as many rows and columns.
    pub fn run<'a>(self, set: InstructionSet, out: Unwritten<'a>) -> Written<'a> {
        match_isa!(set, isa => self.run_on(isa, out))
    }
}

impl<I: Isa> Multiply<I> for FloatOperands<'_> {
    type Sum = f32;

    const MR: usize = I::MR;

    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &mut [[I::Floats; REGISTERS]; ROWS],
    ) {
        let (rows, _) = self.left.as_chunks::<ROWS>();
        let (several_right, rest_of_right) =
            self.offsets.groups::<_, UNROLL>(self.right, REGISTERS * I::LANES);
        let (several, rest) = rows[..self.offsets.count()].as_chunks::<UNROLL>();
        // Some processors take longer for a line that is no memory than for all products of a k.
        let (mut next, step) = match self.next {
            [] => (self.right.as_ptr(), 0),
            next => (next.as_ptr(), UNROLL * F32_PER_CACHE_LINE),
        };
        for (rows, right) in several.iter().zip(several_right) {
            for (k, rows) in rows.iter().enumerate() {
                add_rank_1(isa, sums, rows, right.row(k));
                prefetch::<false, _>(next.wrapping_add(k * F32_PER_CACHE_LINE));
                // Tiles of few rows have no instructions to spare.
                if ROWS >= 4 {
                    for line in (0..REGISTERS * I::LANES).step_by(F32_PER_CACHE_LINE) {
                        prefetch::<true, _>(right.row(k).as_ptr().wrapping_add(self.ahead + line));
                    }
                }
            }
            next = next.wrapping_add(step);
        }
        for (rows, right) in rest.iter().zip(rest_of_right) {
            add_rank_1(isa, sums, rows, right);
        }
    }
}

/// Adds the products of one k.
#[inline(always)]
fn add_rank_1<I: Isa, const ROWS: usize, const REGISTERS: usize>(
    isa: I,
    sums: &mut [[I::Floats; REGISTERS]; ROWS],
    rows: &[f32; ROWS],
    right: &[f32],
) {
    let mut columns = [isa.splat(0.0); REGISTERS];
    for (at, column) in columns.iter_mut().enumerate() {
        *column = isa.load(&right[at * I::LANES..]);
    }
    isa.add_products(sums, rows, columns);
}
