//! Matrices in the order in which tiles read them.

use std::ops::Range;

use bytemuck::Pod;

use crate::flex::{
    memory::{Lines, on_chunks},
    simd::InstructionSet,
    stored::Plain,
    tile::RowOffsets,
    view::Matrix,
};

/// An operand B in panels of NR columns. The last panel is padded with zeros.
pub struct Right {
    pub set: InstructionSet,
    pub columns: usize,
    pub inner: usize,
    pub offsets: RowOffsets,
    values: Lines<f32>,
}

/// Some terms and columns of a packed matrix.
#[derive(Clone, Copy)]
pub struct RightPart<'a> {
    pub right: &'a Right,
    pub first_term: usize,
    /// A multiple of [`InstructionSet::nr`].
    pub first_column: usize,
    pub offsets: &'a RowOffsets,
}

impl Right {
    pub fn new<T: Pod + Send + Sync>(set: InstructionSet, matrix: Matrix<'_, T>) -> Self {
        let mut right = Self::empty(set);
        right.pack(matrix);
        right
    }

    /// The same for a matrix that is kept.
    pub fn of_weight<T: Pod + Send + Sync>(set: InstructionSet, matrix: Matrix<'_, T>) -> Self {
        let mut right = Self::empty(set);
        right.values = Lines::of_weight(matrix.rows * matrix.columns.next_multiple_of(set.nr()));
        right.pack(matrix);
        right
    }

    /// No matrix yet.
    pub fn empty(set: InstructionSet) -> Self {
        Self { set, columns: 0, inner: 0, offsets: RowOffsets::default(), values: Lines::new(0) }
    }

    /// Another matrix in the same memory, of numbers of single precision in some alignment.
    pub fn pack<T: Pod + Send + Sync>(&mut self, matrix: Matrix<'_, T>) {
        let width = self.set.nr();
        if self.inner != matrix.rows {
            self.offsets = RowOffsets::of_panel(matrix.rows, width);
        }
        (self.inner, self.columns) = (matrix.rows, matrix.columns);
        let panel = width * self.inner;
        let panels = self.columns.div_ceil(width);
        if self.values.len() < panels * panel {
            self.values = Lines::new(panels * panel);
        }
        let values = &mut self.values[..panels * panel];
        if !self.columns.is_multiple_of(width) {
            values[(panels - 1) * panel..].fill(0.0);
        }
        pack_right(matrix, width, bytemuck::cast_slice_mut(values));
    }

    /// The panel with the columns from `first` on, a multiple of [`InstructionSet::nr`].
    pub fn panel(&self, first: usize) -> &[f32] {
        &self.values[first * self.inner..][..self.set.nr() * self.inner]
    }

    /// All of it.
    pub fn whole(&self) -> RightPart<'_> {
        RightPart { right: self, first_term: 0, first_column: 0, offsets: &self.offsets }
    }
}

impl Plain for Right {
    fn write(&self, out: &mut [f32]) {
        let width = self.set.nr();
        for (term, row) in out.chunks_exact_mut(self.columns.max(1)).enumerate() {
            for (at, columns) in row.chunks_mut(width).enumerate() {
                let panel = self.panel(at * width);
                columns.copy_from_slice(&panel[term * width..][..columns.len()]);
            }
        }
    }
}

impl<'a> RightPart<'a> {
    /// The panel with the columns from `first` of the part on.
    pub fn panel(&self, first: usize) -> &'a [f32] {
        let width = self.right.set.nr();
        let panel = self.right.panel(self.first_column + first);
        &panel[self.first_term * width..][..self.offsets.count() * width]
    }
}

/// The rows of each panel.
pub fn panels(rows: usize, panel_rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(panel_rows.max(1)).map(move |first| first..rows.min(first + panel_rows))
}

/// Writes the rows in panels: the values of all rows of a panel for one term follow one another.
pub fn pack_left<T: Copy>(matrix: Matrix<'_, T>, panel_rows: usize, out: &mut [T]) {
    if matrix.columns == 0 {
        return;
    }
    for rows in panels(matrix.rows, panel_rows) {
        let out = &mut out[rows.start * matrix.columns..rows.end * matrix.columns];
        let count = rows.len();
        let matrix = matrix.rows(rows.start, count);
        if matrix.row_step == 1 {
            for (term, out) in out.chunks_exact_mut(count).enumerate() {
                let at = term * matrix.column_step;
                out.copy_from_slice(&matrix.values[at..at + count]);
            }
        } else {
            interleave(matrix, out, count);
        }
    }
}

