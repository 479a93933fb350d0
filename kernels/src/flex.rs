//! Kernels for CPUs.

// Each unsafe operation has an argument of its own.
#![deny(
    clippy::missing_safety_doc,
    clippy::multiple_unsafe_ops_per_block,
    clippy::undocumented_unsafe_blocks
)]

mod attention;
mod bits;
mod cast;
mod channels;
mod conv;
pub mod copy;
mod distances;
mod elementary;
mod extreme;
mod fft;
mod gemm;
mod in_software;
mod integer;
mod lrn;
mod matmul;
pub mod memory;
mod normalize;
pub mod packed;
pub mod plan;
mod pool;
mod quantize;
mod recurrent;
mod rotary;
mod rows;
mod simd;
mod softmax;
pub mod stored;
mod sum;
pub mod threads;
mod tile;
mod top_k;
mod view;
mod window;
mod within;
mod wrapping;

use burn::backend::{
    Flex, FloatDType,
    flex::FlexTensor,
    ops::FloatTensorOps,
    tensor::{FloatTensor, IntTensor},
};
use burn::tensor::{
    DType,
    ops::{ConvOptions, ConvTransposeOptions},
};

use crate::{
    backend::{Any, ByteProduct, Given, Maybe, Outcome, Recurrence, implement, operations},
    spec::indices::Axis,
    spec::{
        arithmetic::Arithmetic,
        bits::BitMatrix,
        dft::Dft,
        epilogue::{Activation, Epilogue},
        function::Function,
        normalize::Lrn,
        packed::Packed,
        pool::Slide,
        quantize::{Affine, Integers, Mean, Pair, Unary},
        ranking::Top,
        recurrent::{Cell, Sizes},
        scan::Scan,
        scores::Scores,
        window::Window,
    },
};
pub use memory::poison;
pub use simd::vectorized;
#[cfg(test)]
pub use simd::with_each_set;

/// Implements the operations of the table by the kernels that it names.
macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $name:ident($($operand:ident: $kind:tt),+ $(; $($option:ident: $type:ty),+)?) -> $result:ident
        $(, flex[$kernel:path])? $(, cube[$($cube:tt)*])? $(, wgpu[$($wgpu:tt)*])?;
    )*) => {
        $(implement!(
            @for Flex, $name, [$($kernel)?], [$($operand: $kind),+], [$($($option: $type,)+)?], $result
        );)*
    };
}

operations! { kernels }

impl Maybe<FlexTensor> for FlexTensor {
    fn option(self) -> Option<FlexTensor> {
        Some(self)
    }
}

/// Returns the tensor of any kind.
fn tensor(x: Any<Flex>) -> FlexTensor {
    let (Any::Float(x) | Any::Int(x) | Any::Bool(x)) = x;
    x
}

/// Returns a result of any kind.
fn outcome(x: Option<FlexTensor>) -> Outcome<Flex> {
    match x {
        None => Outcome::Declined,
        Some(x) if x.dtype().is_float() => Outcome::Float(x),
        Some(x) if x.dtype().is_bool() => Outcome::Bool(x),
        Some(x) => Outcome::Int(x),
    }
}

/// Returns the indices of the first elements along an axis, row by row.
fn top_k(x: Any<Flex>, top: Top) -> FlexTensor {
    top_k::top_k(tensor(x), top)
}

/// Casts f16 and bf16 to f32; other dtypes are unchanged.
fn widened(x: FlexTensor) -> FlexTensor {
    match x.dtype() {
        DType::F16 | DType::BF16 => Flex::float_cast(x, FloatDType::F32),
        _ => x,
    }
}

/// Runs a convolution in f32: Flex would accumulate half precision in half precision and lose digits with every term.
fn in_wide_sums(
    x: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    run: impl FnOnce(FlexTensor, FlexTensor, Option<FlexTensor>) -> FlexTensor,
) -> FlexTensor {
    match x.dtype() {
        dtype @ (DType::F16 | DType::BF16) => {
            let y = run(widened(x), widened(weight), bias.map(widened));
            Flex::float_cast(y, dtype.into())
        }
        _ => run(x, weight, bias),
    }
}
