//! Packed weights of convolutions.

use bytemuck::Pod;

use crate::flex::{
    gemm::pack_left, plan::TileSize, simd::InstructionSet, stored::Plain, tile::F32_PER_CACHE_LINE,
    view::Matrix,
};

/// The weight of each group, packed in panels of output channels.
pub struct Filters {
    pub set: InstructionSet,
    pub groups: usize,
    /// Number of output channels of a group.
    pub outputs: usize,
    /// Number of terms of an output element.
    pub inner: usize,
    /// Number of output channels of a panel; the last one may have fewer.
    pub panel_rows: usize,
    values: Vec<f32>,
}

impl Filters {
    /// Packs a weight with a row for each output channel. `T` has the bits of a float, in any alignment.
    pub fn new<T: Pod>(set: InstructionSet, weight: Matrix<'_, T>, groups: usize) -> Self {
        let (outputs, inner) = (weight.rows / groups, weight.columns);
        let panel_rows = TileSize::of_floats(set).panel_rows(outputs);
        // Loads of registers read past the last panel.
        let mut values = vec![0.0; weight.rows * inner + F32_PER_CACHE_LINE];
        let each = values.chunks_exact_mut((outputs * inner).max(1));
        for (group, out) in each.take(groups).enumerate() {
            let rows = weight.rows(group * outputs, outputs);
            pack_left(rows, panel_rows, bytemuck::cast_slice_mut(out));
        }
        Self { set, groups, outputs, inner, panel_rows, values }
    }

    /// Packed weights of a group, from the panel that begins with an output channel to the end.
    pub fn from(&self, group: usize, output: usize) -> &[f32] {
        &self.values[(group * self.outputs + output) * self.inner..]
    }

    /// Unpacks the weight of an output channel of a group.
    pub fn copy(&self, group: usize, output: usize, out: &mut [f32]) {
        let first = output / self.panel_rows * self.panel_rows;
        let count = self.panel_rows.min(self.outputs - first);
        let values = self.from(group, first).iter();
        let values = values.skip(output - first).step_by(count);
        for (out, value) in out.iter_mut().zip(values) {
            *out = *value;
        }
    }
}

impl Plain for Filters {
    fn write(&self, out: &mut [f32]) {
        for (at, row) in out.chunks_exact_mut(self.inner.max(1)).enumerate() {
            self.copy(at / self.outputs, at % self.outputs, row);
        }
    }
}
