//! ONNX operators on Burn's tensors, where Burn has no equivalent operation.
//!
//! Each family of operators has a folder, named as in the compiler and among the layers.
//!
//! Kernels for CPUs and GPUs require the feature `std`; without it, operators are computed by Burn's primitives.

#![cfg_attr(not(feature = "std"), no_std)]
// Empty tensors are only created in tests of empty tensors.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

extern crate alloc;

mod backend;
mod classical;
mod convolution;
#[cfg(feature = "cube")]
mod cube;
#[cfg_attr(not(feature = "deterministic"), allow(dead_code))]
mod deterministic;
pub mod dtype;
mod elementwise;
pub mod fault;
#[cfg(feature = "flex")]
mod flex;
mod image;
mod index;
mod kind;
#[cfg(test)]
mod native;
#[cfg(test)]
mod operands;
mod product;
mod signal;
#[cfg(test)]
mod testing;
mod text;
mod train;
mod widen;

pub mod attempt;
pub mod attention;
pub mod memory_limit;
pub mod normalize;
pub mod observe;
pub mod pool;
pub mod quantize;
pub mod random;
pub mod reader;
pub mod recurrent;
pub mod reduce;
pub mod sequence;
pub mod shape;
pub mod sizes;
pub mod spec;
pub mod stored;
pub mod threads;

pub use backend::most_bytes;
pub use backend::switches::settle;
#[cfg(feature = "deterministic")]
pub use deterministic::{deterministic, deterministic_async};
#[cfg(feature = "flex")]
#[doc(hidden)]
pub use flex::{plan::tuning, poison};

// Paths used by generated code.
pub use attention::{group_query, linear as linear_attention, multi_head, rotary};
pub use classical::{distances, features, scores, svm, trees};
pub use convolution::{causal_conv, col2im, conv, conv_transpose, deform_conv, window};
pub use elementwise::{activation, arithmetic, bit_cast, cast, elementary};
pub use image::{affine_grid, grid_sample, non_max_suppression, resize, roi};
pub use index::{gather, scatter, select, top_k, unique};
pub use normalize::{embed, softmax};
pub use pool::max_unpool;
pub use product::{determinant, einsum, epilogue, inverse, matmul, moe};
pub use quantize::{float8, small};
pub use reduce::{arg_max, cumulative};
pub use shape::{append, arrange, batch, expand, pad, slice, stack};
pub use signal::dft;
pub use text::word_conv;
pub use train::{loss, optimizer};
