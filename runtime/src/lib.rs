#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, unsafe_code)]

extern crate alloc;

mod anchor;
mod array;
mod assembly;
mod attempt;
mod constant;
mod convert;
mod custom;
pub mod dyn_model;
mod element_type;
#[allow(missing_docs)] // expansions alone name its items
mod entry;
mod error;
mod exit;
#[allow(missing_docs)] // expansions alone name its items
mod host;
mod inputs;
#[allow(missing_docs)] // expansions alone name its items
mod layers;
mod metadata;
mod model;
mod near;
mod node;
mod outputs;
mod parameter;
mod pixels;
#[cfg(feature = "std")]
mod session;
mod signature;
mod state;
mod threads;
#[cfg(feature = "std")]
mod trace;
mod value;
mod warm_up;
#[allow(missing_docs)] // expansions alone name its items
mod weights;

#[doc(hidden)]
pub mod __private;

/// Computes ONNX's `RegexFullMatch`.
#[cfg(feature = "regex")]
#[doc(hidden)]
#[macro_export]
macro_rules! regex_full_match {
    ($x:expr, $pattern:literal) => {{
        static PATTERN: $crate::__private::host::Pattern = $crate::__private::host::Pattern::new($pattern);
        $crate::__private::host::full_match($x, &PATTERN)
    }};
}

/// Compile error if the feature `regex` is disabled.
#[cfg(not(feature = "regex"))]
#[doc(hidden)]
#[macro_export]
macro_rules! regex_full_match {
    ($x:expr, $pattern:literal) => {
        compile_error!(
            "the operator `RegexFullMatch` requires the feature `regex` of onnx-embed\n\n  \
             help: add it in Cargo.toml: onnx-embed = { .., features = [\"regex\"] }"
        )
    };
}

/// Computes `com.microsoft.Tokenizer` with regular expressions.
#[cfg(feature = "regex")]
#[doc(hidden)]
#[macro_export]
macro_rules! tokenizer {
    ([$($separator:literal),+], $x:expr, $least:expr, $rows:expr) => {{
        static SEPARATORS: [$crate::__private::host::Longest; [$($separator),+].len()] =
            [$($crate::__private::host::Longest::new($separator)),+];
        $crate::__private::host::tokens_between($x, &SEPARATORS, $least, $rows)
    }};
    ($pattern:literal, $x:expr, $least:expr, $rows:expr) => {{
        static PATTERN: $crate::__private::host::Longest =
            $crate::__private::host::Longest::new($pattern);
        $crate::__private::host::tokens_matching($x, &PATTERN, $least, $rows)
    }};
}

/// Compile error if the feature `regex` is disabled.
#[cfg(not(feature = "regex"))]
#[doc(hidden)]
#[macro_export]
macro_rules! tokenizer {
    ($($argument:tt)*) => {
        compile_error!(
            "the operator `com.microsoft.Tokenizer` requires the feature `regex` of onnx-embed\n\n  \
             help: add it in Cargo.toml: onnx-embed = { .., features = [\"regex\"] }"
        )
    };
}

/// Computes ONNX's `ImageDecoder`.
#[cfg(feature = "image")]
#[doc(hidden)]
#[macro_export]
macro_rules! decode_image {
    ($file:expr, $format:ident) => {
        $crate::__private::host::decode_image($file, $crate::__private::host::PixelFormat::$format)
    };
}

/// Compile error if the feature `image` is disabled.
#[cfg(not(feature = "image"))]
#[doc(hidden)]
#[macro_export]
macro_rules! decode_image {
    ($file:expr, $format:ident) => {
        compile_error!(
            "the operator `ImageDecoder` requires the feature `image` of onnx-embed\n\n  \
             help: add it in Cargo.toml: onnx-embed = { .., features = [\"image\"] }"
        )
    };
}

pub use array::Array;
pub use burn;
pub use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
pub use dyn_model::DynModel;
pub use element_type::ElementType;
pub use error::Error;
pub use half::{bf16, f16};
pub use metadata::Metadata;
pub use model::OnnxModel;
pub use onnx_embed_kernels::memory_limit::{memory_limit, with_memory_limit, with_memory_limit_async};
pub use onnx_embed_kernels::stored::SharedBytes;
pub use onnx_embed_macros::onnx_model;
#[cfg(feature = "std")]
pub use onnx_embed_memory::SessionAllocator;
pub use parameter::Parameter;
pub use pixels::Pixels;
#[cfg(feature = "std")]
pub use session::Session;
pub use signature::{Port, Signature, Size, ValueType};
pub use state::Kept;
pub use threads::with_threads;
#[cfg(feature = "std")]
pub use trace::{Traced, TracedModel};
pub use value::{Element, Key, Nested, Value, Values};
