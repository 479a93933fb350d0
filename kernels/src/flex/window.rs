//! Windows that slide over single channels: depthwise convolutions and pools.
//!
//! Rows of the input are read in place. Padding is masked along rows, and is a row of the padding value along the other axes,
//! so that nothing is padded first.

mod fold;
mod masked;
mod shares;
mod tables;

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
use std::ops::Range;

use super::{
    conv::Geometry,
    gemm::Plain,
    instructions::Set,
    memory::{OutputTile, Unwritten, Written},
};
pub use fold::{AnyFold, At, Fold};
pub use masked::Masked;
pub use shares::{Planes, bands, by_bands};
use tables::{BESIDE, Register, lines};

/// Output rows that are computed at once.
const ROWS: usize = 4;

/// Windows of one geometry over channels of one layout.
pub struct Windows {
    geometry: Geometry,
    /// Offsets of the input rows by output pixel and tap, along depth and rows, or [`BESIDE`] in the padding.
    lines: [Vec<usize>; 2],
    /// Minimum number of elements of a channel.
    length: usize,
    /// A row of padding.
    outside: Vec<f32>,
    value: f32,
    registers: Vec<Register>,
    set: Set,
}

/// Maximum number of output pixels times taps along an axis.
const MOST: usize = 1 << 22;

impl Windows {
    /// For inputs with these strides along depth and rows, and contiguous columns. The padding is `value`. Returns `None` if
    /// the input is empty, or the tables would be too large.
    pub fn new(set: Set, geometry: Geometry, steps: [usize; 2], value: f32) -> Option<Self> {
        let noted = geometry.positions.iter().zip(geometry.kernel);
        let noted = noted.map(|(positions, taps)| positions.checked_mul(taps));
        let mut noted = noted.map(|count| count.is_some_and(|count| count <= MOST));
        if geometry.sizes.contains(&0) || !noted.all(|few| few) {
            return None;
        }
        // Offsets of output pixels must not wrap around.
        let mut positions = geometry.positions.iter();
        positions.try_fold(1usize, |count, size| count.checked_mul(*size))?;
        let [deep, high, wide] = geometry.sizes;
        let far = (deep - 1)
            .checked_mul(steps[0])?
            .checked_add((high - 1).checked_mul(steps[1])?)?;
        let length = far.checked_add(wide).filter(|length| *length < BESIDE)?;
        let lanes = set.lanes();
        let firsts = (0..geometry.positions[2]).step_by(lanes);
        let lines = [0, 1].map(|axis| lines(&geometry, axis, steps[axis]));
        Some(Self {
            geometry,
            lines,
            length,
            outside: vec![value; wide],
            value,
            registers: firsts
                .map(|at| Register::new(&geometry, at, lanes))
                .collect(),
            set,
        })
    }

    /// Writes some output rows of one channel, whose input is the first elements of `values`. `out` has a row for each depth,
    /// with the output rows as its columns.
    pub fn run<'a>(
        &self,
        values: &[f32],
        rows: Range<usize>,
        fold: &impl AnyFold,
        mut out: Unwritten<'a>,
    ) -> Written<'a> {
        let [depths, high, wide] = self.geometry.positions;
        assert!(values.len() >= self.length && self.set.is_there());
        assert!(rows.end <= high && out.rows() == depths && out.columns() == rows.len() * wide);
        let part = Part {
            windows: self,
            values,
            out: out.tile(0..depths, 0..rows.len() * wide),
            rows,
        };
        // SAFETY: the processor has the instructions. The assertions hold for what is read, and the tile has the output rows.
        unsafe {
            match self.set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide(&part, fold),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow(&part, fold),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => all::<float32x4_t, _>(&part, fold),
                Set::Portable => all::<Plain, _>(&part, fold),
            }
        }
        // SAFETY: every depth and row is stored in registers, which have all columns.
        unsafe { out.assume_written() }
    }
}

