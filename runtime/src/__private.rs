//! Items that expansions of `onnx_model!` use.
//!
//! They change with the macro, without notice.

pub use crate::anchor::{Anchor, device};
pub use crate::attempt::{attempt, attempt_async};
pub use crate::host::MapAsync;
pub use crate::inputs::take;
pub use crate::node::Node;
pub use crate::outputs::Outputs;
pub use crate::value::print;
pub use crate::{embedded, from_file, printed, state};
pub use alloc::{boxed::Box, collections::BTreeMap, string::String, vec, vec::Vec};
pub use half::{bf16, f16};
pub use onnx_embed_kernels as ops;
pub use onnx_embed_kernels::epilogue::Activation;
pub use onnx_embed_kernels::memory_limit::{or_memory_limit, or_memory_limit_async};
#[cfg(feature = "deterministic")]
pub use onnx_embed_kernels::{deterministic, deterministic_async};

pub mod constant {
    pub use crate::constant::*;
}

pub mod custom {
    pub use crate::custom::*;
}

pub mod entry {
    pub use crate::entry::*;
}

pub mod exit {
    pub use crate::exit::*;
}

pub mod host {
    pub use crate::host::*;
}

pub mod layers {
    pub use crate::layers::*;
}

#[cfg(feature = "std")]
pub mod trace {
    pub use crate::trace::*;
}

pub mod weights {
    pub use crate::weights::*;
}

/// Does nothing. The compiler warns where a model calls it if the program is compiled without vector instructions, although they
/// exist.
#[cfg(feature = "std")]
#[cfg_attr(
    all(target_family = "wasm", feature = "flex", not(target_feature = "simd128")),
    deprecated(
        note = "enable them with `-C target-feature=+simd128`, as models take 2 to 4 times as long on the CPU without"
    )
)]
pub const fn vector_instructions() {}