/// Number of elements of a matrix that several threads pack: about a millisecond of one.
const MANY: usize = 1 << 20;

/// Writes the panels of [`Right`], the last one over zeros.
pub fn pack_right<T: Copy + Send + Sync>(matrix: Matrix<'_, T>, width: usize, out: &mut [T]) {
    let panel = width * matrix.rows.max(1);
    let pack = |at: usize, out: &mut [T]| {
        let first = at * width;
        pack_columns(matrix.columns(first, width.min(matrix.columns - first)), width, out);
    };
    let whole = out.len() / panel * panel;
    let out = &mut out[..whole];
    if whole >= MANY {
        on_chunks(out, panel, pack);
    } else {
        out.chunks_exact_mut(panel).enumerate().for_each(|(at, out)| pack(at, out));
    }
}

/// Writes columns, at most `width`, as one panel over zeros.
pub fn pack_columns<T: Copy>(matrix: Matrix<'_, T>, width: usize, out: &mut [T]) {
    if matrix.row_step == 1 && matrix.column_step != 1 {
        interleave(matrix.transposed(), out, width);
    } else {
        matrix.lay_out(&mut out[..matrix.rows * width], width);
    }
}

/// Writes row after row as columns, which are `step` apart.
fn interleave<T: Copy>(matrix: Matrix<'_, T>, out: &mut [T], step: usize) {
    if matrix.column_step != 1 {
        for (term, out) in out.chunks_mut(step).enumerate().take(matrix.columns) {
            for (row, out) in out[..matrix.rows].iter_mut().enumerate() {
                *out = matrix.at(row, term);
            }
        }
        return;
    }
    let row = |row: usize| &matrix.values[row * matrix.row_step..][..matrix.columns];
    let fours = matrix.rows - matrix.rows % 4;
    for first in (0..fours).step_by(4) {
        four([0, 1, 2, 3].map(|below| row(first + below)), &mut out[first..], step);
    }
    let twos = matrix.rows - matrix.rows % 2;
    if fours < twos {
        let pairs = row(fours).iter().zip(row(fours + 1));
        for (out, (a, b)) in out[fours..].chunks_mut(step).zip(pairs) {
            out[..2].copy_from_slice(&[*a, *b]);
        }
    }
    for at in twos..matrix.rows {
        for (out, value) in out[at..].iter_mut().step_by(step).zip(row(at)) {
            *out = *value;
        }
    }
}

/// Four rows, in blocks that are transposed in registers.
fn four<T: Copy>(rows: [&[T]; 4], out: &mut [T], step: usize) {
    let [(a, rest), (b, _), (c, _), (d, _)] = rows.map(|row| row.as_chunks::<4>());
    for (at, (((a, b), c), d)) in a.iter().zip(b).zip(c).zip(d).enumerate() {
        let out = &mut out[4 * at * step..][..3 * step + 4];
        for term in 0..4 {
            let column = [a[term], b[term], c[term], d[term]];
            out[term * step..][..4].copy_from_slice(&column);
        }
    }
    for term in rows[0].len() - rest.len()..rows[0].len() {
        out[term * step..][..4].copy_from_slice(&rows.map(|row| row[term]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_term_follow_one_another() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let rows = Matrix::dense(&values, 3);
        for (matrix, expected) in
            [(rows, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]), (rows.transposed(), [1.0, 2.0, 4.0, 5.0, 3.0, 6.0])]
        {
            let mut out = [0.0; 6];
            pack_left(matrix, 2, &mut out);
            assert_eq!(out, expected);
        }
        for (matrix, expected) in [
            (rows, [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0].to_vec()),
            (rows.transposed(), [1.0, 4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0].to_vec()),
        ] {
            let mut out = vec![0.0; expected.len()];
            pack_right(matrix, 4, &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn many_elements_are_packed_as_few_are() {
        let (rows, columns) = (1031, 1030);
        let values: Vec<f32> = (0..rows * columns).map(|at| at as f32).collect();
        let matrix = Matrix::dense(&values, columns);
        for matrix in [matrix, matrix.transposed()] {
            let width = 16;
            let (panel, panels) = (width * matrix.rows, matrix.columns.div_ceil(width));
            let mut out = vec![0.0; panel * panels];
            assert!(out.len() >= MANY);
            pack_right(matrix, width, &mut out);
            let expected = |at: usize| {
                let (column, term) = (at / panel * width + at % width, at % panel / width);
                if column < matrix.columns { matrix.at(term, column) } else { 0.0 }
            };
            assert!(out.iter().enumerate().all(|(at, value)| *value == expected(at)));
        }
    }
}