/// Output rows of one channel.
struct Part<'a> {
    windows: &'a Windows,
    values: &'a [f32],
    rows: Range<usize>,
    out: OutputTile<'a>,
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{AnyFold, Part, all};

    /// # Safety
    ///
    /// The processor has AVX-512, and the windows' input is there.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn wide(part: &Part<'_>, fold: &impl AnyFold) {
        // SAFETY: the caller's promise.
        unsafe { all::<__m512, _>(part, fold) }
    }

    /// # Safety
    ///
    /// The processor has AVX2, and the windows' input is there.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn narrow(part: &Part<'_>, fold: &impl AnyFold) {
        // SAFETY: the caller's promise.
        unsafe { all::<__m256, _>(part, fold) }
    }
}

/// # Safety
///
/// [`Windows::run`] has checked the input.
#[inline(always)]
unsafe fn all<L: Masked, F: Fold<L>>(part: &Part<'_>, fold: &F) {
    let (g, rows) = (&part.windows.geometry, &part.rows);
    let [_, down, right] = g.strides;
    let is_square = L::COUNT > 4
        && rows.len() >= ROWS
        && g.kernel[1] == g.kernel[2]
        && down == right
        && g.dilations[1] == 1;
    // SAFETY: what the caller says.
    unsafe {
        match (right, g.kernel[2]) {
            (1, 3) if is_square => by_rows::<L, F, 1, 3>(part, fold),
            (1, 5) if is_square => by_rows::<L, F, 1, 5>(part, fold),
            (1, 7) if is_square => by_rows::<L, F, 1, 7>(part, fold),
            (2, 3) if is_square => by_rows::<L, F, 2, 3>(part, fold),
            (1, _) => by_rows::<L, F, 1, 0>(part, fold),
            (2, _) => by_rows::<L, F, 2, 0>(part, fold),
            _ => by_rows::<L, F, 0, 0>(part, fold),
        }
    }
}

/// Windows of column stride `STRIDE`, and of `WIDE` by `WIDE` taps, unless these are 0.
///
/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn by_rows<L: Masked, F: Fold<L>, const STRIDE: usize, const WIDE: usize>(
    part: &Part<'_>,
    fold: &F,
) {
    let range = part.rows.clone();
    for depth in 0..part.windows.geometry.positions[0] {
        // SAFETY: what the caller says.
        unsafe {
            if range.len() < ROWS {
                for row in range.clone() {
                    rows::<L, F, STRIDE, 1>(part, fold, [depth, row]);
                }
                continue;
            }
            for row in range.clone().step_by(ROWS) {
                // The last rows may be computed twice.
                let row = row.min(range.end - ROWS);
                if WIDE == 0 {
                    rows::<L, F, STRIDE, ROWS>(part, fold, [depth, row]);
                } else {
                    square::<L, F, STRIDE, WIDE>(part, fold, [depth, row]);
                }
            }
        }
    }
}

/// Pointer to the input row of a tap for an output row.
#[inline(always)]
fn line(windows: &Windows, values: &[f32], front: usize, at: usize) -> *const f32 {
    let line = front + windows.lines[1][at];
    if line < BESIDE {
        values.as_ptr().wrapping_add(line)
    } else {
        windows.outside.as_ptr()
    }
}

/// Loads the input of a tap along a row.
///
/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn load<L: Masked, const STRIDE: usize>(
    windows: &Windows,
    line: *const f32,
    tap: (isize, u32),
) -> L {
    let (from, mask) = (line.wrapping_offset(tap.0), tap.1);
    // SAFETY: the masks have only numbers of a row, and lines are rows.
    unsafe {
        let other = L::splat(windows.value);
        match STRIDE {
            1 => L::load_some(from, mask, other),
            2 => L::load_pairs(from, mask, other),
            _ => L::load_strided(from, windows.geometry.strides[2], mask, other),
        }
    }
}

/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn rows<L: Masked, F: Fold<L>, const STRIDE: usize, const R: usize>(
    part: &Part<'_>,
    fold: &F,
    [depth, row]: [usize; 2],
) {
    let (windows, values) = (part.windows, part.values);
    let [fronts, downs, _] = windows.geometry.kernel;
    // SAFETY: what the caller says.
    unsafe {
        for register in &windows.registers {
            let mut sums = [fold.begin(); R];
            let mut number = 0;
            for front in &windows.lines[0][depth * fronts..][..fronts] {
                for down in 0..downs {
                    let lines: [*const f32; R] = std::array::from_fn(
                        #[inline(always)]
                        |at| line(windows, values, *front, (row + at) * downs + down),
                    );
                    for &tap in &register.taps {
                        for (sum, line) in sums.iter_mut().zip(lines) {
                            let values = load::<L, STRIDE>(windows, line, tap);
                            *sum = fold.step(*sum, values, number);
                        }
                        number += 1;
                    }
                }
            }
            end(part, fold, sums, [depth, row], register);
        }
    }
}

