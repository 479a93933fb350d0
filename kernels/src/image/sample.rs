//! Gathering of interpolated elements.

use alloc::{vec, vec::Vec};
use burn::tensor::{Bool, Int, Tensor};

use crate::shape::expand::to_shape;

/// Index and weight of an element near each point, `[batch, points]`; `None` is index 0 or weight 1.
#[derive(Clone)]
pub struct WeightedIndex {
    pub index: Option<Tensor<2, Int>>,
    pub weight: Option<Tensor<2>>,
}

impl WeightedIndex {
    /// Combines the index along the axes so far with that of `tap` along the next axis, of `size`.
    fn inside(&self, tap: &WeightedIndex, size: usize) -> Self {
        let index = match (self.index.clone(), tap.index.clone()) {
            (Some(outer), Some(inner)) => Some(outer.mul_scalar(size as i32) + inner),
            (outer, inner) => outer.or(inner),
        };
        let weight = match (self.weight.clone(), tap.weight.clone()) {
            (Some(outer), Some(inner)) => Some(outer * inner),
            (outer, inner) => outer.or(inner),
        };
        Self { index, weight }
    }
}

/// Combines the elements along each axis, given with the axis' size, into indices of a flat tensor.
pub fn combine_axes(axes: impl Iterator<Item = (Vec<WeightedIndex>, usize)>) -> Vec<WeightedIndex> {
    let origin = WeightedIndex { index: None, weight: None };
    axes.fold(vec![origin], |combined, (taps, size)| {
        let joined = |outer: &WeightedIndex| -> Vec<WeightedIndex> {
            taps.iter().map(|tap| outer.inside(tap, size)).collect()
        };
        combined.iter().flat_map(joined).collect()
    })
}

/// Returns the weighted sum of the elements of `[batch, channels, elements]` at the indices.
pub fn read(x: Tensor<3>, taps: Vec<WeightedIndex>) -> Tensor<3> {
    let channels = x.dims()[1];
    let read = |tap: WeightedIndex| {
        let indices = tap.index.expect("a point has axes").unsqueeze_dim::<3>(1);
        let [batch, _, points] = indices.dims();
        let indices = to_shape(indices, [batch, channels, points]);
        let near = x.clone().gather(2, indices);
        match tap.weight {
            Some(weight) => near * weight.unsqueeze_dim(1),
            None => near,
        }
    };
    taps.into_iter().map(read).reduce(|sum, part| sum + part).expect("interpolation has neighbors")
}

/// Returns the nearest element along an axis of `size` to each of integral coordinates.
///
/// NaN passes a clamp of floats, and its conversion to an integer differs between devices, so the integers are clamped too.
pub fn index(x: Tensor<2>, size: usize) -> Tensor<2, Int> {
    let last = size.saturating_sub(1) as i64;
    let inside = x.clamp(0.0, last as f32).int();
    inside.clamp(0, last)
}

/// Returns `true` for integral coordinates outside an axis of `size`.
pub fn outside(x: &Tensor<2>, size: usize) -> Tensor<2, Bool> {
    let beyond = x.clone().greater_scalar(size as f32 - 1.0);
    x.clone().lower_scalar(0.0).bool_or(beyond)
}

/// Returns the two elements around each coordinate along an axis of `size`; those outside have weight 0.
pub fn linear(x: Tensor<2>, size: usize) -> Vec<WeightedIndex> {
    let base = x.clone().floor();
    let ratio = x - base.clone();
    let rest = ratio.clone().neg().add_scalar(1.0);
    let tap = |(offset, weight): (f32, Tensor<2>)| {
        let at = base.clone().add_scalar(offset);
        let weight = weight.mask_fill(outside(&at, size), 0.0);
        WeightedIndex { index: Some(index(at, size)), weight: Some(weight) }
    };
    [(0.0, rest), (1.0, ratio)].map(tap).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, on_each};

    #[test]
    fn no_coordinate_is_an_index_outside_of_its_axis() {
        on_each(|| {
            let coordinates = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38, -3e38, 4.0, -1.0, 1e10];
            for size in [1, 2, 5] {
                let at = index(float([coordinates]), size).into_data();
                let is_inside = |at: i64| (0..size as i64).contains(&at);
                assert!(at.iter::<i64>().all(is_inside), "{at} along {size} elements");
                for tap in linear(float([coordinates]), size) {
                    let at = tap.index.expect("an axis has indices").into_data();
                    assert!(at.iter::<i64>().all(is_inside), "{at} along {size} elements");
                }
            }
        });
    }
}
