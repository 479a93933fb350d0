//! Microkernels: tiles of matrix products, with their accumulators in registers.
//!
//! A tile has at most MR rows and NR columns of a product of the operands A and B. [`Multiply`] is its loop over the depth K:
//! over floats ([`FloatOperands`]), bytes ([`ByteOperands`]) or packed weights (`bits`). An [`Epilogue`] converts the
//! accumulators and writes the columns that are outputs. [`Tile`] joins the two for each number of rows and columns and each
//! instruction set.
//!
//! A is packed: the values of all rows of a panel for one k are contiguous. The rows of B are at [`RowOffsets`], so that the
//! same loop reads packed panels, matrices in place and the taps of a convolution.

mod byte_epilogue;
mod bytes;
mod epilogue;
mod floats;
mod narrow;
mod offsets;
mod row_blocks;

use std::mem::MaybeUninit;

use super::{
    memory::{SliceWriter, Unwritten, Written},
    simd::{Floats, Ints, Isa, LaneMask},
};
pub use byte_epilogue::{ByteEpilogue, Conversion, Factor};
pub use bytes::ByteOperands;
pub use epilogue::{Addend, Bias, Bounds, FloatEpilogue};
pub use floats::FloatOperands;
pub use narrow::narrow_columns;
pub use offsets::{RowOffsets, even_rows};
pub use row_blocks::write_row_blocks;

/// Number of floats in a cache line.
pub const F32_PER_CACHE_LINE: usize = 16;

/// Maximum number of accumulators: those of a tile of 14 rows and two of the widest registers.
const MAX_TILE_LEN: usize = 14 * 2 * 16;

/// A part of a matrix product that is computed in registers.
#[derive(Clone, Copy)]
pub struct Tile<M, E> {
    pub rows: usize,
    /// Number of registers of columns.
    pub registers: usize,
    /// Mask of the lanes that are output columns, which are contiguous in the output.
    pub columns: u128,
    pub operands: M,
    pub epilogue: E,
}

/// Accumulator of a tile.
pub trait Accumulator<I: Isa>: Copy + 'static {
    type Register: Copy;

    fn zero(isa: I) -> Self::Register;

    fn load(isa: I, from: &[Self]) -> Self::Register;

    fn write(register: Self::Register, to: &mut [MaybeUninit<Self>]) -> &mut [Self];
}

/// Operands of a tile, and their product.
pub trait Multiply<I: Isa> {
    type Sum: Accumulator<I>;

    /// Maximum number of rows of a tile.
    const MR: usize;
    /// Maximum number of registers of columns.
    const REGISTERS: usize = usize::MAX;

    /// Adds the products of `ROWS` rows with `REGISTERS` registers of columns to accumulators that are 0.
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &mut [[<Self::Sum as Accumulator<I>>::Register; REGISTERS]; ROWS],
    );
}

/// Conversion of the accumulators of a tile to elements of the output.
pub trait Epilogue<I: Isa, S: Accumulator<I>>: Copy {
    type Element: Copy;

    /// Writes all output columns of a tile.
    fn write<'a, const REGISTERS: usize, const WHOLE: bool>(
        self,
        isa: I,
        sums: TileSums<'_, S, REGISTERS, WHOLE>,
        out: Unwritten<'a, Self::Element>,
    ) -> Written<'a, Self::Element>;
}

/// Accumulators of a tile. If it is `WHOLE`, all columns of its registers are output columns.
#[derive(Clone, Copy)]
pub struct TileSums<'a, S, const REGISTERS: usize, const WHOLE: bool> {
    rows: usize,
    /// The lanes of all registers of the first row, then those of the next one.
    sums: &'a [S],
    /// The lanes of each register that are output columns, unless the tile is whole.
    masks: [LaneMask; REGISTERS],
}

/// Position of a register's first lane in a tile.
#[derive(Clone, Copy, Default)]
pub struct TilePosition {
    pub row: usize,
    /// Number of lanes before it.
    pub lane: usize,
    /// Number of output columns before it.
    pub column: usize,
}

impl<I: Isa> Accumulator<I> for f32 {
    type Register = I::Floats;

    #[inline(always)]
    fn zero(isa: I) -> I::Floats {
        isa.splat(0.0)
    }

    #[inline(always)]
    fn load(isa: I, from: &[Self]) -> I::Floats {
        isa.load(from)
    }

    #[inline(always)]
    fn write(register: I::Floats, to: &mut [MaybeUninit<Self>]) -> &mut [Self] {
        register.write(to)
    }
}

impl<I: Isa> Accumulator<I> for i32 {
    type Register = I::Ints;

    #[inline(always)]
    fn zero(isa: I) -> I::Ints {
        isa.splat_int(0)
    }

    #[inline(always)]
    fn load(isa: I, from: &[Self]) -> I::Ints {
        isa.load_ints(from)
    }

    #[inline(always)]
    fn write(register: I::Ints, to: &mut [MaybeUninit<Self>]) -> &mut [Self] {
        register.write_all(to)
    }
}

