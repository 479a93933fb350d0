//! Products of bytes.

use super::{ByteEpilogue, Multiply, RowOffsets, Tile};
use crate::flex::{
    memory::{Unwritten, Written},
    simd::{DotInstructions, DotIsa, match_dot_isa, prefetch},
};

/// Operands of a tile of bytes, whose 32-bit sums wrap around. A word has four bytes: one for each of four k.
#[derive(Clone, Copy)]
pub struct ByteOperands<'a> {
    /// Packed panel of A: four signed bytes of each row, then the next four, as [`DotInstructions::write_row`] packs them.
    pub left: &'a [u32],
    /// B, from the tile's first column of the first four rows on.
    pub right: &'a [u32],
    pub offsets: &'a RowOffsets,
    /// Prefetch distance in words, 0 for none.
    pub ahead: usize,
}

/// Words in a cache line.
const WORDS_PER_CACHE_LINE: usize = 16;

impl Tile<ByteOperands<'_>, ByteEpilogue<'_>> {
    /// Computes the tile and writes it to `out`: the bytes of as many rows and columns.
    pub fn run<'a>(self, dot: DotInstructions, out: Unwritten<'a, u8>) -> Written<'a, u8> {
        self.epilogue.check(self.rows, self.registers * dot.lanes());
        match_dot_isa!(dot, isa => self.run_on(isa, out))
    }
}

impl<I: DotIsa> Multiply<I> for ByteOperands<'_> {
    type Sum = i32;

    const MR: usize = I::BYTE_MR;

    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &mut [[I::Ints; REGISTERS]; ROWS],
    ) {
        let lefts = self.left.chunks_exact(ROWS * I::WORDS);
        assert!(lefts.len() >= self.offsets.count());
        let (rights, _) = self.offsets.groups::<_, 1>(self.right, REGISTERS * I::LANES);
        for (right, left) in rights.zip(lefts) {
            let right = right.row(0);
            let mut columns = [isa.terms(right); REGISTERS];
            for (at, column) in columns.iter_mut().enumerate().skip(1) {
                *column = isa.terms(&right[at * I::LANES..]);
            }
            if self.ahead > 0 {
                for line in 0..(REGISTERS * I::LANES).div_ceil(WORDS_PER_CACHE_LINE) {
                    let line = self.ahead + line * WORDS_PER_CACHE_LINE;
                    prefetch::<true, _>(right.as_ptr().wrapping_add(line));
                }
            }
            isa.add_dots(sums, left, columns);
        }
    }
}
