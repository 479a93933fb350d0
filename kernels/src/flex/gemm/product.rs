//! Matrix products: packing, division among threads, and the loops over tiles.

use std::ops::Range;

use super::{
    epilogue::ProductEpilogue,
    pack::{Right, RightPart, pack_columns, pack_left},
    packed_row::packed_row,
};
use crate::flex::{
    elementary::activate,
    memory::{Unwritten, Written, repeated, with_scratch},
    plan::{Machine, ProductPlan, ProductSizes, RightLayout, RightReads},
    simd::InstructionSet,
    threads::on_chunks,
    tile::{
        Addend, Bias, Bounds, F32_PER_CACHE_LINE, FloatEpilogue, FloatOperands, RowOffsets, Tile,
    },
    view::Matrix,
};
use crate::spec::epilogue::Activation;

/// The right matrix as tiles read it.
#[derive(Clone, Copy)]
enum Columns<'a> {
    Packed(RightPart<'a>),
    /// In place: columns are contiguous, rows are at these offsets.
    InPlace(Matrix<'a>, &'a RowOffsets),
    /// In panels that are decoded when they are needed.
    Unpacked(&'a Unpack<'a>, &'a RowOffsets),
}

/// Writes the panel that begins with a column.
pub type Unpack<'a> = dyn Fn(usize, &mut [f32]) + Sync + 'a;

/// Writes `a * b` for a packed matrix.
pub fn multiply_packed<'a>(
    a: Matrix<'_>,
    b: &Right,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let plan = plan(b.set, a, b.columns, RightLayout::Panels);
    product(b.set, a, Columns::Packed(b.whole()), &plan, epilogue, out)
}

/// Writes `a` times the rows `terms` and the columns `columns` of a packed matrix. The first column is a multiple of
/// [`InstructionSet::nr`].
pub fn multiply_part<'a>(
    a: Matrix<'_>,
    b: &Right,
    terms: Range<usize>,
    columns: Range<usize>,
    out: Unwritten<'a>,
) -> Written<'a> {
    assert!(terms.end <= b.inner && columns.end <= b.columns);
    assert!(columns.start.is_multiple_of(b.set.nr()));
    let fewer;
    let offsets = if terms.len() == b.inner {
        &b.offsets
    } else {
        fewer = RowOffsets::of_panel(terms.len(), b.set.nr());
        &fewer
    };
    let part = RightPart {
        right: b,
        first_term: terms.start,
        first_column: columns.start,
        offsets,
    };
    let plan = plan(b.set, a, columns.len(), RightLayout::Panels);
    product(
        b.set,
        a,
        Columns::Packed(part),
        &plan,
        ProductEpilogue::NONE,
        out,
    )
}

/// Writes `a * b`.
pub fn multiply<'a>(
    set: InstructionSet,
    a: Matrix<'_>,
    b: Matrix<'_>,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let layout = if b.column_step == 1 {
        RightLayout::Rows
    } else {
        RightLayout::Strided
    };
    let plan = plan(set, a, b.columns, layout);
    if plan.reads == RightReads::InPlace
        && let Some(offsets) = RowOffsets::even(b.rows, b.row_step)
    {
        return product(set, a, Columns::InPlace(b, &offsets), &plan, epilogue, out);
    }
    let b = Right::new(set, b);
    product(set, a, Columns::Packed(b.whole()), &plan, epilogue, out)
}

/// Writes `a` times a matrix whose panels `unpack` decodes.
pub fn multiply_unpacked<'a>(
    set: InstructionSet,
    a: Matrix<'_>,
    columns: usize,
    unpack: &Unpack<'_>,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let offsets = RowOffsets::of_panel(a.columns, set.nr());
    let plan = plan(set, a, columns, RightLayout::Panels);
    product(
        set,
        a,
        Columns::Unpacked(unpack, &offsets),
        &plan,
        epilogue,
        out,
    )
}

fn plan(set: InstructionSet, a: Matrix<'_>, columns: usize, right: RightLayout) -> ProductPlan {
    let sizes = ProductSizes {
        rows: a.rows,
        depth: a.columns,
        columns,
    };
    ProductPlan::of_floats(sizes, right, &Machine::of_floats(set))
}

