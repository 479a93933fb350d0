//! Tiles of a product that stay in registers.

use super::row::chain_row;
use crate::flex::view::Matrix;

/// Rows and columns of the largest tile.
pub const ROWS: usize = 8;
pub const COLUMNS: usize = 32;

/// Whether the processor has the instructions for tiles.
pub fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// [`super::multiply`] on one thread, for products that are not empty.
pub fn multiply(a: Matrix<'_>, b: Matrix<'_>, block: usize, started: bool, out: &mut [f32]) {
    if a.rows == 1 && b.column_step == 1 {
        let mut row = vec![0.0; a.columns];
        a.copy(0, 0, &mut row);
        return chain_row(&row, b, block, started, out);
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        by::<x86::Wide>(a, b, block, started, out)
    } else {
        by::<x86::Narrow>(a, b, block, started, out)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (a, b, block, started, out);
        unreachable!("tensors are read where they lie on x86-64 alone");
    }
}

/// A tile of `G` rows: `a` holds `G` values for each step of the chain, `b` a row, one `step` after another.
pub struct Tile<'a> {
    a: &'a [f32],
    b: &'a [f32],
    step: usize,
    length: usize,
    /// Whether sums are added to what is there.
    started: bool,
    out: &'a mut [f32],
    /// From one row of `out` to the next.
    out_step: usize,
    /// How many columns there are; the others are computed and dropped.
    width: usize,
}

/// A set of instructions.
trait Instructions {
    const ROWS: usize;
    const COLUMNS: usize;

