//! Products of matrices whose sums run in one order.
//!
//! Every element is a chain of fused multiply-adds from the first of its terms to the last, cut into
//! blocks that are added up: these are the bits of ONNX Runtime on processors with AVX2.

mod row;
mod tile;

use super::view::Matrix;
pub use row::multiply_row;
pub use tile::is_fast;

/// How long a chain is where one side is a weight.
pub const WEIGHT_BLOCK: usize = 256;

/// Multiplications that are worth another thread.
const SHARE: usize = 1 << 18;

/// How long a chain is where neither side is a weight.
pub fn block(columns: usize, inner: usize) -> usize {
    let (mut width, mut length) = (128, 128);
    if columns >= inner {
        while length / 2 >= inner.max(1) {
            length /= 2;
        }
    } else {
        while width > 16 && width / 2 >= columns {
            (width, length) = (width / 2, length * 2);
        }
    }
    length
}

/// Writes `a * b` to the rows of `out`, or adds it to what is there if `started`; chains are `block` long.
pub fn multiply(a: Matrix<'_>, b: Matrix<'_>, block: usize, started: bool, out: &mut [f32]) {
    let (rows, columns) = (a.rows, b.columns);
    if rows == 0 || columns == 0 {
        return;
    }
    if a.columns == 0 {
        if !started {
            out.fill(0.0);
        }
        return;
    }
    let threads = threads(rows * columns * a.columns / SHARE);
    let by_rows = rows.div_ceil(threads).next_multiple_of(tile::ROWS);
    if threads == 1 {
        tile::multiply(a, b, block, started, out);
    } else if rows >= threads * tile::ROWS {
        each_part(out, by_rows * columns, |at, out| {
            let a = a.rows(at * by_rows, out.len() / columns);
            tile::multiply(a, b, block, started, out);
        });
    } else {
        let width = columns.div_ceil(threads).next_multiple_of(tile::COLUMNS);
        let mut parts: Vec<Vec<f32>> = (0..columns)
            .step_by(width)
            .map(|first| vec![0.0; rows * width.min(columns - first)])
            .collect();
        let before: Option<&[f32]> = started.then_some(&*out);
        each_part(&mut parts, 1, |at, part| {
            let (first, part) = (at * width, &mut part[0]);
            let width = part.len() / rows;
            for (part, before) in part
                .chunks_mut(width)
                .zip(before.iter().flat_map(|out| out.chunks(columns)))
            {
                part.copy_from_slice(&before[first..first + width]);
            }
            tile::multiply(a, b.columns(first, width), block, started, part);
        });
        for (at, part) in parts.iter().enumerate() {
            let wide = part.len() / rows;
            for (out, part) in out.chunks_mut(columns).zip(part.chunks(wide)) {
                out[at * width..at * width + wide].copy_from_slice(part);
            }
        }
    }
}

/// How many threads `shares` of work are for.
fn threads(shares: usize) -> usize {
    shares.clamp(1, rayon::current_num_threads())
}

/// Runs over parts of `length` items with the number of each, side by side.
pub fn each_part<T: Send>(
    items: &mut [T],
    length: usize,
    run: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    use rayon::prelude::*;

    items
        .par_chunks_mut(length)
        .enumerate()
        .for_each(|(at, part)| run(at, part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_as_long_as_those_of_onnx_runtime() {
        let sizes = [
            (114, 910),
            (16, 576),
            (57, 192),
            (128, 64),
            (128, 3),
            (1000, 0),
        ];
        assert_eq!(
            sizes.map(|(columns, inner)| block(columns, inner)),
            [128, 1024, 256, 64, 4, 1],
        );
    }

    #[test]
    fn a_sum_of_nothing_is_zero_or_what_is_there() {
        let (a, b) = (
            Matrix {
                rows: 2,
                ..Matrix::dense(&[], 0)
            },
            Matrix {
                columns: 3,
                ..Matrix::dense(&[], 3)
            },
        );
        let mut out = [1.0; 6];
        multiply(a, b, 16, true, &mut out);
        assert_eq!(out, [1.0; 6]);
        multiply(a, b, 16, false, &mut out);
        assert_eq!(out, [0.0; 6]);
    }
}