/// [`rows`] for square kernels without dilation: each input element is loaded once for all output rows.
///
/// # Safety
///
/// As for [`all`], and the windows are such.
#[inline(always)]
unsafe fn square<L: Masked, F: Fold<L>, const STRIDE: usize, const WIDE: usize>(
    part: &Part<'_>,
    fold: &F,
    [depth, row]: [usize; 2],
) {
    let (windows, values) = (part.windows, part.values);
    // SAFETY: what the caller says.
    unsafe {
        for register in &windows.registers {
            let taps: [(isize, u32); WIDE] = std::array::from_fn(|tap| register.taps[tap]);
            let mut sums = [fold.begin(); ROWS];
            for (front, begin) in windows.lines[0][depth * windows.geometry.kernel[0]..]
                .iter()
                .take(windows.geometry.kernel[0])
                .enumerate()
            {
                for down in 0..(ROWS - 1) * STRIDE + WIDE {
                    // The last output row that reads it, with one of its first taps.
                    let last = (down / STRIDE).min(ROWS - 1);
                    let at = (row + last) * WIDE + down - last * STRIDE;
                    let line = line(windows, values, *begin, at);
                    let seen: [L; WIDE] = std::array::from_fn(
                        #[inline(always)]
                        |tap| load::<L, STRIDE>(windows, line, taps[tap]),
                    );
                    for (at, sum) in sums.iter_mut().enumerate() {
                        let tap = down.wrapping_sub(at * STRIDE);
                        if tap < WIDE {
                            for (right, seen) in seen.into_iter().enumerate() {
                                let number = (front * WIDE + tap) * WIDE + right;
                                *sum = fold.step(*sum, seen, number);
                            }
                        }
                    }
                }
            }
            end(part, fold, sums, [depth, row], register);
        }
    }
}

/// Stores the output pixels of a vector in several rows.
///
/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn end<L: Masked, F: Fold<L>, const R: usize>(
    part: &Part<'_>,
    fold: &F,
    sums: [L; R],
    [depth, row]: [usize; 2],
    register: &Register,
) {
    let [_, high, wide] = part.windows.geometry.positions;
    let mask = ((1u64 << register.count) - 1) as u32;
    let offset = (depth * high + row) * wide + register.first;
    // In the tile, which begins with the first of the output rows.
    let in_tile = depth * part.out.stride() + (row - part.rows.start) * wide + register.first;
    let to = part.out.as_mut_ptr().wrapping_add(in_tile);
    for (at, sum) in sums.into_iter().enumerate() {
        let pixels = At {
            position: [depth, row + at, register.first],
            offset: offset + at * wide,
            mask,
        };
        // SAFETY: the caller's promise. The mask has columns of the row, which is one of the output rows.
        unsafe {
            fold.end(sum, pixels)
                .store_some(to.wrapping_add(at * wide), mask)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_no_more_than_memory_has_places() {
        let geometry = Geometry {
            sizes: [1; 3],
            kernel: [1; 3],
            strides: [1; 3],
            dilations: [1; 3],
            before: [1 << 21; 3],
            positions: [1 << 22, 1 << 21, 1 << 21],
        };
        assert!(Windows::new(Set::best(), geometry, [1, 1], 0.0).is_none());
        // The offset of the last row wraps around to 1.
        let rows = Geometry {
            sizes: [9, 1, 1],
            before: [0; 3],
            positions: [9, 1, 1],
            ..geometry
        };
        assert!(Windows::new(Set::best(), rows, [1, 1], 0.0).is_some());
        let far = 1 << (usize::BITS - 3);
        assert!(Windows::new(Set::best(), rows, [far, 0], 0.0).is_none());
    }
}
