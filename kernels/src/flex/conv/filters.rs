//! Packed weights of convolutions.

use std::{borrow::Cow, sync::OnceLock};

use burn::backend::flex::FlexTensor;
use bytemuck::Pod;

use super::winograd::SquareFilters;
use crate::flex::{
    gemm::pack_left,
    plan::{Square, TileSize},
    simd::InstructionSet,
    stored::{Plain, Raw},
    tile::F32_PER_CACHE_LINE,
    view::{Matrix, RawView},
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
    values: OnceLock<Vec<f32>>,
    /// The weight, if it is packed at the first use of `values`: a matrix with a row for each output channel.
    weight: Option<FlexTensor>,
    /// Weights for squares of two and four pixels, transformed at their first use.
    squares: [OnceLock<SquareFilters>; 2],
}

impl Filters {
    /// Packs a weight with a row for each output channel. `T` has the bits of a float, in any alignment.
    pub fn new<T: Pod>(set: InstructionSet, weight: Matrix<'_, T>, groups: usize) -> Self {
        let filters = Self::sized(set, [weight.rows, weight.columns], groups);
        let values = filters.packed(weight);
        Self { values: values.into(), ..filters }
    }

    /// Keeps a weight in the program and packs each form at its first use: a layer may need only one. Returns `None` if the
    /// tensor is not a matrix of single precision.
    pub fn unpacked(set: InstructionSet, weight: FlexTensor, groups: usize) -> Option<Self> {
        let view = RawView::of(&weight)?;
        let matrix = view.matrix(&[]);
        let filters = Self::sized(set, [matrix.rows, matrix.columns], groups);
        Some(Self { weight: Some(weight), ..filters })
    }

    fn sized(set: InstructionSet, [rows, inner]: [usize; 2], groups: usize) -> Self {
        let outputs = rows / groups;
        Self {
            set,
            groups,
            outputs,
            inner,
            panel_rows: TileSize::of_floats(set).panel_rows(outputs),
            values: OnceLock::new(),
            weight: None,
            squares: Default::default(),
        }
    }

    fn packed<T: Pod>(&self, weight: Matrix<'_, T>) -> Vec<f32> {
        // Loads of registers read past the last panel.
        let mut values = vec![0.0; weight.rows * weight.columns + F32_PER_CACHE_LINE];
        let each = values.chunks_exact_mut((self.outputs * self.inner).max(1));
        for (group, out) in each.take(self.groups).enumerate() {
            let rows = weight.rows(group * self.outputs, self.outputs);
            pack_left(rows, self.panel_rows, bytemuck::cast_slice_mut(out));
        }
        values
    }

    fn values(&self) -> &[f32] {
        self.values.get_or_init(|| {
            let view = self.weight.as_ref().and_then(RawView::of);
            let view = view.expect("filters have a weight, or values");
            let values = self.packed(view.matrix(&[]));
            self.give_back();
            values
        })
    }

    /// Returns the pages of a weight in the program to the system.
    fn give_back(&self) {
        if let Some(weight) = &self.weight {
            Raw::of(weight).give_back();
        }
    }

    /// Packed weights of a group, from the panel that begins with an output channel to the end.
    pub fn from(&self, group: usize, output: usize) -> &[f32] {
        &self.values()[(group * self.outputs + output) * self.inner..]
    }

    /// Packed weights of one panel, of a group, that begins with an output channel.
    pub fn panel(&self, group: usize, output: usize) -> Cow<'_, [f32]> {
        let unpacked = self.weight.as_ref().filter(|_| self.values.get().is_none());
        match unpacked.and_then(RawView::of) {
            Some(view) => {
                let count = self.panel_rows.min(self.outputs - output);
                let mut panel = vec![0.0; count * self.inner];
                let rows = view.matrix(&[]).rows(group * self.outputs + output, count);
                pack_left(rows, count, bytemuck::cast_slice_mut(&mut panel));
                panel.into()
            }
            None => self.from(group, output).into(),
        }
    }

    /// The weights of a kernel of 3 x 3 taps, transformed.
    pub fn squares(&self, square: Square) -> &SquareFilters {
        self.squares[square as usize].get_or_init(|| {
            let squares = SquareFilters::new(self, square);
            self.give_back();
            squares
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;
    use crate::testing::noise;

    #[test]
    fn weights_are_the_same_whenever_they_are_packed() {
        let weight = FlexTensor::from_data(noise::<2>([44, 27], 1).into_data());
        let view = RawView::of(&weight).unwrap();
        with_each_set(|set| {
            for groups in [1, 2] {
                let filters = Filters::new(set, view.matrix(&[]), groups);
                let later = || Filters::unpacked(set, weight.clone(), groups).unwrap();
                assert_eq!(later().from(0, 0), filters.from(0, 0));
                for group in 0..groups {
                    for output in (0..filters.outputs).step_by(filters.panel_rows) {
                        let (panel, expected) = (later(), filters.panel(group, output));
                        let panel = panel.panel(group, output);
                        assert_eq!(*panel, expected[..panel.len()]);
                    }
                }
            }
        });
    }
}
