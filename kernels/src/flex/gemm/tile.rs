//! Microkernel: one tile of a matrix product, held in registers.

use std::mem::MaybeUninit;

use crate::flex::{
    memory::{SliceWriter, Unwritten, Written},
    simd::prefetch,
    simd::{Floats, InstructionSet, Isa, LaneMask, match_isa},
};
use crate::spec::epilogue::Activation;

/// Offsets of the right matrix's rows (terms), in elements, relative to the first.
///
/// A table instead of a stride lets one kernel read packed panels, matrices in place and the taps of a convolution.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    offsets: Vec<u32>,
    furthest: usize,
}

/// Several rows of a right matrix that have all elements that are read.
pub struct StepRows<'a, T, const N: usize> {
    offsets: &'a [u32; N],
    right: &'a [T],
    columns: usize,
}

/// Bias that is added to the accumulators.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    Zero,
    /// An element for each row.
    Rows(&'a [f32]),
    /// An element for each output column.
    Columns(&'a [f32]),
}

/// Range to which results are clamped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub low: f32,
    pub high: f32,
}

/// A tile of at most [`Isa::TILE_ROWS`] rows and `registers` vectors of columns.
#[derive(Clone, Copy)]
pub struct Tile<'a> {
    pub set: InstructionSet,
    /// Packed panel of the left matrix: `rows` values for each term.
    pub left: &'a [f32],
    pub rows: usize,
    /// The right matrix from the tile's columns in the first term on.
    pub right: &'a [f32],
    pub steps: &'a Steps,
    pub registers: usize,
    /// Mask of the lanes that are output columns. They are stored contiguously.
    pub columns: u128,
    pub start: Start<'a>,
    pub bounds: Option<Bounds>,
    /// Data of the next tiles. Each term prefetches one cache line of it.
    pub next: &'a [f32],
}

/// Floats in a cache line.
pub const LINE: usize = 16;

/// Residual input of a tile, in the layout of the output.
#[derive(Clone, Copy)]
pub struct Addend<'a> {
    /// Begins with the first element of the tile.
    pub values: &'a [f32],
    pub stride: usize,
}

impl Steps {
    /// Returns `None` if an offset exceeds 32 bits.
    pub fn new(offsets: impl Iterator<Item = usize>) -> Option<Self> {
        let offsets: Option<Vec<u32>> = offsets.map(|at| u32::try_from(at).ok()).collect();
        let offsets = offsets?;
        let furthest = offsets.iter().copied().max().unwrap_or(0) as usize;
        Some(Self { offsets, furthest })
    }

    /// `count` rows that are `step` elements apart.
    pub fn even(count: usize, step: usize) -> Option<Self> {
        Self::new((0..count).map(|at| at * step))
    }

    /// Rows of a packed panel.
    pub fn of_panel(count: usize, width: usize) -> Self {
        match Self::even(count, width) {
            Some(steps) => steps,
            None => panic!("a panel of {count} rows is too long"),
        }
    }

    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    pub fn furthest(&self) -> usize {
        self.furthest
    }

    /// The first `columns` elements of the first `N` rows of a right matrix.
    ///
    /// # Panics
    ///
    /// If there are fewer rows, or a row has fewer elements.
    #[inline(always)]
    pub fn first_rows<'a, T, const N: usize>(
        &'a self,
        right: &'a [T],
        columns: usize,
    ) -> StepRows<'a, T, N> {
        self.check(right.len(), columns);
        match self.offsets.first_chunk() {
            Some(offsets) => StepRows {
                offsets,
                right,
                columns,
            },
            None => panic!("a matrix has fewer rows than its kernel"),
        }
    }

    /// Asserts that each row has `columns` elements.
    #[inline(always)]
    fn check(&self, length: usize, columns: usize) {
        let end = self.furthest.checked_add(columns);
        assert!(self.offsets.is_empty() || end.is_some_and(|end| end <= length));
    }

    /// The first `columns` elements of the rows of a right matrix: `N` rows at a time, and the rows that are left.
    ///
    /// # Panics
    ///
    /// If a row has fewer elements.
    #[inline(always)]
    pub fn rows<'a, T, const N: usize>(
        &'a self,
        right: &'a [T],
        columns: usize,
    ) -> (
        impl Iterator<Item = StepRows<'a, T, N>>,
        impl Iterator<Item = &'a [T]>,
    ) {
        self.check(right.len(), columns);
        let (several, rest) = self.offsets.as_chunks::<N>();
        let several = several.iter().map(
            #[inline(always)]
            move |offsets| StepRows {
                offsets,
                right,
                columns,
            },
        );
        let rest = rest.iter().map(
            #[inline(always)]
            // SAFETY: by the assertion, for an offset of the table.
            move |offset| unsafe { row_at(right, *offset, columns) },
        );
        (several, rest)
    }
}

impl<'a, T, const N: usize> StepRows<'a, T, N> {
    /// The first elements of a row.
    #[inline(always)]
    pub fn row(&self, at: usize) -> &'a [T] {
        // SAFETY: `Steps` has made this for offsets of its table, for which it has asserted that there are elements.
        unsafe { row_at(self.right, self.offsets[at], self.columns) }
    }
}

/// The first elements of a row.
///
/// A check for each row would keep the compiler from leaving the sums of a tile in registers.
///
/// # Safety
///
/// There are `columns` elements from the offset on.
#[inline(always)]
unsafe fn row_at<T>(right: &[T], offset: u32, columns: usize) -> &[T] {
    let offset = offset as usize;
    // SAFETY: the caller promises the elements.
    unsafe { right.get_unchecked(offset..offset + columns) }
}

