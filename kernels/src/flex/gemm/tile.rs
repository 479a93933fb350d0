//! Microkernel: one tile of a matrix product, held in registers.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
use std::mem::MaybeUninit;

use super::lanes::{Lanes, Plain};
use crate::flex::{
    instructions::{Set, prefetch},
    memory::{OutputTile, Unwritten, Written},
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

/// A tile of at most MR rows and `registers` vectors of columns.
pub struct Tile<'a> {
    pub set: Set,
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
    ($tile:expr, $to:expr, 14, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $to, $run, $lanes, 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    };
    ($tile:expr, $to:expr, 12, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $to, $run, $lanes, 1 2 3 4 5 6 7 8 9 10 11 12)
    };
    ($tile:expr, $to:expr, 6, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $to, $run, $lanes, 1 2 3 4 5 6)
    };
    (@ $tile:expr, $to:expr, $run:ident, $lanes:ty, $($rows:literal)*) => {
        match ($tile.rows, $tile.registers) {
            $(
                ($rows, 1) => $run::<$lanes, $rows, 1>($tile, $to),
                ($rows, 2) => $run::<$lanes, $rows, 2>($tile, $to),
            )*
            (1, 4) => $run::<$lanes, 1, 4>($tile, $to),
            (rows, registers) => panic!("no tile has {rows} rows and {registers} registers"),
        }
    };
}

#[cfg(target_arch = "x86_64")]
use by_rows;

impl Tile<'_> {
    /// Computes the tile and writes it to `out`, which has as many rows and columns.
    pub fn run<'a>(self, mut out: Unwritten<'a>, addend: Option<Addend<'_>>) -> Written<'a> {
        let lanes = self.set.lanes();
        assert!(self.set.is_there());
        assert!(self.left.len() >= self.rows * self.steps.count());
        let read = self.steps.furthest + self.registers * lanes;
        assert!(self.steps.count() == 0 || self.right.len() >= read);
        let columns = self.columns.count_ones() as usize;
        assert!(self.rows > 0 && out.rows() == self.rows && out.columns() == columns);
        assert!(
            self.columns
                .checked_shr((self.registers * lanes) as u32)
                .is_none_or(|more| more == 0)
        );
        match self.start {
            Start::Rows(rows) => assert!(rows.len() >= self.rows),
            Start::Columns(numbers) => assert!(numbers.len() >= columns),
            Start::Zero => {}
        }
        assert!(addend.is_none_or(|addend| addend.has(self.rows, columns)));
        let to = Destination::new(out.tile(0..self.rows, 0..columns), addend);
        // SAFETY: the processor has the instructions, and the assertions hold for what is read and written.
        unsafe {
            match self.set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide(self, to),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow(self, to),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => by_rows!(self, to, 12, run::<float32x4_t>),
                Set::Portable => by_rows!(self, to, 6, run::<Plain>),
            }
        }
        // SAFETY: each row is stored in registers, whose active lanes are all columns.
        unsafe { out.assume_written() }
    }
}

impl Addend<'_> {
    /// Whether it has an element for each row and column of a tile.
    pub fn has(&self, rows: usize, columns: usize) -> bool {
        let before = rows.saturating_sub(1).checked_mul(self.stride);
        let end = before.and_then(|before| before.checked_add(columns));
        end.is_some_and(|end| end <= self.values.len())
    }
}

/// Where the microkernel stores a tile, and what it adds.
#[derive(Clone, Copy)]
struct Destination {
    first: *mut f32,
    stride: usize,
    addend: Option<(*const f32, usize)>,
}

