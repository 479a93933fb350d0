//! Windows that slide over single channels: depthwise convolutions and pools.
//!
//! Rows of the input are read in place. Padding is masked along rows, and is a row of the padding value along the other axes,
//! so that nothing is padded first.

mod fold;
mod part;
mod shares;
mod square;
mod tables;

use std::ops::Range;

use super::{
    conv::Geometry,
    memory::{SliceWriter, Unwritten, Written},
    simd::{Floats, InstructionSet, Isa, Rows, with_isa},
    tile::write_row_blocks,
};
pub use fold::{At, Fold};
use part::Part;
pub use shares::{Planes, by_bands};
use square::Square;
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
    set: InstructionSet,
}

/// Maximum number of output pixels times taps along an axis.
const MOST: usize = 1 << 22;

impl Windows {
    /// Windows over inputs with these strides along depth and rows, and contiguous columns. The padding is
    /// `value`. Returns `None` if the input is empty, or the tables would be too large.
    pub fn new(set: InstructionSet, geometry: Geometry, steps: [usize; 2], value: f32) -> Option<Self> {
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
        let far = (deep - 1).checked_mul(steps[0])?.checked_add((high - 1).checked_mul(steps[1])?)?;
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
            registers: firsts.map(|at| Register::new(&geometry, at, lanes)).collect(),
            set,
        })
    }

    /// Writes some output rows of one channel, whose input is the first elements of `values`. `out` has a row
    /// for each depth, with the output rows as its columns.
    pub fn run<'a>(
        &self,
        values: &[f32],
        rows: Range<usize>,
        fold: &impl Fold,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let [depths, high, wide] = self.geometry.positions;
        assert!(values.len() >= self.length);
        assert!(rows.end <= high && out.rows() == depths && out.columns() == rows.len() * wide);
        let part = Part { windows: self, values, rows };
        with_isa!(self.set, isa => all(isa, &part, fold, out))
    }
}

#[inline(always)]
fn all<'a, I: Isa, F: Fold>(isa: I, part: &Part<'_>, fold: &F, out: Unwritten<'a>) -> Written<'a> {
    let g = &part.windows.geometry;
    let [_, down, right] = g.strides;
    // Other sets of four lanes were not measured.
    let has_squares = I::LANES > 4 || cfg!(target_arch = "wasm32");
    let is_square = has_squares && g.kernel[1] == g.kernel[2] && down == right && g.dilations[1..] == [1, 1];
    match (right, g.kernel[2]) {
        (1, 3) if is_square => by_rows::<I, F, 1, 3>(isa, part, fold, out),
        (1, 5) if is_square => by_rows::<I, F, 1, 5>(isa, part, fold, out),
        (1, 7) if is_square => by_rows::<I, F, 1, 7>(isa, part, fold, out),
        (2, 3) if is_square => by_rows::<I, F, 2, 3>(isa, part, fold, out),
        (2, 5) if is_square => by_rows::<I, F, 2, 5>(isa, part, fold, out),
        (1, _) => by_rows::<I, F, 1, 0>(isa, part, fold, out),
        (2, _) => by_rows::<I, F, 2, 0>(isa, part, fold, out),
        _ => by_rows::<I, F, 0, 0>(isa, part, fold, out),
    }
}

/// Windows of column stride `STRIDE`, and of `WIDE` by `WIDE` taps, unless these are 0.
#[inline(always)]
fn by_rows<'a, I: Isa, F: Fold, const STRIDE: usize, const WIDE: usize>(
    isa: I,
    part: &Part<'_>,
    fold: &F,
    out: Unwritten<'a>,
) -> Written<'a> {
    match part.rows.len() {
        ROWS.. => blocks::<I, F, STRIDE, WIDE, ROWS>(isa, part, fold, out),
        2.. if WIDE > 0 => blocks::<I, F, STRIDE, WIDE, 2>(isa, part, fold, out),
        _ => blocks::<I, F, STRIDE, 0, 1>(isa, part, fold, out),
    }
}

/// Computes output rows, `R` at a time. The part has at least as many.
#[inline(always)]
fn blocks<'a, I: Isa, F: Fold, const STRIDE: usize, const WIDE: usize, const R: usize>(
    isa: I,
    part: &Part<'_>,
    fold: &F,
    out: Unwritten<'a>,
) -> Written<'a> {
    let (rows, wide) = (part.rows.clone(), part.windows.geometry.positions[2]);
    let mut lines = Vec::new();
    out.write_rows(
        #[inline(always)]
        |depth, out| {
            write_row_blocks(
                out,
                rows.clone(),
                wide,
                #[inline(always)]
                |row, out| {
                    let at = [depth, row];
                    if WIDE == 0 {
                        part.fill_lines(&mut lines, at);
                        several::<I, F, STRIDE, R>(isa, part, fold, at, &lines, out);
                    } else {
                        Square::new::<STRIDE, WIDE>(part, fold, at).write::<I, STRIDE, WIDE>(isa, out);
                    }
                },
            )
        },
    )
}

/// Output pixels of `R` rows.
#[inline(always)]
fn several<I: Isa, F: Fold, const STRIDE: usize, const R: usize>(
    isa: I,
    part: &Part<'_>,
    fold: &F,
    [depth, row]: [usize; 2],
    lines: &[Rows<'_, R>],
    out: &mut [SliceWriter<'_, f32>; R],
) {
    let windows = part.windows;
    let padding = isa.splat(windows.value);
    let weights = fold.weights();
    for register in &windows.registers {
        let mut sums = [fold.begin(isa); R];
        let mut number = 0;
        for lines in lines {
            register.taps.each::<I, STRIDE, R>(
                isa,
                lines,
                padding,
                #[inline(always)]
                |values| {
                    let weight = isa.splat(weights.get(number).copied().unwrap_or(0.0));
                    for (sum, values) in sums.iter_mut().zip(values) {
                        *sum = fold.step(isa, *sum, values, weight);
                    }
                    number += 1;
                },
            );
        }
        end(
            isa,
            windows,
            fold,
            [depth, row],
            register,
            #[inline(always)]
            |at| sums[at],
            out,
        );
    }
}

/// Writes the output pixels of a register in several rows. `sum` returns the sums of a row.
#[inline(always)]
fn end<I: Isa, F: Fold, const R: usize>(
    isa: I,
    windows: &Windows,
    fold: &F,
    [depth, row]: [usize; 2],
    register: &Register,
    sum: impl Fn(usize) -> I::Floats,
    out: &mut [SliceWriter<'_, f32>; R],
) {
    let [_, high, wide] = windows.geometry.positions;
    let offset = (depth * high + row) * wide + register.first;
    for (at, out) in out.iter_mut().enumerate() {
        // Rows that are written already have no room.
        if out.missing() == 0 {
            continue;
        }
        let pixels = At {
            position: [depth, row + at, register.first],
            offset: offset + at * wide,
            count: register.count,
        };
        let pixels = fold.end(isa, sum(at), pixels);
        out.write(
            register.count,
            #[inline(always)]
            |out| pixels.write(out),
        );
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
        assert!(Windows::new(InstructionSet::best(), geometry, [1, 1], 0.0).is_none());
        // The offset of the last row wraps around to 1.
        let rows = Geometry { sizes: [9, 1, 1], before: [0; 3], positions: [9, 1, 1], ..geometry };
        assert!(Windows::new(InstructionSet::best(), rows, [1, 1], 0.0).is_some());
        let far = 1 << (usize::BITS - 3);
        assert!(Windows::new(InstructionSet::best(), rows, [far, 0], 0.0).is_none());
    }
}