/// Runs the microkernel that is compiled for the tile's numbers of rows and registers.
macro_rules! run_compiled {
    ($isa:ident, $tile:ident, $out:ident, $(($rows:literal, $registers:literal))*) => {
        match ($tile.rows, $tile.registers) {
            $(($rows, $registers) => {
                $isa.call(#[inline(always)] || $tile.compute::<_, $rows, $registers>($isa, $out))
            })*
            (rows, registers) => panic!("no microkernel has {rows} rows and {registers} registers"),
        }
    };
    // With one and two registers for each number of rows, and with four for one row.
    ($isa:ident, $tile:ident, $out:ident, $($rows:literal)*) => {
        run_compiled!($isa, $tile, $out, $(($rows, 1) ($rows, 2))* (1, 4))
    };
}

impl<M, E> Tile<M, E> {
    /// Computes the tile and writes it to `out`, which has as many rows and columns.
    #[inline(always)]
    fn run_on<'a, I: Isa>(&self, isa: I, out: Unwritten<'a, E::Element>) -> Written<'a, E::Element>
    where
        M: Multiply<I>,
        E: Epilogue<I, M::Sum>,
    {
        run_compiled!(isa, self, out, 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    }

    /// The same for operands with microkernels of one register of columns and 1, 2, 4 and 8 rows, and of one row and 2 and 4
    /// registers.
    #[inline(always)]
    pub fn run_rows<'a, I: Isa>(&self, isa: I, out: Unwritten<'a, E::Element>) -> Written<'a, E::Element>
    where
        M: Multiply<I>,
        E: Epilogue<I, M::Sum>,
    {
        run_compiled!(isa, self, out, (1, 1)(1, 2)(1, 4)(2, 1)(4, 1)(8, 1))
    }

    /// The microkernel for `ROWS` rows and `REGISTERS` registers of columns.
    #[inline(always)]
    fn compute<'a, I: Isa, const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        out: Unwritten<'a, E::Element>,
    ) -> Written<'a, E::Element>
    where
        M: Multiply<I>,
        E: Epilogue<I, M::Sum>,
    {
        // Lets the compiler leave out the code below for larger tiles than operands have.
        assert!(ROWS <= M::MR && REGISTERS <= M::REGISTERS);
        let mut sums = [[M::Sum::zero(isa); REGISTERS]; ROWS];
        self.operands.add_products(isa, &mut sums);
        // All rows are stored at once: if the epilogue read one row of registers after another, the compiler
        // would keep the accumulators in memory in the loop over the depth too.
        let mut stored = [const { MaybeUninit::uninit() }; MAX_TILE_LEN];
        let mut writer = SliceWriter::new(&mut stored[..ROWS * REGISTERS * I::LANES]);
        for sums in &sums {
            for sum in sums {
                writer.write(
                    I::LANES,
                    #[inline(always)]
                    |lanes| M::Sum::write(*sum, lanes),
                );
            }
        }
        self.finish::<I, M::Sum, REGISTERS>(isa, writer.finish(), out)
    }

    /// Applies the epilogue to the accumulators.
    #[inline(always)]
    fn finish<'a, I: Isa, S: Accumulator<I>, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &[S],
        out: Unwritten<'a, E::Element>,
    ) -> Written<'a, E::Element>
    where
        E: Epilogue<I, S>,
    {
        let rows = self.rows;
        // Code of its own for whole registers has no masks.
        if self.columns == (1 << (REGISTERS * I::LANES)) - 1 {
            let masks = [LaneMask::new(0); REGISTERS];
            self.epilogue.write(isa, TileSums::<_, _, true> { rows, sums, masks }, out)
        } else {
            let masks = self.masks::<I, REGISTERS>();
            self.epilogue.write(isa, TileSums::<_, _, false> { rows, sums, masks }, out)
        }
    }

    /// The lanes of each register that are output columns.
    #[inline(always)]
    fn masks<I: Isa, const REGISTERS: usize>(&self) -> [LaneMask; REGISTERS] {
        let lanes = (1u128 << I::LANES) - 1;
        let mut masks = [LaneMask::new(0); REGISTERS];
        for (register, mask) in masks.iter_mut().enumerate() {
            *mask = LaneMask::new((self.columns >> (register * I::LANES) & lanes) as u32);
        }
        masks
    }
}

impl<S, const REGISTERS: usize, const WHOLE: bool> TileSums<'_, S, REGISTERS, WHOLE> {
    /// Writes `elements_per_column` elements for each output column. `write` converts the columns of one register.
    #[inline(always)]
    pub fn write<'a, I: Isa, T: Copy>(
        self,
        isa: I,
        elements_per_column: usize,
        out: Unwritten<'a, T>,
        write: impl for<'p> Fn(S::Register, TilePosition, LaneMask, &'p mut [MaybeUninit<T>]) -> &'p mut [T],
    ) -> Written<'a, T>
    where
        S: Accumulator<I>,
    {
        let mut sums = self.sums.chunks_exact(REGISTERS * I::LANES);
        assert!(out.rows() == self.rows && sums.len() == self.rows);
        out.write_rows(
            #[inline(always)]
            |row, out| {
                let sums = sums.next().unwrap_or_default();
                let mut out = SliceWriter::new(out);
                let mut at = TilePosition { row, lane: 0, column: 0 };
                for mask in self.masks {
                    let mask = if WHOLE { LaneMask::first(I::LANES) } else { mask };
                    let register = S::load(isa, &sums[at.lane..]);
                    out.write(
                        mask.count() * elements_per_column,
                        #[inline(always)]
                        |out| write(register, at, mask, out),
                    );
                    at.lane += I::LANES;
                    at.column += mask.count();
                }
                out.finish()
            },
        )
    }
}
