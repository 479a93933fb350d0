//! Plans of matrix products.

use super::{
    machine::{Machine, TileSize},
    tuning::{max_row_block_len, unpacked_panels},
};
use crate::flex::{
    memory::{Cuts, Grid, Order},
    threads::even_parts,
};

/// Sizes of a matrix product.
#[derive(Clone, Copy, Debug)]
pub struct ProductSizes {
    pub rows: usize,
    pub depth: usize,
    pub columns: usize,
}

/// Layout of an operand B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightLayout {
    /// Panels of NR columns.
    Panels,
    /// A matrix whose rows are contiguous.
    Rows,
    /// A matrix with any strides.
    Strided,
}

/// Memory from which tiles read an operand B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightReads {
    /// Panels of NR columns.
    Panels,
    /// Several panels at once, for the only row.
    PanelsForOneRow,
    /// The matrix itself.
    InPlace,
    /// Panels that the product packs first.
    Packed,
}

/// Division of a matrix product into tiles, and among threads.
#[derive(Clone, Copy, Debug)]
pub struct ProductPlan {
    pub reads: RightReads,
    /// Number of rows of a panel of A.
    pub panel_rows: usize,
    /// Number of rows of A that a thread packs.
    pub packed_rows: usize,
    rows: usize,
    pub columns: usize,
    /// Number of parts along rows and columns.
    pub parts: [usize; 2],
    nr: usize,
}

impl ProductPlan {
    /// A product of floats.
    pub fn of_floats(sizes: ProductSizes, right: RightLayout, machine: &Machine) -> Self {
        let ProductSizes { rows, depth, columns } = sizes;
        let tile = machine.tile;
        let threads = machine.threads_for(rows.saturating_mul(depth).saturating_mul(columns));
        let panel_rows = tile.panel_rows(rows);
        let parts = even_parts(threads);
        let packed_rows = rows.div_ceil(parts).next_multiple_of(panel_rows);
        let (high, wide) = (rows.div_ceil(panel_rows), columns.div_ceil(tile.nr));
        // Division by rows, which the same thread has packed, unless columns make more parts.
        let parts =
            if parts.min(wide) > parts.min(high) { [1, parts.min(wide)] } else { [parts.min(high), 1] };
        let reads = match right {
            RightLayout::Panels if rows == 1 => RightReads::PanelsForOneRow,
            RightLayout::Panels => RightReads::Panels,
            RightLayout::Rows if tile.reads_in_place(rows) && columns >= tile.nr => RightReads::InPlace,
            _ => RightReads::Packed,
        };
        Self { reads, panel_rows, packed_rows, rows, columns, parts, nr: tile.nr }
    }

    /// Parts of the output if each packs its rows of A: there are more than fit into the cache, and all of B fits.
    pub fn row_blocks(&self, depth: usize) -> Option<Grid<'static>> {
        let (most, depth) = (max_row_block_len(), depth.max(1));
        let [down, across] = self.parts;
        if across > 1 || self.rows.saturating_mul(depth) <= most || self.columns.saturating_mul(depth) > most
        {
            return None;
        }
        let rows = (most / depth).clamp(1, self.rows.div_ceil(down)).next_multiple_of(self.panel_rows);
        Some(Grid::of_rows(Cuts::every(self.rows, rows), self.columns))
    }

    /// Parts of the output.
    pub fn grid(&self) -> Grid<'static> {
        let [down, across] = self.parts;
        Grid {
            rows: Cuts::split(self.rows, self.panel_rows, down),
            columns: Cuts::split(self.columns, self.nr, across),
            order: Order::RowMajor,
        }
    }
}

impl TileSize {
    /// Number of rows of a panel, at most MR: panels have about the same number.
    pub fn panel_rows(&self, rows: usize) -> usize {
        let panels = rows.div_ceil(self.mr);
        rows.div_ceil(panels.max(1)).max(1)
    }

    /// Returns true if `rows` rows read an operand B too seldom for it to be packed.
    pub fn reads_in_place(&self, rows: usize) -> bool {
        rows <= unpacked_panels() * self.mr
    }
}

/// Parts of a product of bytes, whose elements have `size` bytes, for `threads` threads: some rows of each panel of columns.
pub fn byte_grid(
    [rows, columns]: [usize; 2],
    size: usize,
    panel_rows: usize,
    nr: usize,
    threads: usize,
) -> Grid<'static> {
    let parts = threads.div_ceil(columns.div_ceil(nr));
    Grid {
        rows: Cuts::every(rows, rows.div_ceil(parts).next_multiple_of(panel_rows)),
        columns: Cuts::every(columns * size, nr * size),
        order: Order::RowMajor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_have_about_the_same_rows() {
        let tile = TileSize { lanes: 8, mr: 6, nr: 16 };
        assert_eq!([0, 1, 6, 7, 13].map(|rows| tile.panel_rows(rows)), [1, 1, 6, 4, 5]);
    }
}
