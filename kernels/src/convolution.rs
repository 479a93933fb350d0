//! Convolutions, and the windows that they share with pools.

pub mod causal_conv;
pub mod col2im;
pub mod conv;
pub mod conv_transpose;
pub mod deform_conv;

use burn::tensor::{Tensor, kind::Basic};

pub use crate::spec::window;
use crate::{ensure, observe::waits};
use window::Window;

/// Returns the window on `[batch, channels, spatial..]` with the shortest strides. Fails if the padded input is larger than a
/// GPU can address, which computes positions in 32 bits. A failure on the thread of the device would damage the results of
/// other calls that run at the same time.
pub(crate) fn addressable<const D: usize, const S: usize, K: Basic>(
    x: &Tensor<D, K>,
    window: Window<S>,
) -> Window<S> {
    let sizes: [usize; S] = core::array::from_fn(|axis| x.dims()[2 + axis]);
    if waits(&x.device()) {
        for (axis, size) in sizes.into_iter().enumerate() {
            let padded = window.padded(axis, size);
            ensure!(
                padded < i32::MAX as usize,
                "expected at most {} elements along an axis with its padding on this device, found {padded}",
                i32::MAX - 1
            );
        }
    }
    window.shortened(sizes)
}
