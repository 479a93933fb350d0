//! Microkernel: one tile of a matrix product of bytes.

use std::mem::MaybeUninit;

use crate::flex::{
    gemm::{Steps, masks},
    memory::{SliceWriter, Unwritten, Written},
    simd::prefetch,
    simd::{DotInstructions, DotIsa, Floats, Ints, Isa, LaneMask, match_dot_isa},
};

/// A tile of at most [`DotIsa::BYTE_TILE_ROWS`] rows and `registers` vectors of columns, in 32-bit sums that wrap around.
#[derive(Clone, Copy)]
pub struct Tile<'a> {
    pub dot: DotInstructions,
    /// Packed panel of the left matrix: four signed terms of each row, then the next four, as [`DotInstructions::write_row`] packs them.
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
    ($isa:ident, $tile:ident, $end:ident, $out:ident, $($rows:literal)*) => {
        match ($tile.rows, $tile.registers) {
            $(
                ($rows, 1) => $isa.call(#[inline(always)] || run::<_, $rows, 1>($isa, $tile, $end, $out)),
                ($rows, 2) => $isa.call(#[inline(always)] || run::<_, $rows, 2>($isa, $tile, $end, $out)),
            )*
            (1, 4) => $isa.call(#[inline(always)] || run::<_, 1, 4>($isa, $tile, $end, $out)),
            (rows, registers) => panic!("no tile has {rows} rows and {registers} registers"),
        }
    };
}

impl Tile<'_> {
    /// Computes the tile and writes it to `out`: the bytes of as many rows and columns.
    pub fn run<'a>(self, end: End<'_>, out: Unwritten<'a, u8>) -> Written<'a, u8> {
        end.check(self.rows, self.registers * self.dot.lanes());
        let (tile, end) = (&self, &end);
        match_dot_isa!(self.dot, isa => {
            by_rows!(isa, tile, end, out, 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
        })
    }
}

/// Words in a cache line.
const LINE: usize = 16;

/// Sums of the largest tile.
const MOST: usize = 14 * 2 * 16;

/// The microkernel for `ROWS` rows and `REGISTERS` registers of columns.
#[inline(always)]
fn run<'a, I: DotIsa, const ROWS: usize, const REGISTERS: usize>(
    isa: I,
    tile: &Tile<'_>,
    end: &End<'_>,
    out: Unwritten<'a, u8>,
) -> Written<'a, u8> {
    // The compiler leaves out what follows for larger tiles than there are.
    assert!(ROWS <= I::BYTE_TILE_ROWS);
    let mut sums = [[isa.splat_int(0); REGISTERS]; ROWS];
    let lefts = tile.left.chunks_exact(ROWS * I::WORDS);
    assert!(lefts.len() >= tile.steps.count());
    let (rights, _) = tile.steps.rows::<_, 1>(tile.right, REGISTERS * I::LANES);
    for (right, left) in rights.zip(lefts) {
        let right = right.row(0);
        let mut columns = [isa.terms(right); REGISTERS];
        for (at, column) in columns.iter_mut().enumerate().skip(1) {
            *column = isa.terms(&right[at * I::LANES..]);
        }
        if tile.ahead > 0 {
            for line in 0..(REGISTERS * I::LANES).div_ceil(LINE) {
                prefetch::<true, _>(right.as_ptr().wrapping_add(tile.ahead + line * LINE));
            }
        }
        isa.add_dots(&mut sums, left, columns);
    }
    // Stored at once: if rows were read one at a time, the compiler would keep the sums in memory in the loop above too.
    let mut done = [const { MaybeUninit::uninit() }; MOST];
    let mut writer = SliceWriter::new(&mut done[..ROWS * REGISTERS * I::LANES]);
    for sums in &sums {
        for sum in sums {
            writer.write(
                I::LANES,
                #[inline(always)]
                |lanes| sum.write_all(lanes),
            );
        }
    }
    write::<I, REGISTERS>(isa, writer.finish(), tile, end, out)
}

/// Applies the epilogue to the sums of a tile, and writes it.
#[inline(always)]
fn write<'a, I: DotIsa, const REGISTERS: usize>(
    isa: I,
    sums: &[i32],
    tile: &Tile<'_>,
    end: &End<'_>,
    out: Unwritten<'a, u8>,
) -> Written<'a, u8> {
    let masks = masks::<I, REGISTERS>(tile.columns);
    let size = end.result.size();
    let mut sums = sums.chunks_exact(REGISTERS * I::LANES);
    assert!(out.rows() == tile.rows && sums.len() == tile.rows);
    out.write_rows(
        #[inline(always)]
        |row, out| {
            let sums = sums.next().unwrap_or_default();
            let mut out = SliceWriter::new(out);
            for (register, mask) in masks.into_iter().enumerate() {
                let column = register * I::LANES;
                let sum = isa.load_ints(&sums[column..]);
                out.write(
                    mask.count() * size,
                    #[inline(always)]
                    |out| finish(isa, sum, end, [row, column], out, mask),
                );
            }
            out.finish()
        },
    )
}

/// Applies the epilogue to the sums of some columns of a row, and writes those of the mask one after another.
#[inline(always)]
pub fn finish<'a, I: Isa>(
    isa: I,
    mut sum: I::Ints,
    end: &End<'_>,
    [row, column]: [usize; 2],
    out: &'a mut [MaybeUninit<u8>],
    mask: LaneMask,
) -> &'a mut [u8] {
    if let Some(rows) = end.rows {
        sum = sum + isa.splat_int(rows[row]);
    }
    if let Some(columns) = end.columns {
        sum = sum + isa.load_ints(&columns[column..]);
    }
    if let Some([rows, columns]) = end.products {
        sum = sum + isa.load_ints(&columns[column..]) * isa.splat_int(rows[row]);
    }
    match end.result {
        Outcome::Sums => sum.write_compressed(out, mask),
        Outcome::Bytes {
            factor: of,
            zero,
            bounds: [low, high],
        } => {
            let value = sum.floats() * factor(isa, of, row, column);
            let value = value.rounded(isa.splat(zero), isa.splat(low), isa.splat(high));
            value.write_bytes(out, mask)
        }
        Outcome::Floats { factor: of, bias } => {
            let mut value = sum.floats() * factor(isa, of, row, column);
            if let Some(bias) = bias {
                value = value + isa.load(&bias[column..]);
            }
            value.bits().write_compressed(out, mask)
        }
    }
}

#[inline(always)]
fn factor<I: Isa>(isa: I, factor: Factor<'_>, row: usize, column: usize) -> I::Floats {
    match factor {
        Factor::One(factor) => isa.splat(factor),
        Factor::Rows(factors) => isa.splat(factors[row]),
        Factor::Columns(factors) => isa.load(&factors[column..]),
    }
}