    /// # Safety
    ///
    /// The processor has the instructions.
    unsafe fn run<const G: usize>(tile: Tile<'_>);
}

fn by<I: Instructions>(a: Matrix<'_>, b: Matrix<'_>, block: usize, started: bool, out: &mut [f32]) {
    let (rows, columns, inner) = (a.rows, b.columns, a.columns);
    let longest = block.min(inner);
    let mut groups = vec![0.0; rows * longest];
    let mut panel = vec![0.0; I::COLUMNS * longest];
    for first in (0..inner).step_by(block) {
        let length = block.min(inner - first);
        let started = started || first > 0;
        for (row, count) in parts::<I>(rows) {
            let group = &mut groups[row * length..(row + count) * length];
            for (at, group) in group.chunks_exact_mut(count).enumerate() {
                for (below, value) in group.iter_mut().enumerate() {
                    *value = a.at(row + below, first + at);
                }
            }
        }
        for column in (0..columns).step_by(I::COLUMNS) {
            let width = I::COLUMNS.min(columns - column);
            // Copying a panel pays where it is read several times.
            let direct = b.column_step == 1 && width == I::COLUMNS && rows <= 2 * I::ROWS;
            if !direct {
                let panel = &mut panel[..length * I::COLUMNS];
                b.rows(first, length)
                    .columns(column, width)
                    .lay_out(panel, I::COLUMNS);
            }
            let (values, step) = if direct {
                (&b.values[first * b.row_step + column..], b.row_step)
            } else {
                (&panel[..], I::COLUMNS)
            };
            for (row, count) in parts::<I>(rows) {
                let tile = Tile {
                    a: &groups[row * length..(row + count) * length],
                    b: values,
                    step,
                    length,
                    started,
                    out: &mut out[row * columns + column..],
                    out_step: columns,
                    width,
                };
                // SAFETY: `multiply` chose the set by what the processor has.
                unsafe {
                    match count {
                        8 => I::run::<8>(tile),
                        4 => I::run::<4>(tile),
                        2 => I::run::<2>(tile),
                        _ => I::run::<1>(tile),
                    }
                }
            }
        }
    }
}

/// The rows in groups of at most `I::ROWS`: the first of each, and how many.
fn parts<I: Instructions>(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut row = 0;
    std::iter::from_fn(move || {
        let count = (I::ROWS).min(1 << (rows - row).checked_ilog2()?);
        row += count;
        Some((row - count, count))
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Instructions, Tile};

    pub struct Wide;
    pub struct Narrow;

    macro_rules! instructions {
        ($name:ident $feature:literal $rows:literal $width:literal $zero:ident $splat:ident $load:ident $fused:ident $add:ident $store:ident) => {
            impl Instructions for $name {
                const ROWS: usize = $rows;
                const COLUMNS: usize = 2 * $width;

                #[target_feature(enable = $feature)]
                unsafe fn run<const G: usize>(tile: Tile<'_>) {
                    let Tile {
                        a,
                        b,
                        step,
                        length,
                        started,
                        out,
                        out_step,
                        width,
                    } = tile;
                    assert!(a.len() >= length * G && length > 0);
                    assert!(b.len() >= (length - 1) * step + Self::COLUMNS);
                    let mut sums = [[$zero(); 2]; G];
                    for at in 0..length {
                        // SAFETY: the first assertion holds the values of `a`, the second those of `b`.
                        let (a, b) = unsafe { (a.as_ptr().add(at * G), b.as_ptr().add(at * step)) };
                        let b = unsafe { [$load(b), $load(b.add($width))] };
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let a = $splat(unsafe { *a.add(row) });
                            for (sum, b) in sums.iter_mut().zip(b) {
                                *sum = $fused(a, b, *sum);
                            }
                        }
                    }
                    for (row, sums) in sums.into_iter().enumerate() {
                        let out = &mut out[row * out_step..][..width];
                        let mut lane = [0.0; 2 * $width];
                        if started {
                            lane[..width].copy_from_slice(out);
                        }
                        for (lane, sum) in lane.chunks_exact_mut($width).zip(sums) {
                            // SAFETY: a part holds as many values as a register.
                            unsafe {
                                let sum = if started {
                                    $add($load(lane.as_ptr()), sum)
                                } else {
                                    sum
                                };
                                $store(lane.as_mut_ptr(), sum);
                            }
                        }
                        out.copy_from_slice(&lane[..width]);
                    }
                }
            }
        };
    }

    instructions! {
        Wide "avx512f" 8 16 _mm512_setzero_ps _mm512_set1_ps _mm512_loadu_ps _mm512_fmadd_ps _mm512_add_ps _mm512_storeu_ps
    }
    instructions! {
        Narrow "avx2,fma" 4 8 _mm256_setzero_ps _mm256_set1_ps _mm256_loadu_ps _mm256_fmadd_ps _mm256_add_ps _mm256_storeu_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each element as one chain for each block.
    fn expected(a: Matrix<'_>, b: Matrix<'_>, block: usize, before: Option<&[f32]>) -> Vec<u32> {
        let element = |row: usize, column: usize| {
            let mut value = before.map(|before| before[row * b.columns + column]);
            for first in (0..a.columns).step_by(block) {
                let chain = (first..a.columns.min(first + block))
                    .fold(0f32, |sum, at| a.at(row, at).mul_add(b.at(at, column), sum));
                value = Some(value.map_or(chain, |value| value + chain));
            }
            value.unwrap_or(0.0).to_bits()
        };
        (0..a.rows)
            .flat_map(|row| (0..b.columns).map(move |column| (row, column)))
            .map(|(row, column)| element(row, column))
            .collect()
    }

    fn values(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as f32 / u32::MAX as f32 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn every_size_and_step_is_a_chain() {
        if !is_fast() {
            return;
        }
        for (rows, inner, columns) in [
            (1, 1, 1),
            (1, 300, 70),
            (3, 7, 5),
            (8, 32, 32),
            (13, 33, 31),
            (17, 257, 65),
            (40, 20, 100),
        ] {
            let (a, b) = (values(rows * inner, 1), values(inner * columns, 2));
            let transposed = |values: &'static [f32], rows, columns| Matrix {
                values,
                rows,
                columns,
                row_step: 1,
                column_step: rows,
            };
            let (a, b): (&'static [f32], &'static [f32]) = (a.leak(), b.leak());
            for a in [Matrix::dense(a, inner), transposed(a, rows, inner)] {
                for b in [Matrix::dense(b, columns), transposed(b, inner, columns)] {
                    for (block, started) in [(256, false), (16, false), (16, true)] {
                        let before = values(rows * columns, 3);
                        let expected = expected(a, b, block, started.then_some(&before));
                        let bits =
                            |out: &[f32]| out.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                        let mut out = before.clone();
                        multiply(a, b, block, started, &mut out);
                        assert_eq!(bits(&out), expected, "{rows} {inner} {columns}");
                        #[cfg(target_arch = "x86_64")]
                        {
                            let mut out = before.clone();
                            by::<x86::Narrow>(a, b, block, started, &mut out);
                            assert_eq!(bits(&out), expected, "{rows} {inner} {columns}");
                        }
                        let mut out = before.clone();
                        super::super::multiply(a, b, block, started, &mut out);
                        assert_eq!(bits(&out), expected, "{rows} {inner} {columns}");
                    }
                }
            }
        }
    }
}
