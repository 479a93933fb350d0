//! Pools by kernels of backends.

use burn::tensor::Tensor;

pub use crate::spec::pool::{Of, Slide};
use crate::{
    backend::{Outcome, call},
    spec::{geometry::Geometry, window::Window},
};

/// Returns the pool with an output of `shape`, if the backend has a kernel for it.
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
    let at =
        |values: [usize; S], other| core::array::from_fn(|axis| on(axis).map_or(other, |axis| values[axis]));
    let dims = x.dims();
    let geometry = Geometry {
        sizes: at(core::array::from_fn(|axis| dims[2 + axis]), 1),
        kernel: at(window.kernel, 1),
        strides: at(window.strides, 1),
        dilations: at(window.dilations, 1),
        before: at(window.pads.map(|(before, _)| before), 0),
        positions: at(core::array::from_fn(|axis| shape[2 + axis]), 1),
    };
    let slide = Slide { of, geometry, after: at(window.pads.map(|(_, after)| after), 0) };
    let x = x.clone();
    match call!(slide(x; slide)) {
        Outcome::Float(y) => Some(Tensor::from_dispatch(y)),
        _ => None,
    }
}
