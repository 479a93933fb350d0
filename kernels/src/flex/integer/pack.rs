//! Operands of products of bytes, packed in groups of four terms.

use std::ops::Range;

use crate::flex::{
    gemm::panels,
    memory::{Buffer, Lines},
    plan::TileSize,
    simd::{DotInstructions, SIGNS, with_dot_isa},
    tile::RowOffsets,
    view::Matrix,
};

/// Rows as signed bytes in panels, and the sum of each.
pub struct Left {
    pub rows: usize,
    /// Number of rows of a panel; the last one may have fewer.
    pub panel_rows: usize,
    /// Words of one row.
    length: usize,
    values: Buffer<u32>,
    pub sums: Vec<i32>,
}

/// Columns as the bytes that a product takes in panels, and the sum of each; missing ones in the last panel are 0.
pub struct Right {
    pub dot: DotInstructions,
    pub columns: usize,
    pub inner: usize,
    pub offsets: RowOffsets,
    values: Lines<u32>,
    pub sums: Vec<i32>,
}

/// Four bytes of a row, or the last ones.
#[inline(always)]
fn group(matrix: &Matrix<'_, u8>, row: usize, first: usize, there: usize) -> u32 {
    let mut bytes = [0; 4];
    for (at, byte) in bytes.iter_mut().enumerate().take(there) {
        *byte = matrix.at(row, first + at);
    }
    u32::from_le_bytes(bytes)
}

/// The bytes of a group that are terms.
fn there(inner: usize, group: usize) -> usize {
    (inner - 4 * group).min(4)
}

/// The sum of signed bytes.
#[inline(always)]
fn signed_sum(groups: &[u32]) -> i32 {
    let bytes: &[i8] = bytemuck::cast_slice(groups);
    // 2^16 of them fit a sum of 32 bits, and more wrap around.
    bytes.iter().fold(0i32, |sum, byte| sum.wrapping_add(i32::from(*byte)))
}

/// A mask of the first bytes of a group.
pub fn first_bytes(count: usize) -> u32 {
    (1u64 << (8 * count)).wrapping_sub(1) as u32
}

impl Left {
    /// `row` writes all groups of a row as signed bytes, with zeros after the last term.
    pub fn new(dot: DotInstructions, rows: usize, groups: usize, row: impl FnMut(usize, &mut [u32])) -> Self {
        let panel_rows = TileSize::of_bytes(dot).panel_rows(rows);
        let length = groups * dot.words();
        let values = Buffer::filled(rows * length, |out| out.zeroed());
        let mut left = Self { rows, panel_rows, length, values, sums: vec![0; rows] };
        with_dot_isa!(dot, _isa => left.fill(dot, groups, row));
        left
    }

    #[inline(always)]
    fn fill(&mut self, dot: DotInstructions, groups: usize, mut row: impl FnMut(usize, &mut [u32])) {
        let words = dot.words();
        let mut of_row = vec![0; groups];
        for rows in panels(self.rows, self.panel_rows) {
            let (first, count) = (rows.start, rows.len());
            let out = &mut self.values[first * self.length..rows.end * self.length];
            for at in rows {
                row(at, &mut of_row);
                self.sums[at] = signed_sum(&of_row);
                let out = out.chunks_exact_mut((count * words).max(1));
                for (out, terms) in out.zip(&of_row) {
                    dot.write_row(*terms, &mut out[(at - first) * words..][..words]);
                }
            }
        }
    }

    pub fn of(dot: DotInstructions, matrix: Matrix<'_, u8>, is_signed: bool) -> Self {
        let inner = matrix.columns;
        let flip = if is_signed { 0 } else { SIGNS };
        let groups = inner.div_ceil(4);
        Self::new(
            dot,
            matrix.rows,
            groups,
            #[inline(always)]
            |row, out| {
                let whole = if matrix.column_step == 1 {
                    let bytes = &matrix.values[row * matrix.row_step..][..inner];
                    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                        *out = u32::from_le_bytes(*bytes) ^ flip;
                    }
                    inner / 4
                } else {
                    0
                };
                for (at, out) in out.iter_mut().enumerate().skip(whole) {
                    let count = there(inner, at);
                    *out = (group(&matrix, row, 4 * at, count) ^ flip) & first_bytes(count);
                }
            },
        )
    }

    /// The words of a panel.
    pub fn rows(&self, rows: Range<usize>) -> &[u32] {
        &self.values[rows.start * self.length..rows.end * self.length]
    }
}

impl Right {
    pub fn new(dot: DotInstructions, matrix: Matrix<'_, u8>, is_signed: bool) -> Self {
        Self::in_lines(dot, matrix, is_signed, Lines::new)
    }

    /// The same for a matrix that is kept.
    pub fn of_weight(dot: DotInstructions, matrix: Matrix<'_, u8>, is_signed: bool) -> Self {
        Self::in_lines(dot, matrix, is_signed, Lines::of_weight)
    }