impl Bounds {
    /// The range of an activation that clamps.
    pub fn of(activation: Activation) -> Option<Self> {
        match activation {
            Activation::Relu => Some(Self {
                low: 0.0,
                high: f32::INFINITY,
            }),
            Activation::Clip(low, high) => Some(Self {
                low: low as f32,
                high: high as f32,
            }),
            _ => None,
        }
    }

    /// Clamps a number; NaN stays.
    pub fn of_one(self, value: f32) -> f32 {
        if value < self.low {
            self.low
        } else if value > self.high {
            self.high
        } else {
            value
        }
    }
}

/// Calls the microkernel that is compiled for the tile's numbers of rows and registers.
macro_rules! by_rows {
    ($isa:ident, $tile:ident, $addend:ident, $out:ident, $($rows:literal)*) => {
        match ($tile.rows, $tile.registers) {
            $(
                ($rows, 1) => $isa.call(#[inline(always)] || run::<_, $rows, 1>($isa, $tile, $addend, $out)),
                ($rows, 2) => $isa.call(#[inline(always)] || run::<_, $rows, 2>($isa, $tile, $addend, $out)),
            )*
            (1, 4) => $isa.call(#[inline(always)] || run::<_, 1, 4>($isa, $tile, $addend, $out)),
            (rows, registers) => panic!("no tile has {rows} rows and {registers} registers"),
        }
    };
}

impl Tile<'_> {
    /// Computes the tile and writes it to `out`, which has as many rows and columns.
    pub fn run<'a>(self, out: Unwritten<'a>, addend: Option<Addend<'_>>) -> Written<'a> {
        let tile = &self;
        match_isa!(self.set, isa => {
            by_rows!(isa, tile, addend, out, 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
        })
    }
}

/// Terms of one iteration: the loop's own instructions compete with the multiplications.
const TERMS: usize = 4;

/// Elements of the largest tile.
const MOST: usize = 14 * 2 * 16;

/// The microkernel for `ROWS` rows and `REGISTERS` registers of columns.
#[inline(always)]
fn run<'a, I: Isa, const ROWS: usize, const REGISTERS: usize>(
    isa: I,
    tile: &Tile<'_>,
    addend: Option<Addend<'_>>,
    out: Unwritten<'a>,
) -> Written<'a> {
    // The compiler leaves out what follows for larger tiles than there are.
    assert!(ROWS <= I::TILE_ROWS);
    let mut sums = [[isa.splat(0.0); REGISTERS]; ROWS];
    let (rows, _) = tile.left.as_chunks::<ROWS>();
    let (several_right, rest_of_right) = tile
        .steps
        .rows::<_, TERMS>(tile.right, REGISTERS * I::LANES);
    let (several, rest) = rows[..tile.steps.count()].as_chunks::<TERMS>();
    let mut next = tile.next.as_ptr();
    for (rows, right) in several.iter().zip(several_right) {
        for (term, rows) in rows.iter().enumerate() {
            add(isa, &mut sums, rows, right.row(term));
            prefetch::<false, _>(next.wrapping_add(term * LINE));
        }
        next = next.wrapping_add(TERMS * LINE);
    }
    for (rows, right) in rest.iter().zip(rest_of_right) {
        add(isa, &mut sums, rows, right);
    }
    // Stored at once: if rows were read one at a time, the compiler would keep the sums in memory in the loop above too.
    let mut done = [const { MaybeUninit::uninit() }; MOST];
    let mut writer = SliceWriter::new(&mut done[..ROWS * REGISTERS * I::LANES]);
    for sums in &sums {
        for sum in sums {
            writer.write(
                I::LANES,
                #[inline(always)]
                |lanes| sum.write(lanes),
            );
        }
    }
    end::<I, REGISTERS>(isa, writer.finish(), tile, addend, out)
}

/// Accumulates the products of a term.
#[inline(always)]
fn add<I: Isa, const ROWS: usize, const REGISTERS: usize>(
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

/// Applies the epilogue to the sums of a tile and stores them.
#[inline(always)]
fn end<'a, I: Isa, const REGISTERS: usize>(
    isa: I,
    sums: &[f32],
    tile: &Tile<'_>,
    addend: Option<Addend<'_>>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let masks = masks::<I, REGISTERS>(tile.columns);
    let mut sums = sums.chunks_exact(REGISTERS * I::LANES);
    assert!(out.rows() == tile.rows && sums.len() == tile.rows);
    out.write_rows(
        #[inline(always)]
        |row, out| {
            let sums = sums.next().unwrap_or_default();
            let mut out = SliceWriter::new(out);
            for (register, mask) in masks.into_iter().enumerate() {
                let at = out.len();
                let mut value = isa.load(&sums[register * I::LANES..]);
                match tile.start {
                    Start::Zero => {}
                    Start::Rows(bias) => value = value + isa.splat(bias[row]),
                    Start::Columns(bias) => value = value + isa.load_expanded(&bias[at..], mask),
                }
                if let Some(addend) = addend {
                    let addend = &addend.values[row * addend.stride + at..];
                    value = value + isa.load_expanded(addend, mask);
                }
                if let Some(Bounds { low, high }) = tile.bounds {
                    value = value.clamp(isa.splat(low), isa.splat(high));
                }
                out.write(
                    mask.count(),
                    #[inline(always)]
                    |out| value.write_compressed(out, mask),
                );
            }
            out.finish()
        },
    )
}

/// The lanes of each register of a tile that are output columns.
#[inline(always)]
pub fn masks<I: Isa, const REGISTERS: usize>(columns: u128) -> [LaneMask; REGISTERS] {
    let lanes = (1u128 << I::LANES) - 1;
    let mut masks = [LaneMask::new(0); REGISTERS];
    for (register, mask) in masks.iter_mut().enumerate() {
        *mask = LaneMask::new((columns >> (register * I::LANES) & lanes) as u32);
    }
    masks
}
