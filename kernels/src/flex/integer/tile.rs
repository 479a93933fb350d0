//! Microkernel: one tile of a matrix product of bytes.

use std::mem::MaybeUninit;

use super::dot::Dot;
#[cfg(target_arch = "aarch64")]
use super::lanes::Neon;
use super::lanes::{Lanes, Plain};
use crate::flex::{
    gemm::Steps,
    instructions::prefetch,
    memory::{OutputTile, Unwritten, Written},
};

/// A tile of at most MR rows and `registers` vectors of columns, in 32-bit sums that wrap around.
#[derive(Clone, Copy)]
pub struct Tile<'a> {
    pub dot: Dot,
    /// Packed panel of the left matrix: four signed terms of each row, then the next four, as [`Dot::write`] packs them.
    pub left: &'a [u32],
    pub rows: usize,
    /// The right matrix from the first four terms of the tile's columns on.
    pub right: &'a [u32],
    pub steps: &'a Steps,
    /// Prefetch distance in words, 0 for none.
    pub ahead: usize,
    pub registers: usize,
    /// Mask of the lanes that are output columns. They are stored contiguously.
    pub columns: u128,
}

/// Epilogue of a tile. Slices begin with its first row or column, and have all columns of its registers.
#[derive(Clone, Copy, Default)]
pub struct End<'a> {
    pub rows: Option<&'a [i32]>,
    pub columns: Option<&'a [i32]>,
    /// Products of an element for each row and one for each column, which are added.
    pub products: Option<[&'a [i32]; 2]>,
    pub result: Outcome<'a>,
}

/// Conversion of the sums.
#[derive(Clone, Copy, Default)]
pub enum Outcome<'a> {
    #[default]
    Sums,
    /// To bytes, with a factor, a zero point and a range.
    Bytes {
        factor: Factor<'a>,
        zero: f32,
        bounds: [f32; 2],
    },
    Floats {
        factor: Factor<'a>,
        bias: Option<&'a [f32]>,
    },
}

/// Factor of the sums.
#[derive(Clone, Copy)]
pub enum Factor<'a> {
    One(f32),
    Rows(&'a [f32]),
    Columns(&'a [f32]),
}

impl Outcome<'_> {
    /// Size of an output element in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Bytes { .. } => 1,
            Self::Sums | Self::Floats { .. } => 4,
        }
    }
}

impl<'a> End<'a> {
    /// The epilogue of a tile that begins with this row and column.
    #[inline(always)]
    pub fn from(self, row: usize, column: usize) -> Self {
        let result = match self.result {
            Outcome::Sums => Outcome::Sums,
            Outcome::Bytes {
                factor,
                zero,
                bounds,
            } => Outcome::Bytes {
                factor: factor.from(row, column),
                zero,
                bounds,
            },
            Outcome::Floats { factor, bias } => Outcome::Floats {
                factor: factor.from(row, column),
                bias: bias.map(|bias| &bias[column..]),
            },
        };
        Self {
            rows: self.rows.map(|rows| &rows[row..]),
            columns: self.columns.map(|columns| &columns[column..]),
            products: (self.products).map(|[rows, columns]| [&rows[row..], &columns[column..]]),
            result,
        }
    }

    pub fn check(&self, rows: usize, columns: usize) {
        assert!(self.rows.is_none_or(|all| all.len() >= rows));
        assert!(self.columns.is_none_or(|all| all.len() >= columns));
        assert!((self.products).is_none_or(|[a, b]| a.len() >= rows && b.len() >= columns));
        match self.result {
            Outcome::Sums => {}
            Outcome::Bytes { factor, .. } => factor.check(rows, columns),
            Outcome::Floats { factor, bias } => {
                factor.check(rows, columns);
                assert!(bias.is_none_or(|all| all.len() >= columns));
            }
        }
    }
}

impl Factor<'_> {
    #[inline(always)]
    fn from(self, row: usize, column: usize) -> Self {
        match self {
            Self::One(factor) => Self::One(factor),
            Self::Rows(factors) => Self::Rows(&factors[row..]),
            Self::Columns(factors) => Self::Columns(&factors[column..]),
        }
    }

    fn check(&self, rows: usize, columns: usize) {
        match self {
            Self::One(_) => {}
            Self::Rows(factors) => assert!(factors.len() >= rows),
            Self::Columns(factors) => assert!(factors.len() >= columns),
        }
    }
}

