//! Weights of convolutions in the order in which tiles read them.

use bytemuck::Pod;

use crate::flex::{
    gemm::{LINE, pack_left, panel_rows},
    instructions::Set,
    stored::Plain,
    view::Matrix,
};

/// The weight of each group in panels of outputs.
pub struct Filters {
    pub set: Set,
    pub groups: usize,
    /// How many outputs a group has.
    pub outputs: usize,
    /// How many terms an output sums.
    pub inner: usize,
    /// How many outputs a panel has, but the last one.
    pub panel: usize,
    values: Vec<f32>,
}

impl Filters {
    /// Of a weight with a row for each output, of numbers of single precision in some alignment.
    pub fn new<T: Pod>(set: Set, weight: Matrix<'_, T>, groups: usize) -> Self {
        let (outputs, inner) = (weight.rows / groups, weight.columns);
        let panel = panel_rows(set, outputs);
        // Behind the last panel a register may be read.
        let mut values = vec![0.0; weight.rows * inner + LINE];
        let each = values.chunks_exact_mut((outputs * inner).max(1));
        for (group, out) in each.take(groups).enumerate() {
            let rows = weight.rows(group * outputs, outputs);
            pack_left(rows, panel, bytemuck::cast_slice_mut(out));
        }
        Self {
            set,
            groups,
            outputs,
            inner,
            panel,
            values,
        }
    }

    /// The panel of a group that begins with an output, and what follows it.
    pub fn from(&self, group: usize, output: usize) -> &[f32] {
        &self.values[(group * self.outputs + output) * self.inner..]
    }

    /// The weight of an output of a group.
    pub fn copy(&self, group: usize, output: usize, out: &mut [f32]) {
        let first = output / self.panel * self.panel;
        let count = self.panel.min(self.outputs - first);
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
