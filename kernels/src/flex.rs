//! Bodies for the memory of this process.

mod attention;
mod bits;
mod cast;
mod channels;
mod conv;
pub mod copy;
mod elementary;
mod extreme;
mod fft;
mod gemm;
mod instructions;
mod integer;
mod lrn;
mod matmul;
mod memory;
mod normalize;
pub mod packed;
mod pool;
mod quantize;
mod recurrent;
mod rows;
mod softmax;
pub mod stored;
pub mod threads;
mod view;
mod window;
mod within;

use burn::backend::{
    Flex, FloatDType, TensorMetadata,
    flex::FlexTensor,
    ops::{FloatTensorOps, ModuleOps},
};
use burn::tensor::{
    DType, TensorData,
    ops::{ConvOptions, ConvTransposeOptions},
};

use crate::{
    backend::{ByteProduct, Kernels, Optional, Recurrence},
    fault::Axis,
    spec::dft::Dft,
    spec::normalize::Lrn,
    spec::pool::Slide,
    spec::ranking::{Top, ranking},
    spec::recurrent::{Cell, Sizes},
    spec::scores::Scores,
    spec::window::Window,
    spec::{
        bits::BitMatrix,
        quantize::{Affine, Integers, Mean, Pair, Unary},
    },
    spec::{
        epilogue::{Activation, Epilogue},
        packed::Packed,
    },
};
pub use conv::pack_filters;
#[cfg(test)]
pub use instructions::with_each_set;
pub use integer::pack_matrix as pack_bytes;
pub use matmul::pack_matrix;
pub use memory::poison;

/// Convolutions in tiles, and those of Flex where there are none.
macro_rules! convolutions {
    ($(fn $method:ident($axes:literal);)*) => {$(
        fn $method(
            x: FlexTensor,
            weight: FlexTensor,
            bias: Optional<Flex>,
            sum: Optional<Flex>,
            options: ConvOptions<$axes>,
            epilogue: Epilogue,
        ) -> FlexTensor {
            let other = <Flex as ModuleOps<Flex>>::$method;
            conv::conv(x, weight, bias.float(), sum.float(), options, epilogue, other)
        }
    )*};
}

/// Transposed convolutions by phases, and those of Flex where there are none.
macro_rules! transposed {
    ($(fn $method:ident($axes:literal);)*) => {$(
        fn $method(
            x: FlexTensor,
            weight: FlexTensor,
            bias: Optional<Flex>,
            options: ConvTransposeOptions<$axes>,
            packed: Option<Packed>,
        ) -> FlexTensor {
            let other = <Flex as ModuleOps<Flex>>::$method;
            conv::conv_transpose(x, weight, bias.float(), options, packed.as_ref(), other)
        }
    )*};
}

impl Kernels for Flex {
    fn exp(x: FlexTensor) -> FlexTensor {
        elementary::exp(x)
    }

    fn erf(x: FlexTensor) -> FlexTensor {
        elementary::erf(x)
    }

    fn extreme(a: FlexTensor, b: FlexTensor, greatest: bool) -> FlexTensor {
        extreme::extreme(a, b, greatest)
    }

    fn softmax(x: FlexTensor, axis: usize) -> FlexTensor {
        softmax::softmax(x, axis)
    }

    fn log_softmax(x: FlexTensor, axis: usize) -> FlexTensor {
        softmax::log_softmax(x, axis)
    }

    fn layer_norm(
        rows: FlexTensor,
        scale: FlexTensor,
        bias: Optional<Flex>,
        epsilon: f32,
    ) -> FlexTensor {
        normalize::layer_norm(rows, scale, bias.float(), epsilon)
    }

    fn group_norm(
        x: FlexTensor,
        scale: FlexTensor,
        bias: FlexTensor,
        groups: usize,
        epsilon: f32,
    ) -> FlexTensor {
        normalize::group_norm(x, scale, bias, groups, epsilon)
    }

    fn scale_channels(
        x: FlexTensor,
        factor: FlexTensor,
        offset: FlexTensor,
        activation: Activation,
    ) -> FlexTensor {
        channels::scale(x, factor, offset, activation)
    }

    fn rms_norm(rows: FlexTensor, scale: FlexTensor, epsilon: f32) -> FlexTensor {
        normalize::rms_norm(rows, scale, epsilon)
    }

    fn matmul(a: FlexTensor, b: FlexTensor) -> FlexTensor {
        matmul::matmul(a, b)
    }

    fn int_to_single(x: FlexTensor) -> FlexTensor {
        cast::int_to_single(x)
    }

    fn finish(x: FlexTensor, sum: Optional<Flex>, activation: Activation) -> FlexTensor {
        elementary::finish(x, sum.float(), activation)
    }

    fn linear(
        x: FlexTensor,
        weight: FlexTensor,
        bias: Optional<Flex>,
        sum: Optional<Flex>,
        epilogue: Epilogue,
    ) -> FlexTensor {
        matmul::linear(x, weight, bias.float(), sum.float(), epilogue)
    }

    convolutions! {
        fn conv1d(1);
        fn conv2d(2);
        fn conv3d(3);
    }

    transposed! {
        fn conv_transpose1d(1);
        fn conv_transpose2d(2);
        fn conv_transpose3d(3);
    }

