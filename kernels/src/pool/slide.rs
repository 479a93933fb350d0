//! Pools as backends compute them.

use alloc::vec::Vec;
use burn::tensor::Tensor;

use crate::{
    backend::{Optional, call},
    convolution::{geometry::Geometry, window::Window},
};

/// What is computed of each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Largest,
    /// The mean of what is in the input, or of the padding too.
    Mean {
        padding: bool,
    },
}

/// Windows over the spatial axes of `[batch, channels, spatial..]`.
#[derive(Clone, Copy, Debug)]
pub struct Slide {
    pub of: Of,
    pub geometry: Geometry,
    /// The padding behind the last place.
    pub after: [usize; 3],
}

impl Slide {
    /// The number of elements that each position along an axis counts, at least 1.
    pub fn counts(&self, axis: usize, padding: bool) -> Vec<f32> {
        let g = &self.geometry;
        let (begin, size) = (g.before[axis], g.sizes[axis]);
        let counted = if padding {
            0..begin + size + self.after[axis]
        } else {
            begin..begin + size
        };
        let count = |position: usize| {
            let taps = 0..g.kernel[axis];
            let places = taps.map(|tap| position * g.strides[axis] + tap * g.dilations[axis]);
            places.filter(|place| counted.contains(place)).count()
        };
        let positions = 0..g.positions[axis];
        positions.map(|at| count(at).max(1) as f32).collect()
    }
}

/// The pool with an output of `shape`, where the backend has a body for it.
pub fn slide<const D: usize, const S: usize>(
    x: &Tensor<D>,
    window: &Window<S>,
    shape: [usize; D],
    of: Of,
) -> Option<Tensor<D>> {
    if S > 3 {
        return None;
    }
    let on = |axis: usize| (axis + S).checked_sub(3);
    let at = |values: [usize; S], other| {
        core::array::from_fn(|axis| on(axis).map_or(other, |axis| values[axis]))
    };
    let dims = x.dims();
    let geometry = Geometry {
        sizes: at(core::array::from_fn(|axis| dims[2 + axis]), 1),
        kernel: at(window.kernel, 1),
        strides: at(window.strides, 1),
        dilations: at(window.dilations, 1),
        before: at(window.pads.map(|(before, _)| before), 0),
        positions: at(core::array::from_fn(|axis| shape[2 + axis]), 1),
    };
    let slide = Slide {
        of,
        geometry,
        after: at(window.pads.map(|(_, after)| after), 0),
    };
    let x = x.clone();
    match call!(slide(x; slide)) {
        Optional::Float(y) => Some(Tensor::from_dispatch(y)),
        _ => None,
    }
}
