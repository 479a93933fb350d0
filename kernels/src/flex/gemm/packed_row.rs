//! One row times a packed matrix.
//!
//! A tile of one row has too few independent sums to hide the latency of additions: several panels have enough.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
use std::mem::MaybeUninit;

use super::{
    end::End,
    lanes::{Lanes, Plain},
    pack::RightPart,
    worth::threads_reading,
};
use crate::flex::{
    elementary::activate,
    instructions::Set,
    memory::{Cuts, Grid, SliceWriter, Unwritten, Written},
};

/// Panels that are multiplied at once, as far as there are registers for their sums.
const PANELS: usize = 4;
const PANELS_OF_FEW_REGISTERS: usize = 2;

/// Sums of so many panels: two registers of the widest set each.
const MOST: usize = PANELS * 2 * 16;

/// One row times packed columns.
pub fn packed_row<'a>(
    a: &[f32],
    b: RightPart<'_>,
    columns: usize,
    end: End<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let parts = threads_reading(0, 4 * a.len() * columns);
    let width = columns
        .div_ceil(parts)
        .next_multiple_of(b.right.set.columns());
    let grid = Grid::of_row(Cuts::every(columns, width));
    out.side_by_side(grid, usize::MAX, |_, spot, part| {
        part.write(|out| {
            let first = spot.columns.start;
            let out = multiply_packed_row(a, b, first, out);
            for more in [end.bias, end.sum].into_iter().flatten() {
                for (out, more) in out.iter_mut().zip(&more[first..]) {
                    *out += more;
                }
            }
            activate(out, end.activation);
            out
        })
    })
}

