//! Transformed weights.

use super::transforms::{Four, Transforms, Two};
use crate::flex::{
    conv::filters::Filters,
    memory::{Lines, on_chunks},
    plan::Square,
    simd::vectorized,
    tile::F32_PER_CACHE_LINE,
};

/// Transformed weights of all groups.
pub struct SquareFilters(Lines<f32>);

impl SquareFilters {
    /// Transforms packed weights. Panels of output channels stay as they are, and have one matrix for each product.
    pub fn new(filters: &Filters, square: Square) -> Self {
        let products = square.products();
        let inputs = filters.inner / 9;
        let group_len = filters.outputs * inputs * products;
        let panel_len = (filters.panel_rows * inputs * products).max(1);
        let mut values = Lines::of_weight(filters.groups * group_len + F32_PER_CACHE_LINE);
        for (group, out) in values.chunks_exact_mut(group_len.max(1)).take(filters.groups).enumerate() {
            on_chunks(out, panel_len, |panel, out| {
                let from = &*filters.panel(group, panel * filters.panel_rows);
                vectorized(
                    #[inline(always)]
                    || match square {
                        Square::Two => transform_panel::<2, 4, Two>(from, inputs, out),
                        Square::Four => transform_panel::<4, 6, Four>(from, inputs, out),
                    },
                );
            });
        }
        Self(values)
    }

    pub fn values(&self) -> &[f32] {
        &self.0
    }
}

/// Number of output channels whose weights are transformed at once.
const FILTERS: usize = 8;

/// Transforms the weights of a panel, which has a row of output channels for each tap of each input channel.
#[inline(always)]
fn transform_panel<const M: usize, const P: usize, K: Transforms<M, P>>(
    from: &[f32],
    inputs: usize,
    out: &mut [f32],
) {
    let rows = out.len() / (inputs * P * P);
    for input in 0..inputs {
        for first in (0..rows).step_by(FILTERS) {
            let count = FILTERS.min(rows - first);
            let mut taps = [[[0.0; FILTERS]; 3]; 3];
            for (row, taps) in taps.iter_mut().enumerate() {
                for (column, values) in taps.iter_mut().enumerate() {
                    let from = &from[(input * 9 + row * 3 + column) * rows + first..][..count];
                    for (value, from) in values.iter_mut().zip(from) {
                        *value = f64::from(*from);
                    }
                }
            }
            // Along rows, then along columns.
            let [above, middle, below] = [K::filter(taps[0]), K::filter(taps[1]), K::filter(taps[2])];
            for (column, ((above, middle), below)) in above.into_iter().zip(middle).zip(below).enumerate() {
                let along = K::filter([above, middle, below]);
                for (row, values) in along.iter().enumerate() {
                    let at = ((row * P + column) * inputs + input) * rows + first;
                    for (out, value) in out[at..at + count].iter_mut().zip(values) {
                        *out = *value as f32;
                    }
                }
            }
        }
    }
}
