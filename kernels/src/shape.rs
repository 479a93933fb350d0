//! Operators that reshape, permute, copy and join tensors.

pub mod append;
pub mod arrange;
pub mod batch;
pub mod expand;
pub mod pad;
mod reshape;
pub mod slice;
pub mod stack;

pub use reshape::{
    WithShape, empty, insert_axis, lift, reshape, reshape_to, sizes, squeeze_axes, squeezed, unsqueeze_axes,
    unsqueezed,
};