/// Writes the columns of `a * b` from `first` on, a multiple of [`Set::columns`], to `out`.
fn multiply_packed_row<'a>(
    a: &[f32],
    b: RightPart<'_>,
    first: usize,
    out: &'a mut [MaybeUninit<f32>],
) -> &'a mut [f32] {
    let set = b.right.set;
    let width = set.columns();
    assert!(set.is_there() && a.len() == b.steps.count());
    let most = if set.has_many_registers() {
        PANELS
    } else {
        PANELS_OF_FEW_REGISTERS
    };
    let mut sums = [0f32; MOST];
    let mut out = SliceWriter::new(out);
    while out.missing() > 0 {
        let (done, missing) = (out.len(), out.missing().div_ceil(width));
        let count = match missing.min(most) {
            3 => 2,
            count => count,
        };
        let panels: [&[f32]; PANELS] = std::array::from_fn(|panel| {
            if panel < count {
                b.panel(first + done + panel * width)
            } else {
                &[]
            }
        });
        assert!(
            panels[..count]
                .iter()
                .all(|panel| panel.len() == a.len() * width)
        );
        // SAFETY: the processor has the instructions, and each panel has a line for each number of the row.
        unsafe {
            match set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide(a, panels, count, &mut sums),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow(a, panels, count, &mut sums),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => by_count::<float32x4_t>(a, panels, count, &mut sums),
                Set::Portable => by_count::<Plain>(a, panels, count, &mut sums),
            }
        }
        out.copy(&sums[..(count * width).min(out.missing())]);
    }
    out.finish()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{MOST, PANELS, by_count};

    #[target_feature(enable = "avx512f")]
    pub unsafe fn wide(a: &[f32], b: [&[f32]; PANELS], count: usize, sums: &mut [f32; MOST]) {
        // SAFETY: what the caller says.
        unsafe { by_count::<__m512>(a, b, count, sums) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn narrow(a: &[f32], b: [&[f32]; PANELS], count: usize, sums: &mut [f32; MOST]) {
        // SAFETY: what the caller says.
        unsafe { by_count::<__m256>(a, b, count, sums) }
    }
}

/// # Safety
///
/// `count` panels have two registers for each number of the row.
#[inline(always)]
unsafe fn by_count<L: Lanes>(a: &[f32], b: [&[f32]; PANELS], count: usize, sums: &mut [f32; MOST]) {
    // SAFETY: what the caller says.
    unsafe {
        match count {
            4 => run::<L, 4>(a, b, sums),
            2 => run::<L, 2>(a, b, sums),
            _ => run::<L, 1>(a, b, sums),
        }
    }
}

/// # Safety
///
/// As for [`by_count`].
#[inline(always)]
unsafe fn run<L: Lanes, const P: usize>(a: &[f32], b: [&[f32]; PANELS], out: &mut [f32; MOST]) {
    let panels: [*const f32; P] = std::array::from_fn(|panel| b[panel].as_ptr());
    // SAFETY: of all reads and writes: what the caller says, and there is room for the largest registers.
    unsafe {
        let mut sums = [[L::splat(0.0); 2]; P];
        // Few panels have too few independent sums, so that terms alternate between two. The order is the same for every
        // column: equal columns have equal sums.
        let mut odd = [[L::splat(0.0); 2]; P];
        let (pairs, rest) = a.as_chunks::<2>();
        let mut at = 0;
        for pair in pairs {
            let [even_value, odd_value] = [L::splat(pair[0]), L::splat(pair[1])];
            for panel in 0..P {
                let line = panels[panel].add(at);
                for register in 0..2 {
                    let line = line.add(register * L::COUNT);
                    sums[panel][register] = sums[panel][register].plus(even_value, L::load(line));
                    let line = line.add(2 * L::COUNT);
                    odd[panel][register] = odd[panel][register].plus(odd_value, L::load(line));
                }
            }
            at += 4 * L::COUNT;
        }
        for value in rest {
            let value = L::splat(*value);
            for panel in 0..P {
                for (register, sum) in sums[panel].iter_mut().enumerate() {
                    let line = panels[panel].add(at + register * L::COUNT);
                    *sum = sum.plus(value, L::load(line));
                }
            }
        }
        for panel in 0..P {
            for register in 0..2 {
                let sum = sums[panel][register].add(odd[panel][register]);
                sum.store(out.as_mut_ptr().add((2 * panel + register) * L::COUNT));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::{gemm::Right, instructions::with_each_set, view::Matrix};

    #[test]
    fn equal_columns_have_equal_sums() {
        with_each_set(|set| {
            let (inner, columns) = (201, 965);
            let value = |at: usize| (at % 89) as f32 * 0.1 - 4.0;
            let a: Vec<f32> = (0..inner).map(value).collect();
            let b: Vec<f32> = (0..inner * columns)
                .map(|at| value(at / columns * 7))
                .collect();
            let right = Right::new(
                set,
                Matrix {
                    rows: inner,
                    ..Matrix::dense(&b, columns)
                },
            );
            let mut out = vec![MaybeUninit::new(f32::NAN); columns];
            let out = multiply_packed_row(&a, right.whole(), 0, &mut out);
            assert!(out.iter().all(|sum| *sum == out[0]), "{set:?}");
        });
    }

    #[test]
    fn every_count_of_columns_and_terms() {
        with_each_set(|set| {
            for (inner, columns) in [(0, 3), (1, 1), (2, 31), (7, 33), (64, 200), (129, 340)] {
                let value = |at: usize| (at * 37 % 101) as f32 * 0.01 - 0.5;
                let b: Vec<f32> = (0..inner * columns).map(value).collect();
                let a: Vec<f32> = (0..inner).map(|at| value(3 * at + 1)).collect();
                let matrix = Matrix {
                    rows: inner,
                    ..Matrix::dense(&b, columns)
                };
                let right = Right::new(set, matrix);
                let first = if columns > set.columns() {
                    set.columns()
                } else {
                    0
                };
                let mut out = vec![MaybeUninit::new(f32::NAN); columns - first];
                let out = multiply_packed_row(&a, right.whole(), first, &mut out);
                for (column, out) in (first..).zip(out) {
                    let terms = a.iter().enumerate();
                    let expected: f32 = terms.map(|(at, a)| a * matrix.at(at, column)).sum();
                    assert!(
                        (*out - expected).abs() < 1e-4,
                        "{set:?} {inner} {columns} {column}"
                    );
                }
            }
        });
    }
}