fn product<'a>(
    set: InstructionSet,
    a: Matrix<'_>,
    b: Columns<'_>,
    plan: &ProductPlan,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let (rows, inner, columns) = (a.rows, a.columns, plan.columns);
    let out = out.reshaped(rows, columns);
    if rows == 0 || columns == 0 {
        return out.zeroed();
    }
    assert!(
        epilogue
            .addend
            .is_none_or(|addend| addend.len() >= rows * columns)
    );
    let is_one_row = plan.reads == RightReads::PanelsForOneRow && a.column_step == 1;
    if let (true, Columns::Packed(b)) = (is_one_row, b) {
        return packed_row(&a.values[..inner], b, columns, epilogue, out);
    }
    let panel = plan.panel;
    with_scratch(rows * inner, |left| {
        let share = plan.packed_rows;
        on_chunks(left, (share * inner).max(1), |at, left| {
            let first = at * share;
            pack_left(a.rows(first, share.min(rows - first)), panel, left);
        });
        let left = &*left;
        out.side_by_side(plan.grid(), usize::MAX, |_, spot, out| {
            let part = Part {
                set,
                left,
                inner,
                panel,
                rows: spot.rows,
                columns: spot.columns,
                stride: columns,
            };
            part.run(b, epilogue, out)
        })
    })
}

/// Rows and columns that one thread computes.
struct Part<'a> {
    set: InstructionSet,
    left: &'a [f32],
    inner: usize,
    panel: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    /// Number of columns of the whole output.
    stride: usize,
}