    fn in_lines(
        dot: DotInstructions,
        matrix: Matrix<'_, u8>,
        is_signed: bool,
        lines: fn(usize) -> Lines<u32>,
    ) -> Self {
        let (inner, columns, width) = (matrix.rows, matrix.columns, dot.nr());
        let groups = inner.div_ceil(4);
        let flip = dot.flip(is_signed);
        let count = columns.next_multiple_of(width);
        let mut right = Self {
            dot,
            columns,
            inner,
            offsets: RowOffsets::of_panel(groups, width),
            values: lines(count * groups),
            sums: vec![0; count],
        };
        with_dot_isa!(dot, _isa => right.fill(matrix, flip));
        right
    }

    #[inline(always)]
    fn fill(&mut self, matrix: Matrix<'_, u8>, flip: u32) {
        let (inner, width) = (self.inner, self.dot.nr());
        let (unsigned, more) = self.dot.unsigned();
        let groups = inner.div_ceil(4);
        let panels = self.values.chunks_exact_mut((width * groups).max(1));
        for (panel, out) in panels.enumerate() {
            let first = panel * width;
            let there_are = width.min(self.columns - first);
            let sums = &mut self.sums[first..][..there_are];
            if matrix.row_step == 1 && matrix.column_step != 1 {
                for (column, sum) in sums.iter_mut().enumerate() {
                    let bytes = &matrix.values[(first + column) * matrix.column_step..][..inner];
                    let out = out.chunks_exact_mut(width).map(|out| &mut out[column]);
                    copy_column(bytes, flip, out);
                    *sum = unsigned_sum(bytes, flip ^ unsigned).wrapping_sub(more.wrapping_mul(inner as i32));
                }
                continue;
            }
            for (at, out) in out.chunks_exact_mut(width).enumerate() {
                let terms = there(inner, at);
                let out = &mut out[..there_are];
                let from = 4 * at * matrix.row_step + first * matrix.column_step;
                if matrix.column_step == 1 && terms == 4 {
                    let rows = std::array::from_fn(|row| &matrix.values[from + row * matrix.row_step..]);
                    interleave_groups(rows, 1, flip, out);
                } else {
                    for (column, out) in out.iter_mut().enumerate() {
                        let bytes = group(&matrix.transposed(), first + column, 4 * at, terms);
                        *out = (bytes ^ flip) & first_bytes(terms);
                    }
                }
                for (sum, group) in sums.iter_mut().zip(out) {
                    // Neighbors of 16 bits, then both.
                    let group = *group ^ unsigned;
                    let pairs = (group & 0x00ff_00ff) + (group >> 8 & 0x00ff_00ff);
                    let all = (pairs & 0xffff) as i32 + (pairs >> 16) as i32;
                    *sum = sum.wrapping_add(all - 4 * more);
                }
            }
        }
    }

    /// The panel with the columns from `first` on, a multiple of [`DotInstructions::nr`].
    pub fn panel(&self, first: usize) -> &[u32] {
        let groups = self.offsets.count();
        &self.values[first * groups..][..self.dot.nr() * groups]
    }
}

/// Writes the groups of a column whose bytes follow one another.
#[inline(always)]
fn copy_column<'a>(bytes: &[u8], flip: u32, mut out: impl Iterator<Item = &'a mut u32>) {
    let (groups, rest) = bytes.as_chunks();
    for (group, out) in groups.iter().zip(&mut out) {
        *out = u32::from_le_bytes(*group) ^ flip;
    }
    if let (false, Some(out)) = (rest.is_empty(), out.next()) {
        let mut group = [0; 4];
        group[..rest.len()].copy_from_slice(rest);
        *out = (u32::from_le_bytes(group) ^ flip) & first_bytes(rest.len());
    }
}

/// The sum of bytes, with some bits changed, as unsigned ones.
#[inline(always)]
fn unsigned_sum(bytes: &[u8], flip: u32) -> i32 {
    let flip = flip as u8;
    bytes.iter().fold(0i32, |sum, byte| sum.wrapping_add(i32::from(*byte ^ flip)))
}

/// Groups of a byte of each line, `stride` bytes from one group to the next, with the bits of `flip` changed.
pub fn interleave(dot: DotInstructions, lines: [&[u8]; 4], stride: usize, flip: u32, out: &mut [u32]) {
    with_dot_isa!(dot, _isa => interleave_groups(lines, stride, flip, out));
}

#[inline(always)]
fn interleave_groups(lines: [&[u8]; 4], stride: usize, flip: u32, out: &mut [u32]) {
    match stride {
        1 => strided::<1>(lines, flip, out),
        2 => strided::<2>(lines, flip, out),
        _ => {
            for (at, out) in out.iter_mut().enumerate() {
                let bytes = [0, 1, 2, 3].map(|line: usize| lines[line][at * stride]);
                *out = u32::from_le_bytes(bytes) ^ flip;
            }
        }
    }
}

#[inline(always)]
fn strided<const STRIDE: usize>(lines: [&[u8]; 4], flip: u32, out: &mut [u32]) {
    let Some(last) = out.len().checked_sub(1) else {
        return;
    };
    let [a, b, c, d] = lines;
    let length = last * STRIDE + 1;
    let (a, b, c, d) = (&a[..length], &b[..length], &c[..length], &d[..length]);
    for (at, out) in out.iter_mut().enumerate() {
        let at = at * STRIDE;
        let low = u32::from(a[at]) | u32::from(b[at]) << 8;
        *out = (low | u32::from(c[at]) << 16 | u32::from(d[at]) << 24) ^ flip;
    }
}
