//! Epilogue of a product of bytes: zero points and conversion.

use std::mem::MaybeUninit;

use super::{Epilogue, TilePosition, TileSums};
use crate::flex::{
    memory::{Unwritten, Written},
    simd::{Floats, Ints, Isa, LaneMask},
};

/// Epilogue of a tile of bytes. Slices begin with its first row or column, and have all columns of its registers.
#[derive(Clone, Copy, Default)]
pub struct ByteEpilogue<'a> {
    /// Addend of each row.
    pub rows: Option<&'a [i32]>,
    /// Addend of each column.
    pub columns: Option<&'a [i32]>,
    /// Products of an element for each row and one for each column, which are added.
    pub products: Option<[&'a [i32]; 2]>,
    pub conversion: Conversion<'a>,
}

/// Conversion of 32-bit sums.
#[derive(Clone, Copy, Default)]
pub enum Conversion<'a> {
    #[default]
    None,
    /// To bytes, with a factor, a zero point and a range.
    Bytes { factor: Factor<'a>, zero: f32, bounds: [f32; 2] },
    Floats {
        factor: Factor<'a>,
        /// An element for each column.
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

impl Conversion<'_> {
    /// Size of an output element in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Bytes { .. } => 1,
            Self::None | Self::Floats { .. } => 4,
        }
    }
}

impl<'a> ByteEpilogue<'a> {
    /// The epilogue of a tile that begins with this row and column.
    #[inline(always)]
    pub fn from(self, row: usize, column: usize) -> Self {
        let conversion = match self.conversion {
            Conversion::None => Conversion::None,
            Conversion::Bytes { factor, zero, bounds } => {
                Conversion::Bytes { factor: factor.from(row, column), zero, bounds }
            }
            Conversion::Floats { factor, bias } => Conversion::Floats {
                factor: factor.from(row, column),
                bias: bias.map(|bias| &bias[column..]),
            },
        };
        Self {
            rows: self.rows.map(|rows| &rows[row..]),
            columns: self.columns.map(|columns| &columns[column..]),
            products: (self.products).map(|[rows, columns]| [&rows[row..], &columns[column..]]),
            conversion,
        }
    }

    /// Asserts that all slices have elements for `rows` rows and `columns` columns.
    pub fn check(&self, rows: usize, columns: usize) {
        assert!(self.rows.is_none_or(|all| all.len() >= rows));
        assert!(self.columns.is_none_or(|all| all.len() >= columns));
        assert!((self.products).is_none_or(|[a, b]| a.len() >= rows && b.len() >= columns));
        match self.conversion {
            Conversion::None => {}
            Conversion::Bytes { factor, .. } => factor.check(rows, columns),
            Conversion::Floats { factor, bias } => {
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

    #[inline(always)]
    fn load<I: Isa>(self, isa: I, at: TilePosition) -> I::Floats {
        match self {
            Self::One(factor) => isa.splat(factor),
            Self::Rows(factors) => isa.splat(factors[at.row]),
            Self::Columns(factors) => isa.load(&factors[at.lane..]),
        }
    }
}

impl<I: Isa> Epilogue<I, i32> for ByteEpilogue<'_> {
    /// Bytes of elements of any type.
    type Element = u8;

    #[inline(always)]
    fn write<'a, const REGISTERS: usize, const WHOLE: bool>(
        self,
        isa: I,
        sums: TileSums<'_, i32, REGISTERS, WHOLE>,
        out: Unwritten<'a, u8>,
    ) -> Written<'a, u8> {
        // The compiler knows the conversion in each of these calls: their loops have no branches for the others.
        match self.conversion {
            Conversion::None => {
                let conversion = Conversion::None;
                Self { conversion, ..self }.write_tile(isa, sums, out)
            }
            Conversion::Bytes { factor, zero, bounds } => {
                let conversion = Conversion::Bytes { factor, zero, bounds };
                Self { conversion, ..self }.write_tile(isa, sums, out)
            }
            Conversion::Floats { factor, bias } => {
                let conversion = Conversion::Floats { factor, bias };
                Self { conversion, ..self }.write_tile(isa, sums, out)
            }
        }
    }
}

impl ByteEpilogue<'_> {
    #[inline(always)]
    fn write_tile<'a, I: Isa, const REGISTERS: usize, const WHOLE: bool>(
        self,
        isa: I,
        sums: TileSums<'_, i32, REGISTERS, WHOLE>,
        out: Unwritten<'a, u8>,
    ) -> Written<'a, u8> {
        sums.write(
            isa,
            self.conversion.size(),
            out,
            #[inline(always)]
            |sums, at, mask, out| self.write_register(isa, sums, at, mask, out),
        )
    }

    /// Writes the output columns of a register.
    #[inline(always)]
    pub fn write_register<'a, I: Isa>(
        &self,
        isa: I,
        mut sums: I::Ints,
        at: TilePosition,
        mask: LaneMask,
        out: &'a mut [MaybeUninit<u8>],
    ) -> &'a mut [u8] {
        if let Some(rows) = self.rows {
            sums = sums + isa.splat_int(rows[at.row]);
        }
        if let Some(columns) = self.columns {
            sums = sums + isa.load_ints(&columns[at.lane..]);
        }
        if let Some([rows, columns]) = self.products {
            sums = sums + isa.load_ints(&columns[at.lane..]) * isa.splat_int(rows[at.row]);
        }
        match self.conversion {
            Conversion::None => sums.write_compressed(out, mask),
            Conversion::Bytes { factor, zero, bounds: [low, high] } => {
                let value = sums.floats() * factor.load(isa, at);
                let value = value.rounded(isa.splat(zero), isa.splat(low), isa.splat(high));
                value.write_bytes(out, mask)
            }
            Conversion::Floats { factor, bias } => {
                let mut value = sums.floats() * factor.load(isa, at);
                if let Some(bias) = bias {
                    value = value + isa.load(&bias[at.lane..]);
                }
                value.bits().write_compressed(out, mask)
            }
        }
    }
}