impl Destination {
    fn new(tile: OutputTile<'_>, addend: Option<Addend<'_>>) -> Self {
        Self {
            first: tile.as_mut_ptr(),
            stride: tile.stride(),
            addend: addend.map(|addend| (addend.values.as_ptr(), addend.stride)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{Destination, Tile, run};

    macro_rules! compiled {
        ($name:ident $one:ident $feature:literal $rows:tt $lanes:ty) => {
            pub unsafe fn $name(tile: Tile<'_>, to: Destination) {
                #[target_feature(enable = $feature)]
                unsafe fn $one<L: super::Lanes, const G: usize, const V: usize>(
                    tile: Tile<'_>,
                    to: Destination,
                ) {
                    // SAFETY: what the caller says.
                    unsafe { run::<L, G, V>(tile, to) }
                }
                // SAFETY: what the caller says.
                unsafe { super::by_rows!(tile, to, $rows, $one::<$lanes>) }
            }
        };
    }

    compiled! { wide wide_tile "avx512f" 14 __m512 }
    compiled! { narrow narrow_tile "avx2,fma" 6 __m256 }
}

/// Terms of one iteration: the loop's own instructions compete with the multiplications.
const TERMS: usize = 4;

/// Elements of the largest tile.
const MOST: usize = 14 * 2 * 16;

/// # Safety
///
/// [`Tile::run`] has checked the tile.
#[inline(always)]
unsafe fn run<L: Lanes, const G: usize, const V: usize>(tile: Tile<'_>, to: Destination) {
    // SAFETY: of all reads and writes below: the assertions of the caller.
    unsafe {
        let mut sums = [[L::splat(0.0); V]; G];
        let mut left = tile.left.as_ptr();
        let right = tile.right.as_ptr();
        let mut next = tile.next.as_ptr();
        let (several, rest) = tile.steps.offsets().as_chunks::<TERMS>();
        for offsets in several {
            for (term, &offset) in offsets.iter().enumerate() {
                add(&mut sums, left.add(term * G), right.add(offset as usize));
                prefetch::<false, _>(next.wrapping_add(term * LINE));
            }
            left = left.add(TERMS * G);
            next = next.wrapping_add(TERMS * LINE);
        }
        for &offset in rest {
            add(&mut sums, left, right.add(offset as usize));
            left = left.add(G);
        }
        // Stored at once: if rows were read one at a time, the compiler would keep the sums in memory in the loop above too.
        let mut done = MaybeUninit::<[f32; MOST]>::uninit();
        let first = done.as_mut_ptr().cast::<f32>();
        for (row, sums) in sums.iter().enumerate() {
            for (at, sum) in sums.iter().enumerate() {
                sum.store(first.add((row * V + at) * L::COUNT));
            }
        }
        end::<L>(first, tile, to);
    }
}

/// Accumulates the products of a term.
///
/// # Safety
///
/// As for [`run`], for numbers of the rows and of the columns.
#[inline(always)]
unsafe fn add<L: Lanes, const G: usize, const V: usize>(
    sums: &mut [[L; V]; G],
    left: *const f32,
    right: *const f32,
) {
    // SAFETY: what the caller says.
    unsafe {
        let mut columns = [L::splat(0.0); V];
        for (at, column) in columns.iter_mut().enumerate() {
            *column = L::load(right.add(at * L::COUNT));
        }
        L::add_products(sums, left, columns);
    }
}

/// Applies the epilogue to the sums of a tile and stores them.
///
/// # Safety
///
/// As for [`run`], and the sums are done.
#[inline(always)]
unsafe fn end<L: Lanes>(done: *const f32, tile: Tile<'_>, to: Destination) {
    let all = (1u32 << L::COUNT) - 1;
    let mut at = 0;
    for register in 0..tile.registers {
        let mask = (tile.columns >> (register * L::COUNT)) as u32 & all;
        for row in 0..tile.rows {
            let target = row * to.stride + at;
            // SAFETY: of all reads and writes: the assertions of the caller.
            unsafe {
                let from = (row * tile.registers + register) * L::COUNT;
                let mut value = L::load(done.add(from));
                match tile.start {
                    Start::Zero => {}
                    Start::Rows(bias) => value = value.add(L::splat(bias[row])),
                    Start::Columns(bias) => {
                        let bias = bias.as_ptr().add(at);
                        value = value.add(if mask == all {
                            L::load(bias)
                        } else {
                            L::spread(bias, mask)
                        });
                    }
                }
                if let Some((sum, stride)) = to.addend {
                    let sum = sum.add(row * stride + at);
                    value = value.add(if mask == all {
                        L::load(sum)
                    } else {
                        L::spread(sum, mask)
                    });
                }
                if let Some(Bounds { low, high }) = tile.bounds {
                    value = value.clamp(L::splat(low), L::splat(high));
                }
                if mask == all {
                    value.store(to.first.add(target));
                } else {
                    value.gather(to.first.add(target), mask);
                }
            }
        }
        at += mask.count_ones() as usize;
    }
}
