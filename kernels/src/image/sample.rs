//! Reading between elements.

use alloc::{vec, vec::Vec};
use burn::tensor::{Bool, Int, Tensor};

use crate::shape::expand::to_shape;

/// An element near each point, `[batch, points]`, and what it counts; `None` stands for 0 and for 1.
#[derive(Clone)]
pub struct Place {
    pub index: Option<Tensor<2, Int>>,
    pub weight: Option<Tensor<2>>,
}

impl Place {
    /// The place of `tap` along an axis of `size` within this place along the axes before.
    fn inside(&self, tap: &Place, size: usize) -> Self {
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

/// The places in a flat tensor of those along each axis, given with the axis' size.
pub fn together(axes: impl Iterator<Item = (Vec<Place>, usize)>) -> Vec<Place> {
    let origin = Place {
        index: None,
        weight: None,
    };
    axes.fold(vec![origin], |places, (taps, size)| {
        let joined = |place: &Place| -> Vec<Place> {
            taps.iter().map(|tap| place.inside(tap, size)).collect()
        };
        places.iter().flat_map(joined).collect()
    })
}

/// The sum of the elements of `[batch, channels, elements]` at the places.
pub fn read(x: Tensor<3>, places: Vec<Place>) -> Tensor<3> {
    let channels = x.dims()[1];
    let read = |place: Place| {
        let indices = place.index.expect("a point has axes").unsqueeze_dim::<3>(1);
        let [batch, _, points] = indices.dims();
        let indices = to_shape(indices, [batch, channels, points]);
        let near = x.clone().gather(2, indices);
        match place.weight {
            Some(weight) => near * weight.unsqueeze_dim(1),
            None => near,
        }
    };
    places
        .into_iter()
        .map(read)
        .reduce(|sum, part| sum + part)
        .expect("interpolation has neighbours")
}

/// The nearest element along an axis of `size` to each of whole coordinates.
///
/// NaN passes a clamp of floats, and devices make any integer of it, so the integers are clamped too.
pub fn index(x: Tensor<2>, size: usize) -> Tensor<2, Int> {
    let last = size.saturating_sub(1) as i64;
    let inside = x.clamp(0.0, last as f32).int();
    inside.clamp(0, last)
}

/// Whether whole coordinates lie outside of an axis of `size`.
pub fn outside(x: &Tensor<2>, size: usize) -> Tensor<2, Bool> {
    let beyond = x.clone().greater_scalar(size as f32 - 1.0);
    x.clone().lower_scalar(0.0).bool_or(beyond)
}

/// The two elements around each coordinate along an axis of `size`, of which those outside count nothing.
pub fn linear(x: Tensor<2>, size: usize) -> Vec<Place> {
    let base = x.clone().floor();
    let ratio = x - base.clone();
    let rest = ratio.clone().neg().add_scalar(1.0);
    let tap = |(offset, weight): (f32, Tensor<2>)| {
        let at = base.clone().add_scalar(offset);
        let weight = weight.mask_fill(outside(&at, size), 0.0);
        Place {
            index: Some(index(at, size)),
            weight: Some(weight),
        }
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
            let coordinates = [
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                3e38,
                -3e38,
                4.0,
                -1.0,
                1e10,
            ];
            for size in [1, 2, 5] {
                let at = index(float([coordinates]), size).into_data();
                let is_inside = |at: i64| (0..size as i64).contains(&at);
                assert!(
                    at.iter::<i64>().all(is_inside),
                    "{at} along {size} elements"
                );
                for place in linear(float([coordinates]), size) {
                    let at = place.index.expect("an axis has indices").into_data();
                    assert!(
                        at.iter::<i64>().all(is_inside),
                        "{at} along {size} elements"
                    );
                }
            }
        });
    }
}
