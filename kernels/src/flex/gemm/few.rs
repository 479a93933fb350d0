//! Microkernel for tiles of few columns, with rows in the lanes.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;

use super::lanes::Lanes;
use super::tile::{Addend, Start, Tile};
use crate::flex::{
    instructions::{Set, WIDEST},
    memory::{Unwritten, Written, write_by_index},
};

/// Maximum number of columns.
pub const FEW: usize = 4;

impl Tile<'_> {
    /// Whether [`Tile::run_few`] computes the tile: its rows fit a register, which may be loaded for the last term too.
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
        assert!(self.set.is_there() && self.is_narrow());
        assert!(self.right.len() >= self.steps.furthest() + columns);
        assert!(out.rows() == self.rows && out.columns() == columns);
        let mut sums = [[0.0; WIDEST]; FEW];
        // SAFETY: the processor has the instructions, and the assertions hold for what is read.
        unsafe {
            match self.set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide(&self, columns, &mut sums),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow(&self, columns, &mut sums),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => all::<float32x4_t>(&self, columns, &mut sums),
                Set::Portable => all::<super::Plain>(&self, columns, &mut sums),
            }
        }
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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{FEW, Tile, WIDEST, all};

    /// # Safety
    ///
    /// The processor has AVX-512, and [`Tile::run_few`] has checked the tile.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn wide(tile: &Tile<'_>, columns: usize, sums: &mut [[f32; WIDEST]; FEW]) {
        // SAFETY: what the caller says.
        unsafe { all::<__m512>(tile, columns, sums) }
    }

    /// # Safety
    ///
    /// The processor has AVX2, and [`Tile::run_few`] has checked the tile.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn narrow(tile: &Tile<'_>, columns: usize, sums: &mut [[f32; WIDEST]; FEW]) {
        // SAFETY: what the caller says.
        unsafe { all::<__m256>(tile, columns, sums) }
    }
}

/// # Safety
///
/// The processor has the instructions of the lanes, and [`Tile::run_few`] has checked the tile.
#[inline(always)]
unsafe fn all<L: Lanes>(tile: &Tile<'_>, columns: usize, sums: &mut [[f32; WIDEST]; FEW]) {
    // SAFETY: what the caller says.
    unsafe {
        match columns {
            1 => some::<L, 1, 8>(tile, sums),
            2 => some::<L, 2, 4>(tile, sums),
            3 => some::<L, 3, 2>(tile, sums),
            _ => some::<L, 4, 2>(tile, sums),
        }
    }
}

/// Sums of `C` columns, each in `P` independent parts that hide the latency of additions.
///
/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn some<L: Lanes, const C: usize, const P: usize>(
    tile: &Tile<'_>,
    out: &mut [[f32; WIDEST]; FEW],
) {
    // SAFETY: of all reads and writes: what the caller says.
    unsafe {
        let mut sums = [[L::splat(0.0); C]; P];
        let mut left = tile.left.as_ptr();
        let right = tile.right.as_ptr();
        let (parts, rest) = tile.steps.offsets().as_chunks::<P>();
        for offsets in parts {
            for (sums, offset) in sums.iter_mut().zip(offsets) {
                let rows = L::load(left);
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.plus(rows, L::splat(*right.add(*offset as usize + column)));
                }
                left = left.add(tile.rows);
            }
        }
        for offset in rest {
            let rows = L::load(left);
            for (column, sum) in sums[0].iter_mut().enumerate() {
                *sum = sum.plus(rows, L::splat(*right.add(*offset as usize + column)));
            }
            left = left.add(tile.rows);
        }
        for (column, out) in out[..C].iter_mut().enumerate() {
            let mut sum = sums[0][column];
            for part in &sums[1..] {
                sum = sum.add(part[column]);
            }
            sum.store(out.as_mut_ptr());
        }
    }
}