/// Calls the microkernel that is compiled for the tile's numbers of rows and registers.
macro_rules! by_rows {
    ($tile:expr, $end:expr, $to:expr, 14, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $end, $to, $run, $lanes, 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    };
    ($tile:expr, $end:expr, $to:expr, 12, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $end, $to, $run, $lanes, 1 2 3 4 5 6 7 8 9 10 11 12)
    };
    ($tile:expr, $end:expr, $to:expr, 8, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $end, $to, $run, $lanes, 1 2 3 4 5 6 7 8)
    };
    ($tile:expr, $end:expr, $to:expr, 6, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $end, $to, $run, $lanes, 1 2 3 4 5 6)
    };
    ($tile:expr, $end:expr, $to:expr, 4, $run:ident::<$lanes:ty>) => {
        by_rows!(@ $tile, $end, $to, $run, $lanes, 1 2 3 4)
    };
    (@ $tile:expr, $end:expr, $to:expr, $run:ident, $lanes:ty, $($rows:literal)*) => {
        match ($tile.rows, $tile.registers) {
            $(
                ($rows, 1) => $run::<$lanes, $rows, 1>($tile, $end, $to),
                ($rows, 2) => $run::<$lanes, $rows, 2>($tile, $end, $to),
            )*
            (1, 4) => $run::<$lanes, 1, 4>($tile, $end, $to),
            (rows, registers) => panic!("no tile has {rows} rows and {registers} registers"),
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use by_rows;

impl Tile<'_> {
    /// Computes the tile and writes it to `out`: the bytes of as many rows and columns.
    pub fn run<'a>(self, end: End<'_>, mut out: Unwritten<'a, u8>) -> Written<'a, u8> {
        let dot = self.dot;
        assert!(dot.is_there());
        assert!(self.left.len() >= self.rows * self.steps.count() * dot.words());
        let width = self.registers * dot.lanes();
        assert!(self.steps.count() == 0 || self.right.len() >= self.steps.furthest() + width);
        let columns = self.columns.count_ones() as usize;
        assert!(
            self.columns
                .checked_shr(width as u32)
                .is_none_or(|more| more == 0)
        );
        let row = columns * end.result.size();
        assert!(self.rows > 0 && out.rows() == self.rows && out.columns() == row);
        end.check(self.rows, width);
        let to = Destination::new(out.tile(0..self.rows, 0..row));
        // SAFETY: the processor has the instructions, and the assertions hold for what is read and written.
        unsafe {
            match dot {
                #[cfg(target_arch = "x86_64")]
                Dot::Vnni => compiled::vnni(self, end, to),
                #[cfg(target_arch = "x86_64")]
                Dot::VnniNarrow => compiled::vnni_narrow(self, end, to),
                #[cfg(target_arch = "x86_64")]
                Dot::Madd => compiled::madd(self, end, to),
                #[cfg(target_arch = "aarch64")]
                Dot::Sdot => compiled::sdot(self, end, to),
                #[cfg(target_arch = "aarch64")]
                Dot::Neon => by_rows!(self, end, to, 8, run::<Neon>),
                Dot::Portable => by_rows!(self, end, to, 4, run::<Plain>),
            }
        }
        // SAFETY: each row is stored in registers, whose active lanes are all columns.
        unsafe { out.assume_written() }
    }
}

/// Where the microkernel stores a tile; rows are `stride` bytes apart.
#[derive(Clone, Copy)]
struct Destination {
    first: *mut u8,
    stride: usize,
}

impl Destination {
    fn new(tile: OutputTile<'_, u8>) -> Self {
        Self {
            first: tile.as_mut_ptr(),
            stride: tile.stride(),
        }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod compiled {
    use super::super::lanes::{self, Lanes};
    use super::{Destination, End, Tile, run};

    macro_rules! compiled {
        ($name:ident $one:ident $feature:literal $rows:tt $lanes:ident) => {
            pub unsafe fn $name(tile: Tile<'_>, end: End<'_>, to: Destination) {
                #[target_feature(enable = $feature)]
                unsafe fn $one<L: Lanes, const G: usize, const V: usize>(
                    tile: Tile<'_>,
                    end: End<'_>,
                    to: Destination,
                ) {
                    // SAFETY: what the caller says.
                    unsafe { run::<L, G, V>(tile, end, to) }
                }
                // SAFETY: what the caller says.
                unsafe { super::by_rows!(tile, end, to, $rows, $one::<lanes::$lanes>) }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    compiled! { vnni vnni_tile "avx512f,avx512bw,avx512vnni" 14 Vnni }
    #[cfg(target_arch = "x86_64")]
    compiled! { vnni_narrow vnni_narrow_tile "avx2,avxvnni" 6 VnniNarrow }
    #[cfg(target_arch = "x86_64")]
    compiled! { madd madd_tile "avx2" 4 Madd }
    #[cfg(target_arch = "aarch64")]
    compiled! { sdot sdot_tile "dotprod" 12 Sdot }
}

/// Words in a cache line.
const LINE: usize = 16;

/// Sums of the largest tile.
const MOST: usize = 14 * 2 * 16;

/// # Safety
///
/// [`Tile::run`] has checked the tile.
#[inline(always)]
unsafe fn run<L: Lanes, const G: usize, const V: usize>(
    tile: Tile<'_>,
    end: End<'_>,
    to: Destination,
) {
    // SAFETY: of all reads and writes below: the assertions of the caller.
    unsafe {
        let mut sums = [[L::splat(0); V]; G];
        let mut left = tile.left.as_ptr();
        let right = tile.right.as_ptr();
        for &offset in tile.steps.offsets() {
            let right = right.add(offset as usize);
            let mut columns = [L::terms(right); V];
            for (at, column) in columns.iter_mut().enumerate().skip(1) {
                *column = L::terms(right.add(at * L::COUNT));
            }
            if tile.ahead > 0 {
                for line in 0..(V * L::COUNT).div_ceil(LINE) {
                    prefetch::<true, _>(right.wrapping_add(tile.ahead + line * LINE));
                }
            }
            L::add_products(&mut sums, left, columns);
            left = left.add(G * L::WORDS);
        }
        // Stored at once: if rows were read one at a time, the compiler would keep the sums in memory in the loop above too.
        let mut done = MaybeUninit::<[i32; MOST]>::uninit();
        let first = done.as_mut_ptr().cast::<i32>();
        for (row, sums) in sums.iter().enumerate() {
            for (at, sum) in sums.iter().enumerate() {
                sum.store(first.add((row * V + at) * L::COUNT));
            }
        }
        write::<L>(first, tile, end, to);
    }
}

/// Applies the epilogue to the sums of a tile and stores them.
///
/// # Safety
///
/// As for [`run`], and the sums are done.
#[inline(always)]
unsafe fn write<L: Lanes>(done: *const i32, tile: Tile<'_>, end: End<'_>, to: Destination) {
    let all = (1u32 << L::COUNT) - 1;
    let size = end.result.size();
    let mut at = 0;
    for register in 0..tile.registers {
        let mask = (tile.columns >> (register * L::COUNT)) as u32 & all;
        let column = register * L::COUNT;
        for row in 0..tile.rows {
            // SAFETY: of all reads and writes: the assertions of the caller.
            unsafe {
                let sum = L::load(done.add((row * tile.registers + register) * L::COUNT));
                let to = to.first.add(row * to.stride + at * size);
                finish(sum, end, [row, column], to, mask);
            }
        }
        at += mask.count_ones() as usize;
    }
}

/// Applies the epilogue to the sums of some columns of a row, and stores those of the mask one after another from `to` on.
///
/// # Safety
///
/// The epilogue has numbers for the row and all columns of the register, and `to` is valid for the elements of the mask.
#[inline(always)]
pub unsafe fn finish<L: Lanes>(
    mut sum: L,
    end: End<'_>,
    [row, column]: [usize; 2],
    to: *mut u8,
    mask: u32,
) {
    // SAFETY: of all reads and writes: what the caller says.
    unsafe {
        if let Some(rows) = end.rows {
            sum = sum.add(L::splat(*rows.get_unchecked(row)));
        }
        if let Some(columns) = end.columns {
            sum = sum.add(L::load(columns.as_ptr().add(column)));
        }
        if let Some([rows, columns]) = end.products {
            let columns = L::load(columns.as_ptr().add(column));
            sum = sum.add(columns.mul(L::splat(*rows.get_unchecked(row))));
        }
        match end.result {
            Outcome::Sums => sum.gather(to.cast::<u32>(), mask),
            Outcome::Bytes {
                factor: of,
                zero,
                bounds: [low, high],
            } => {
                let value = sum.scaled(factor::<L>(of, row, column));
                let (low, high) = (L::splat_float(low), L::splat_float(high));
                let value = L::rounded(value, L::splat_float(zero), low, high);
                value.gather_bytes(to, mask);
            }
            Outcome::Floats { factor: of, bias } => {
                let mut value = sum.scaled(factor::<L>(of, row, column));
                if let Some(bias) = bias {
                    value = L::add_float(value, L::load_float(bias.as_ptr().add(column)));
                }
                L::bits(value).gather(to.cast::<u32>(), mask);
            }
        }
    }
}

/// # Safety
///
/// There are factors for the row and the columns.
#[inline(always)]
unsafe fn factor<L: Lanes>(factor: Factor<'_>, row: usize, column: usize) -> L::Float {
    // SAFETY: what the caller says.
    unsafe {
        match factor {
            Factor::One(factor) => L::splat_float(factor),
            Factor::Rows(factors) => L::splat_float(*factors.get_unchecked(row)),
            Factor::Columns(factors) => L::load_float(factors.as_ptr().add(column)),
        }
    }
}
