//! One row times a packed matrix.
//!
//! A tile of one row has too few independent sums to hide the latency of additions: several panels have enough.

use std::mem::MaybeUninit;

use super::{epilogue::ProductEpilogue, pack::RightPart};
use crate::deterministic;
use crate::flex::{
    elementary::activate,
    memory::{Cuts, Grid, SliceWriter, Unwritten, Written},
    plan::threads_reading,
    simd::{Floats, Isa, with_isa},
    tile::even_rows,
};

/// Panels that are multiplied at once, as far as there are registers for their sums.
const PANELS: usize = 4;
const PANELS_OF_FEW_REGISTERS: usize = if cfg!(target_arch = "wasm32") { 3 } else { 2 };

/// Number of sums of a column, between which terms alternate: few panels have too few independent sums. In WebAssembly the
/// compiler loads the columns of all terms first, which leaves registers for one. Deterministic calls have one, as tiles do.
const SUMS: usize = if cfg!(target_arch = "wasm32") { 1 } else { 2 };

/// Number of sums of [`PANELS`] panels: two registers of the widest set each.
const MOST: usize = PANELS * 2 * 16;

/// One row times packed columns.
pub fn packed_row<'a>(
    a: &[f32],
    b: RightPart<'_>,
    columns: usize,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let parts = threads_reading(0, 4 * a.len() * columns);
    let width = columns.div_ceil(parts).next_multiple_of(b.right.set.nr());
    let grid = Grid::of_row(Cuts::every(columns, width));
    out.side_by_side(grid, usize::MAX, |_, spot, part| {
        part.write(|out| {
            let first = spot.columns.start;
            let out = multiply_packed_row(a, b, first, out);
            for more in [epilogue.bias, epilogue.addend].into_iter().flatten() {
                for (out, more) in out.iter_mut().zip(&more[first..]) {
                    *out += more;
                }
            }
            activate(out, epilogue.activation);
            out
        })
    })
}

/// Writes the columns of `a * b` from `first` on, a multiple of the columns of a tile, to `out`.
fn multiply_packed_row<'a>(
    a: &[f32],
    b: RightPart<'_>,
    first: usize,
    out: &'a mut [MaybeUninit<f32>],
) -> &'a mut [f32] {
    let set = b.right.set;
    let width = set.nr();
    assert!(a.len() == b.offsets.count());
    let in_order = deterministic::is_on();
    let most = if in_order || set.has_many_registers() { PANELS } else { PANELS_OF_FEW_REGISTERS };
    let mut sums = [0f32; MOST];
    let mut out = SliceWriter::new(out);
    while out.missing() > 0 {
        let (done, missing) = (out.len(), out.missing().div_ceil(width));
        let count = missing.min(most);
        let panels: [&[f32]; PANELS] =
            std::array::from_fn(
                |panel| {
                    if panel < count { b.panel(first + done + panel * width) } else { &[] }
                },
            );
        assert!(panels[..count].iter().all(|panel| panel.len() == a.len() * width));
        if in_order {
            with_isa!(set, isa => by_count::<_, 1>(isa, a, panels, count, &mut sums));
        } else {
            with_isa!(set, isa => by_count::<_, SUMS>(isa, a, panels, count, &mut sums));
        }
        out.copy(&sums[..(count * width).min(out.missing())]);
    }
    out.finish()
}

#[inline(always)]
fn by_count<I: Isa, const SUMS: usize>(
    isa: I,
    a: &[f32],
    b: [&[f32]; PANELS],
    count: usize,
    sums: &mut [f32; MOST],
) {
    match count {
        4 => run::<I, 4, SUMS>(isa, a, b, sums),
        3 => run::<I, 3, SUMS>(isa, a, b, sums),
        2 => run::<I, 2, SUMS>(isa, a, b, sums),
        _ => run::<I, 1, SUMS>(isa, a, b, sums),
    }
}

/// Writes the sums of the first `P` panels.
#[inline(always)]
fn run<I: Isa, const P: usize, const SUMS: usize>(
    isa: I,
    a: &[f32],
    b: [&[f32]; PANELS],
    out: &mut [f32; MOST],
) {
    // Terms alternate in the same order for every column: equal columns have equal sums.
    let mut sums = [[[isa.splat(0.0); 2]; P]; SUMS];
    let (line, panels) = (2 * I::LANES, std::array::from_fn::<_, P, _>(|panel| b[panel]));
    let (several, rest) = a.as_chunks::<SUMS>();
    for (values, lines) in several.iter().zip(even_rows(panels, several.len(), SUMS * line, SUMS * line)) {
        let values = values.map(
            #[inline(always)]
            |value| isa.splat(value),
        );
        for (panel, lines) in lines.iter().enumerate() {
            for register in 0..2 {
                let loaded: [I::Floats; SUMS] = std::array::from_fn(
                    #[inline(always)]
                    |term| isa.load(&lines[(2 * term + register) * I::LANES..]),
                );
                for (sums, (value, loaded)) in sums.iter_mut().zip(values.into_iter().zip(loaded)) {
                    sums[panel][register] = value.mul_add(loaded, sums[panel][register]);
                }
            }
        }
    }
    for value in rest {
        let value = isa.splat(*value);
        for panel in 0..P {
            let line = &panels[panel][several.len() * SUMS * line..][..line];
            for (register, sum) in sums[0][panel].iter_mut().enumerate() {
                *sum = value.mul_add(isa.load(&line[register * I::LANES..]), *sum);
            }
        }
    }
    for panel in 0..P {
        for register in 0..2 {
            let others = sums[1..].iter().map(|sums| sums[panel][register]);
            let sum = others.fold(sums[0][panel][register], |sum, other| sum + other);
            sum.store(&mut out[(2 * panel + register) * I::LANES..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::{gemm::Right, simd::with_each_set, view::Matrix};

    #[test]
    fn equal_columns_have_equal_sums() {
        with_each_set(|set| {
            let (inner, columns) = (201, 965);
            let value = |at: usize| (at % 89) as f32 * 0.1 - 4.0;
            let a: Vec<f32> = (0..inner).map(value).collect();
            let b: Vec<f32> = (0..inner * columns).map(|at| value(at / columns * 7)).collect();
            let right = Right::new(set, Matrix { rows: inner, ..Matrix::dense(&b, columns) });
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
                let matrix = Matrix { rows: inner, ..Matrix::dense(&b, columns) };
                let right = Right::new(set, matrix);
                let first = if columns > set.nr() { set.nr() } else { 0 };
                let mut out = vec![MaybeUninit::new(f32::NAN); columns - first];
                let out = multiply_packed_row(&a, right.whole(), first, &mut out);
                for (column, out) in (first..).zip(out) {
                    let terms = a.iter().enumerate();
                    let expected: f32 = terms.map(|(at, a)| a * matrix.at(at, column)).sum();
                    assert!((*out - expected).abs() < 1e-4, "{set:?} {inner} {columns} {column}");
                }
            }
        });
    }
}
