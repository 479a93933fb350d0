//! Bytes in groups of four terms, in the order in which tiles read them.

use std::ops::Range;

use super::dot::Dot;
use crate::flex::gemm::{Steps, panels};

/// The most significant bits of four bytes: what tells signed from unsigned ones, shifted by 128.
pub const SHIFT: u32 = 0x8080_8080;

/// A matrix of bytes inside of a slice, in steps from one row and one column to the next.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    pub values: &'a [u8],
    pub rows: usize,
    pub columns: usize,
    pub row_step: usize,
    pub column_step: usize,
    pub is_signed: bool,
}

/// Rows as signed bytes in panels, and the sum of each.
pub struct Left {
    pub rows: usize,
    pub panel: usize,
    /// Words of one row.
    length: usize,
    values: Vec<u32>,
    pub sums: Vec<i32>,
}

/// Columns as unsigned bytes in panels, and the sum of each; missing ones in the last panel are 0.
pub struct Right {
    pub dot: Dot,
    pub columns: usize,
    pub inner: usize,
    pub steps: Steps,
    values: Vec<u32>,
    pub sums: Vec<i32>,
}

impl Matrix<'_> {
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// Four bytes of a row, or what there is of them.
    #[inline(always)]
    fn group(&self, row: usize, first: usize, there: usize) -> u32 {
        let mut bytes = [0; 4];
        for (at, byte) in bytes.iter_mut().enumerate().take(there) {
            *byte = self.values[row * self.row_step + (first + at) * self.column_step];
        }
        u32::from_le_bytes(bytes)
    }
}

/// The bytes of a group that are terms.
fn there(inner: usize, group: usize) -> usize {
    (inner - 4 * group).min(4)
}

/// A mask of the first bytes of a group.
pub fn first_bytes(count: usize) -> u32 {
    (1u64 << (8 * count)).wrapping_sub(1) as u32
}

/// The sum of four signed bytes.
#[inline(always)]
pub fn signed_sum(group: u32) -> i32 {
    let sum = |byte: u8| i32::from(byte as i8);
    group.to_le_bytes().into_iter().map(sum).sum()
}

impl Left {
    /// `row` gives all groups of a row as signed bytes, with zeros behind the last term.
    pub fn new(
        dot: Dot,
        rows: usize,
        groups: usize,
        mut row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        let panel = dot.panel(rows);
        let words = dot.words();
        let length = groups * words;
        let mut values = vec![0; rows * length];
        let mut sums = vec![0i32; rows];
        let mut of_row = vec![0; groups];
        for rows in panels(rows, panel) {
            let (first, count) = (rows.start, rows.len());
            let out = &mut values[first * length..rows.end * length];
            for at in rows {
                row(at, &mut of_row);
                for (group, terms) in of_row.iter().enumerate() {
                    sums[at] = sums[at].wrapping_add(signed_sum(*terms));
                    dot.write(
                        *terms,
                        &mut out[(group * count + at - first) * words..][..words],
                    );
                }
            }
        }
        Self {
            rows,
            panel,
            length,
            values,
            sums,
        }
    }

    pub fn of(dot: Dot, matrix: Matrix<'_>) -> Self {
        let inner = matrix.columns;
        let flip = if matrix.is_signed { 0 } else { SHIFT };
        Self::new(dot, matrix.rows, inner.div_ceil(4), |row, out| {
            let whole = if matrix.column_step == 1 {
                let bytes = &matrix.values[row * matrix.row_step..][..inner];
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                    *out = u32::from_le_bytes(*bytes) ^ flip;
                }
                inner / 4
            } else {
                0
            };
            for (group, out) in out.iter_mut().enumerate().skip(whole) {
                let count = there(inner, group);
                *out = (matrix.group(row, 4 * group, count) ^ flip) & first_bytes(count);
            }
        })
    }

    /// The words of a panel.
    pub fn rows(&self, rows: Range<usize>) -> &[u32] {
        &self.values[rows.start * self.length..rows.end * self.length]
    }
}

impl Right {
    pub fn new(dot: Dot, matrix: Matrix<'_>) -> Self {
        let (inner, columns, width) = (matrix.rows, matrix.columns, dot.columns());
        let groups = inner.div_ceil(4);
        let flip = if matrix.is_signed { SHIFT } else { 0 };
        let count = columns.next_multiple_of(width);
        let mut values = vec![0; count * groups];
        let mut sums = vec![0i32; count];
        for (panel, out) in values.chunks_exact_mut((width * groups).max(1)).enumerate() {
            let first = panel * width;
            let there_are = width.min(columns - first);
            for (group, out) in out.chunks_exact_mut(width).enumerate() {
                let terms = there(inner, group);
                let out = &mut out[..there_are];
                let at = 4 * group * matrix.row_step + first * matrix.column_step;
                if matrix.column_step == 1 && terms == 4 {
                    let rows =
                        std::array::from_fn(|row| &matrix.values[at + row * matrix.row_step..]);
                    interleave(dot, rows, 1, flip, out);
                } else {
                    for (column, out) in out.iter_mut().enumerate() {
                        let bytes = matrix.transposed().group(first + column, 4 * group, terms);
                        *out = (bytes ^ flip) & first_bytes(terms);
                    }
                }
                for (sum, group) in sums[first..].iter_mut().zip(out) {
                    let bytes = group.to_le_bytes().into_iter().map(i32::from);
                    *sum = sum.wrapping_add(bytes.sum());
                }
            }
        }
        Self {
            dot,
            columns,
            inner,
            steps: Steps::of_panel(groups, width),
            values,
            sums,
        }
    }

    /// The panel with the columns from `first` on, a multiple of [`Dot::columns`].
    pub fn panel(&self, first: usize) -> &[u32] {
        let groups = self.steps.count();
        &self.values[first * groups..][..self.dot.columns() * groups]
    }
}

/// Groups of a byte of each line, `stride` bytes from one group to the next, with the bits of `flip` changed.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn interleave(dot: Dot, lines: [&[u8]; 4], stride: usize, flip: u32, out: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw")]
        fn widest(lines: [&[u8]; 4], stride: usize, flip: u32, out: &mut [u32]) {
            groups(lines, stride, flip, out);
        }
        #[target_feature(enable = "avx2")]
        fn wide(lines: [&[u8]; 4], stride: usize, flip: u32, out: &mut [u32]) {
            groups(lines, stride, flip, out);
        }
        assert!(dot.is_there());
        match dot {
            // SAFETY: the processor has the instructions.
            Dot::Vnni => return unsafe { widest(lines, stride, flip, out) },
            // SAFETY: as above.
            Dot::VnniNarrow | Dot::Madd => return unsafe { wide(lines, stride, flip, out) },
            Dot::Portable => {}
        }
    }
    groups(lines, stride, flip, out);
}

#[inline(always)]
fn groups(lines: [&[u8]; 4], stride: usize, flip: u32, out: &mut [u32]) {
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
