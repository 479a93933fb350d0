//! Matrix products: packing, division among threads, and the loops over tiles.

use std::ops::Range;

use super::{
    epilogue::ProductEpilogue,
    pack::{Right, RightPart, pack_columns, pack_left},
    packed_row::packed_row,
};
use crate::flex::{
    elementary::activate,
    memory::{Unwritten, Written, on_chunks, repeated, with_scratch},
    plan::{Machine, ProductPlan, ProductSizes, RightLayout, RightReads},
    simd::InstructionSet,
    tile::{Addend, Bias, Bounds, F32_PER_CACHE_LINE, FloatEpilogue, FloatOperands, RowOffsets, Tile},
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

/// Writes `a` times the rows `terms` and the columns `columns` of a packed matrix. The first column is a
/// multiple of [`InstructionSet::nr`].
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
    let part = RightPart { right: b, first_term: terms.start, first_column: columns.start, offsets };
    let plan = plan(b.set, a, columns.len(), RightLayout::Panels);
    product(b.set, a, Columns::Packed(part), &plan, ProductEpilogue::NONE, out)
}

/// Writes `a * b`.
pub fn multiply<'a>(
    set: InstructionSet,
    a: Matrix<'_>,
    b: Matrix<'_>,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let layout = if b.column_step == 1 { RightLayout::Rows } else { RightLayout::Strided };
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
    product(set, a, Columns::Unpacked(unpack, &offsets), &plan, epilogue, out)
}

fn plan(set: InstructionSet, a: Matrix<'_>, columns: usize, right: RightLayout) -> ProductPlan {
    let sizes = ProductSizes { rows: a.rows, depth: a.columns, columns };
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
    assert!(epilogue.addend.is_none_or(|addend| addend.len() >= rows * columns));
    let is_one_row = plan.reads == RightReads::PanelsForOneRow && a.column_step == 1;
    if let (true, Columns::Packed(b)) = (is_one_row, b) {
        return packed_row(&a.values[..inner], b, columns, epilogue, out);
    }
    let panel_rows = plan.panel_rows;
    let all = Part {
        set,
        left: &[],
        packed: 0,
        inner,
        panel_rows,
        rows: 0..rows,
        columns: 0..columns,
        stride: columns,
    };
    if let (Some(grid), Columns::Packed(_) | Columns::InPlace(..)) = (plan.row_blocks(inner), b) {
        return out.side_by_side(grid, plan.parts[0], |_, spot, out| {
            with_scratch(spot.rows.len() * inner, |left| {
                pack_left(a.rows(spot.rows.start, spot.rows.len()), panel_rows, left);
                let packed = spot.rows.start;
                Part { left, packed, rows: spot.rows, columns: spot.columns, ..all }.run(b, epilogue, out)
            })
        });
    }
    with_scratch(rows * inner, |left| {
        let share = plan.packed_rows;
        on_chunks(left, (share * inner).max(1), |at, left| {
            let first = at * share;
            pack_left(a.rows(first, share.min(rows - first)), panel_rows, left);
        });
        let left = &*left;
        out.side_by_side(plan.grid(), usize::MAX, |_, spot, out| {
            Part { left, rows: spot.rows, columns: spot.columns, ..all }.run(b, epilogue, out)
        })
    })
}

/// Rows and columns that one thread computes.
struct Part<'a> {
    set: InstructionSet,
    /// Packed rows of A from the row `packed` on.
    left: &'a [f32],
    packed: usize,
    inner: usize,
    panel_rows: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    /// Number of columns of the whole output.
    stride: usize,
}

impl Part<'_> {
    fn run<'a>(&self, b: Columns<'_>, epilogue: ProductEpilogue<'_>, out: Unwritten<'a>) -> Written<'a> {
        let width = self.set.nr();
        let mut written = out.in_columns(width, |at, out| {
            let (first, count) = (self.columns.start + at, out.columns());
            match b {
                Columns::Packed(b) => {
                    let next = if first + width < self.columns.end { b.panel(first + width) } else { &[] };
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
        if epilogue.activation != Activation::Identity && Bounds::of(epilogue.activation).is_none() {
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
        out.in_rows(self.panel_rows, |at, out| {
            let row = self.rows.start + at;
            let packed = row - self.packed;
            let operands = FloatOperands {
                left: &self.left[packed * self.inner..(packed + out.rows()) * self.inner],
                right,
                offsets,
                next: next.next().unwrap_or(&[]),
                ahead: 0,
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
mod tests;