    fn conv_bytes(
        operands: ByteProduct<Flex>,
        options: ConvOptions<3>,
        integers: Integers,
    ) -> Optional<Flex> {
        result(integer::conv(operands, options, integers))
    }

    fn matmul_bytes(operands: ByteProduct<Flex>, integers: Integers) -> Optional<Flex> {
        result(integer::matmul(operands, integers))
    }

    fn matmul_bits(x: FlexTensor, bias: Optional<Flex>, matrix: BitMatrix) -> Optional<Flex> {
        bits::matmul(x, bias.float(), &matrix).map_or(Optional::None, Optional::Float)
    }

    fn attention(
        query: FlexTensor,
        key: FlexTensor,
        value: FlexTensor,
        mask: Optional<Flex>,
        bias: Optional<Flex>,
        scores: Scores,
    ) -> FlexTensor {
        attention::attention(query, key, value, mask, bias, scores)
    }

    fn slide(x: FlexTensor, slide: Slide) -> Optional<Flex> {
        pool::slide(&x, &slide).map_or(Optional::None, Optional::Float)
    }

    fn lrn(x: FlexTensor, options: Lrn) -> Optional<Flex> {
        lrn::lrn(&x, &options).map_or(Optional::None, Optional::Float)
    }

    fn top_k(x: Optional<Flex>, top: Top) -> Optional<Flex> {
        match x {
            Optional::Float(x) | Optional::Int(x) => Optional::Int(first_of(x, top)),
            Optional::None | Optional::Bool(_) => Optional::None,
        }
    }

    fn dft(x: FlexTensor, options: Dft) -> Optional<Flex> {
        Optional::Float(fft::dft(x, &options))
    }

    fn stft(x: FlexTensor, window: Optional<Flex>, step: usize, options: Dft) -> Optional<Flex> {
        Optional::Float(fft::stft(x, window.float(), step, &options))
    }

    fn recurrence(
        operands: Recurrence<Flex>,
        cell: Cell,
        sizes: Sizes,
        packed: Option<[Packed; 2]>,
    ) -> (Optional<Flex>, Optional<Flex>, Optional<Flex>) {
        recurrent::recurrence(&operands, &cell, sizes, packed.as_ref())
    }

    fn within(indices: FlexTensor, least: i64, axis: Axis) -> (FlexTensor, Optional<Self>) {
        (within::within(indices, least, axis), Optional::None)
    }

    fn quantize(x: FlexTensor, to: Affine) -> Optional<Flex> {
        Optional::of_int(quantize::quantize(x, to))
    }

    fn quantize_along(
        x: FlexTensor,
        scale: FlexTensor,
        zero: Optional<Flex>,
        dtype: DType,
        bits: u32,
    ) -> Optional<Flex> {
        Optional::of_int(quantize::quantize_along(x, scale, zero.int(), dtype, bits))
    }

    fn quantize_dynamic(
        x: FlexTensor,
        _: DType,
    ) -> (Optional<Flex>, Optional<Flex>, Optional<Flex>) {
        match quantize::quantize_dynamic(x) {
            Some([y, scale, zero]) => (
                Optional::Int(y),
                Optional::Float(scale),
                Optional::Int(zero),
            ),
            None => (Optional::None, Optional::None, Optional::None),
        }
    }

    fn dequantize(x: FlexTensor, of: Affine) -> Optional<Flex> {
        quantize::dequantize(x, of).map_or(Optional::None, Optional::Float)
    }

    fn dequantize_along(x: FlexTensor, scale: FlexTensor, zero: Optional<Flex>) -> Optional<Flex> {
        quantize::dequantize_along(x, scale, zero.int()).map_or(Optional::None, Optional::Float)
    }

    fn max_pool_int(x: FlexTensor, window: Window<2>, positions: [usize; 2]) -> Optional<Flex> {
        Optional::of_int(quantize::max_pool(x, window, positions))
    }

    fn quantized_pair(a: FlexTensor, b: FlexTensor, pair: Pair) -> Optional<Flex> {
        Optional::of_int(quantize::combine(a, b, pair))
    }

    fn quantized_unary(x: FlexTensor, bias: Optional<Flex>, unary: Unary) -> Optional<Flex> {
        Optional::of_int(quantize::compute(x, bias.float(), unary))
    }

    fn quantized_mean(x: FlexTensor, mean: Mean) -> Optional<Flex> {
        Optional::of_int(quantize::mean(x, mean))
    }
}

/// A tensor of floats or integers, or none.
fn result(x: Option<FlexTensor>) -> Optional<Flex> {
    match x {
        None => Optional::None,
        Some(x) if x.dtype().is_float() => Optional::Float(x),
        Some(x) => Optional::Int(x),
    }
}

fn first_of(x: FlexTensor, top: Top) -> FlexTensor {
    let mut shape = x.shape();
    shape[top.axis] = top.k;
    let indices = ranking(x.into_data(), top);
    FlexTensor::from_data(TensorData::new(indices, shape))
}

/// The same values in f32 where they are f16 or bf16, else unchanged.
fn widened(x: FlexTensor) -> FlexTensor {
    match x.dtype() {
        DType::F16 | DType::BF16 => Flex::float_cast(x, FloatDType::F32),
        _ => x,
    }
}

/// Runs a convolution in f32, as Flex would sum half precision in half precision and lose digits with every term.
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