impl Part<'_> {
    fn run<'a>(
        &self,
        b: Columns<'_>,
        epilogue: ProductEpilogue<'_>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let width = self.set.nr();
        let mut written = out.in_columns(width, |at, out| {
            let (first, count) = (self.columns.start + at, out.columns());
            match b {
                Columns::Packed(b) => {
                    let next = if first + width < self.columns.end {
                        b.panel(first + width)
                    } else {
                        &[]
                    };
                    self.tiles(first, [b.panel(first), next], b.offsets, epilogue, out)
                }
                Columns::InPlace(b, offsets) => {
                    let values = b.columns(first, count).values;
                    if values.len() >= offsets.furthest() + width {
                        self.tiles(first, [values, &[]], offsets, epilogue, out)
                    } else {
                        self.last(first, b.columns(first, count), epilogue, out)
                    }
                }
                Columns::Unpacked(unpack, offsets) => with_scratch(width * self.inner, |panel| {
                    unpack(first, panel);
                    self.tiles(first, [panel, &[]], offsets, epilogue, out)
                }),
            }
        });
        if epilogue.activation != Activation::Identity && Bounds::of(epilogue.activation).is_none()
        {
            for row in 0..self.rows.len() {
                activate(written.row(row), epilogue.activation);
            }
        }
        written
    }

    /// Columns at the end of the matrix, where a whole vector cannot be loaded: they are packed.
    fn last<'a>(
        &self,
        first: usize,
        columns: Matrix<'_>,
        epilogue: ProductEpilogue<'_>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let width = self.set.nr();
        let mut panel = repeated(width * columns.rows, 0.0);
        pack_columns(columns, width, &mut panel);
        let offsets = RowOffsets::of_panel(columns.rows, width);
        self.tiles(first, [&panel, &[]], &offsets, epilogue, out)
    }

    /// Writes the tiles of all rows over the columns from `first` on.
    fn tiles<'a>(
        &self,
        first: usize,
        [right, next]: [&[f32]; 2],
        offsets: &RowOffsets,
        epilogue: ProductEpilogue<'_>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (lanes, count) = (self.set.lanes(), out.columns());
        let mut next = next.chunks(F32_PER_CACHE_LINE * self.inner.max(1));
        out.in_rows(self.panel, |at, out| {
            let row = self.rows.start + at;
            let operands = FloatOperands {
                left: &self.left[row * self.inner..(row + out.rows()) * self.inner],
                right,
                offsets,
                next: next.next().unwrap_or(&[]),
            };
            let epilogue = FloatEpilogue {
                bias: match epilogue.bias {
                    Some(bias) => Bias::Columns(&bias[first..]),
                    None => Bias::Zero,
                },
                addend: epilogue.addend.map(|addend| Addend {
                    values: &addend[row * self.stride + first..],
                    stride: self.stride,
                }),
                bounds: Bounds::of(epilogue.activation),
            };
            let tile = Tile {
                rows: out.rows(),
                registers: count.div_ceil(lanes),
                columns: (1u128 << count) - 1,
                operands,
                epilogue,
            };
            tile.run(self.set, out)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::{memory::Buffer, simd::with_each_set};

    fn values(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as f32 / u32::MAX as f32 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    fn expected(a: Matrix<'_>, b: Matrix<'_>, epilogue: ProductEpilogue<'_>) -> Vec<f32> {
        let element = |row: usize, column: usize| {
            let terms =
                (0..a.columns).map(|at| f64::from(a.at(row, at)) * f64::from(b.at(at, column)));
            let mut value = terms.sum::<f64>() as f32;
            value += epilogue.bias.map_or(0.0, |bias| bias[column]);
            value += epilogue
                .addend
                .map_or(0.0, |addend| addend[row * b.columns + column]);
            match epilogue.activation {
                Activation::Clip(low, high) => value.clamp(low as f32, high as f32),
                Activation::LeakyRelu(alpha) if value < 0.0 => value * alpha as f32,
                _ => value,
            }
        };
        (0..a.rows)
            .flat_map(|row| (0..b.columns).map(move |column| (row, column)))
            .map(|(row, column)| element(row, column))
            .collect()
    }

    #[test]
    fn parts_of_a_packed_matrix() {
        with_each_set(|set| {
            let (inner, columns) = (40, 100);
            let (a, b) = (values(9 * inner, 1), values(inner * columns, 2));
            let whole = Matrix::dense(&b, columns);
            let mut right = Right::new(set, Matrix::dense(&values(7 * 50, 3), 50));
            right.pack(whole);
            for (terms, from, count) in [
                (0..40, 0, 100),
                (0..7, 0, 33),
                (13..30, 1, 9),
                (39..40, 2, 36),
            ] {
                let first = from * set.nr();
                let a = Matrix::dense(&a[..9 * terms.len()], terms.len());
                let b = whole.rows(terms.start, terms.len()).columns(first, count);
                let y = Buffer::filled(9 * count, |out| {
                    multiply_part(a, &right, terms.clone(), first..first + count, out)
                });
                for (y, expected) in y.iter().zip(expected(a, b, ProductEpilogue::NONE)) {
                    assert!((y - expected).abs() < 1e-5, "{set:?} {terms:?} {first}");
                }
            }
        });
    }

    #[test]
    fn every_size_order_and_end() {
        with_each_set(|set| {
            for (rows, inner, columns) in [
                (1, 1, 1),
                (1, 70, 100),
                (3, 7, 5),
                (5, 0, 9),
                (13, 33, 31),
                (14, 20, 32),
                (17, 57, 65),
                (40, 20, 48),
            ] {
                let (a, b) = (values(rows * inner, 1), values(inner * columns, 2));
                let (bias, addend) = (values(columns, 3), values(rows * columns, 4));
                let matrix = |values, rows, columns| Matrix {
                    rows,
                    ..Matrix::dense(values, columns)
                };
                let left = [
                    matrix(&a, rows, inner),
                    matrix(&a, inner, rows).transposed(),
                ];
                let right = [
                    matrix(&b, inner, columns),
                    matrix(&b, columns, inner).transposed(),
                ];
                for (a, b) in [
                    (left[0], right[0]),
                    (left[1], right[0]),
                    (left[0], right[1]),
                ] {
                    let clip = Activation::Clip(-0.1, 0.3);
                    for epilogue in [
                        ProductEpilogue::NONE,
                        ProductEpilogue {
                            bias: Some(&bias),
                            activation: Activation::LeakyRelu(0.5),
                            ..ProductEpilogue::NONE
                        },
                        ProductEpilogue {
                            bias: Some(&bias),
                            addend: Some(&addend),
                            activation: clip,
                        },
                    ] {
                        let check = |y: Buffer| {
                            for (y, expected) in y.iter().zip(expected(a, b, epilogue)) {
                                assert!(
                                    (y - expected).abs() < 1e-5,
                                    "{set:?} {rows} {inner} {columns}"
                                );
                            }
                        };
                        let packed = Right::new(set, b);
                        check(Buffer::filled(rows * columns, |out| {
                            multiply(set, a, b, epilogue, out)
                        }));
                        check(Buffer::filled(rows * columns, |out| {
                            multiply_packed(a, &packed, epilogue, out)
                        }));
                    }
                }
            }
        });
    }
}
