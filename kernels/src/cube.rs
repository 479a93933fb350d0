//! Bodies for the devices of CubeCL.

pub mod attention;
mod bits;
pub mod blocks;
pub mod coded;
pub mod compact;
pub mod concat;
pub mod conv;
pub mod couple;
pub mod draw;
mod finish;
pub mod groups;
pub mod indices;
pub mod integer;
mod keys;
pub mod matrices;
mod normalize;
pub mod pool;
pub mod product;
pub mod quantize;
pub mod recurrent;
pub mod roi;
mod scan;
mod sizes;
pub mod small;
pub mod sort;
pub mod suppress;
pub mod svm;
pub mod trees;
mod units;

use burn::backend::TensorMetadata;
use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_dtype, tensor::CubeTensor,
};

use burn::tensor::{DType, Shape, ops::ConvOptions};
use cubecl::prelude::*;

use crate::{
    backend::{ByteProduct, CodedProduct, Kernels, Machine, Optional, Parts, Recurrence, Walk},
    ensure,
    fault::Axis,
    spec::boxes::{BoxForm, Limits},
    spec::pool::Slide,
    spec::ranking::Top,
    spec::recurrent::{Cell, Sizes},
    spec::regions::RoiAlign,
    spec::scan::Scan,
    spec::scores::Scores,
    spec::types::TensorType,
    spec::window::Window,
    spec::{
        bits::Blocks,
        quantize::{Affine, Integers, Mean, Pair, Unary},
        small::Small,
    },
    spec::{
        epilogue::{Activation, Epilogue},
        packed::Packed,
    },
    spec::{svm::Comparison, trees::Election},
};
use bits::{INFINITE, is_nan, magnitude};
use sizes::{narrow, reshape};

impl Kernels for CubeBackend {
    fn filters(weight: CubeTensor) -> CubeTensor {
        conv::filters(weight)
    }

    fn byte_filters(weight: CubeTensor) -> CubeTensor {
        conv::filters(weight)
    }

    fn softmax(x: CubeTensor, axis: usize) -> CubeTensor {
        normalize::softmax(x, axis)
    }

    fn layer_norm(
        rows: CubeTensor,
        scale: CubeTensor,
        bias: Optional<Self>,
        epsilon: f32,
    ) -> CubeTensor {
        normalize::layer_norm(rows, scale, bias.float(), epsilon)
    }

    fn rms_norm(rows: CubeTensor, scale: CubeTensor, epsilon: f32) -> CubeTensor {
        normalize::rms_norm(rows, scale, epsilon)
    }

    fn group_norm(
        x: CubeTensor,
        scale: CubeTensor,
        bias: CubeTensor,
        groups: usize,
        epsilon: f32,
    ) -> CubeTensor {
        normalize::group_norm(x, scale, bias, groups, epsilon)
    }

    fn matmul(a: CubeTensor, b: CubeTensor) -> CubeTensor {
        product::product(a, b, None, None, Activation::Identity)
    }

    fn linear(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        product::linear(x, weight, bias.float(), sum.float(), epilogue.activation)
    }

    fn attention(
        query: CubeTensor,
        key: CubeTensor,
        value: CubeTensor,
        mask: Optional<Self>,
        bias: Optional<Self>,
        scores: Scores,
    ) -> CubeTensor {
        attention::attention(query, key, value, mask, bias, scores)
    }

    fn matmul_coded(
        operands: CodedProduct<Self>,
        blocks: Blocks,
        in_bytes: bool,
    ) -> Optional<Self> {
        Optional::Float(coded::matmul_coded(operands, blocks, in_bytes))
    }

    fn round_blocks(x: CubeTensor, size: usize) -> Optional<Self> {
        Optional::Float(blocks::round_blocks(x, size))
    }

    fn conv1d(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        options: ConvOptions<1>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        conv::conv(x, weight, bias.float(), sum.float(), options, &epilogue)
    }

    fn conv2d(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        options: ConvOptions<2>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        conv::conv(x, weight, bias.float(), sum.float(), options, &epilogue)
    }

    fn conv3d(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        options: ConvOptions<3>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        conv::conv(x, weight, bias.float(), sum.float(), options, &epilogue)
    }

    fn places(tuples: CubeTensor, axes: Vec<Axis>) -> (Optional<Self>, Optional<Self>) {
        let (places, ends) = indices::places(tuples, &axes);
        (Optional::Int(places), Optional::Int(ends))
    }

    fn coordinates(places: CubeTensor, values: Optional<Self>, sizes: Shape) -> Optional<Self> {
        Optional::Int(compact::coordinates(places, values.int(), &sizes))
    }

    fn slide(x: CubeTensor, slide: Slide) -> Optional<Self> {
        Optional::Float(pool::slide(x, slide))
    }

    fn concat(parts: Parts<Self>, axis: usize) -> Optional<Self> {
        concat::concat(parts, axis)
    }

    fn within(indices: CubeTensor, least: i64, axis: Axis) -> (CubeTensor, Optional<Self>) {
        let (inside, ends) = indices::within(indices, least, axis);
        (inside, Optional::Int(ends))
    }

    fn conv_bytes(
        operands: ByteProduct<Self>,
        options: ConvOptions<3>,
        integers: Integers,
    ) -> Optional<Self> {
        integer::conv(operands, options, &integers)
    }

    fn matmul_bytes(operands: ByteProduct<Self>, integers: Integers) -> Optional<Self> {
        integer::product(operands, &integers)
    }

    fn scan(x: Optional<Self>, scan: Scan) -> Optional<Self> {
        x.map(|x| scan::scan(x, scan))
    }

    fn top_k(x: Optional<Self>, top: Top) -> Optional<Self> {
        match x {
            Optional::Float(x) | Optional::Int(x) => sort::top_k(x, top),
            Optional::None | Optional::Bool(_) => Optional::None,
        }
    }

    fn groups(rows: Optional<Self>) -> (Optional<Self>, Optional<Self>) {
        match rows {
            Optional::Float(rows) | Optional::Int(rows) => groups::groups(rows),
            Optional::None | Optional::Bool(_) => (Optional::None, Optional::None),
        }
    }

    fn permuted(values: CubeTensor, places: CubeTensor) -> Optional<Self> {
        Optional::Int(groups::permuted(values, places))
    }

    fn counts(condition: Optional<Self>) -> Optional<Self> {
        match condition {
            Optional::Bool(condition) => Optional::Int(compact::counts(condition)),
            Optional::None | Optional::Float(_) | Optional::Int(_) => Optional::None,
        }
    }

    fn compact(counts: Optional<Self>, found: usize) -> Optional<Self> {
        counts.map(|counts| compact::compact(into_contiguous(counts), found))
    }

    fn recurrence(
        operands: Recurrence<Self>,
        cell: Cell,
        sizes: Sizes,
        _: Option<[Packed; 2]>,
    ) -> (Optional<Self>, Optional<Self>, Optional<Self>) {
        recurrent::recurrence(operands, &cell, sizes)
    }

    fn suppress(
        boxes: CubeTensor,
        scores: CubeTensor,
        form: BoxForm,
        limits: Limits,
    ) -> Optional<Self> {
        suppress::suppress(boxes, scores, form, limits)
    }

    fn roi_align(
        x: CubeTensor,
        rois: CubeTensor,
        batches: CubeTensor,
        options: RoiAlign,
    ) -> Optional<Self> {
        roi::roi_align(x, rois, batches, options)
    }

    fn max_roi_pool(
        x: CubeTensor,
        rois: CubeTensor,
        batches: CubeTensor,
        output: [usize; 2],
        scale: f32,
    ) -> Optional<Self> {
        roi::max_roi_pool(x, rois, batches, output, scale)
    }

    fn to_small(x: CubeTensor, small: Small, saturate: bool) -> Optional<Self> {
        Optional::Float(small::to_small(x, small, saturate))
    }

    fn determinants(x: CubeTensor) -> Optional<Self> {
        Optional::Float(matrices::determinants(x))
    }

    fn inverses(x: CubeTensor) -> Optional<Self> {
        Optional::Float(matrices::inverses(x))
    }

    fn tree_votes(walk: Walk<Self>, election: Election) -> (Optional<Self>, Optional<Self>) {
        trees::votes(walk, election)
    }

    fn machine_sums(machine: Machine<Self>, comparison: Comparison) -> Optional<Self> {
        svm::sums(machine, comparison)
    }

    fn couple(lines: CubeTensor, classes: usize) -> Optional<Self> {
        Optional::Float(couple::couple(lines, classes))
    }

    fn draw(sums: CubeTensor, fractions: CubeTensor) -> Optional<Self> {
        Optional::Int(draw::draw(sums, fractions))
    }

    fn quantize(x: CubeTensor, to: Affine) -> Optional<Self> {
        quantize::quantize(x, to)
    }

    fn quantize_along(
        x: CubeTensor,
        scale: CubeTensor,
        zero: Optional<Self>,
        dtype: DType,
        bits: u32,
    ) -> Optional<Self> {
        quantize::quantize_along(x, scale, zero.int(), dtype, bits)
    }

    fn quantize_dynamic(
        x: CubeTensor,
        dtype: DType,
    ) -> (Optional<Self>, Optional<Self>, Optional<Self>) {
        quantize::quantize_dynamic(x, dtype)
    }

    fn dequantize(x: CubeTensor, of: Affine) -> Optional<Self> {
        Optional::Float(quantize::dequantize(x, of))
    }

    fn dequantize_along(x: CubeTensor, scale: CubeTensor, zero: Optional<Self>) -> Optional<Self> {
        Optional::Float(quantize::dequantize_along(x, scale, zero.int()))
    }

    fn max_pool_int(x: CubeTensor, window: Window<2>, positions: [usize; 2]) -> Optional<Self> {
        Optional::Int(quantize::max_pool(x, window, positions))
    }

    fn quantized_pair(a: CubeTensor, b: CubeTensor, pair: Pair) -> Optional<Self> {
        Optional::Int(quantize::combine(a, b, pair))
    }

    fn quantized_unary(x: CubeTensor, bias: Optional<Self>, unary: Unary) -> Optional<Self> {
        Optional::Int(quantize::compute(x, bias.float(), unary))
    }

    fn quantized_mean(x: CubeTensor, mean: Mean) -> Optional<Self> {
        quantize::mean(x, mean)
    }
}

impl Optional<CubeBackend> {
    /// Another tensor of the same kind, if there is one.
    fn map(self, f: impl FnOnce(CubeTensor) -> CubeTensor) -> Self {
        match self {
            Self::None => Self::None,
            Self::Float(x) => Self::Float(f(x)),
            Self::Int(x) => Self::Int(f(x)),
            Self::Bool(x) => Self::Bool(f(x)),
        }
    }
}

/// Shape and element type of a tensor.
fn type_of(x: &CubeTensor) -> TensorType {
    TensorType::new(x.shape(), x.dtype)
}

/// The shape and element type of an operand, if it is given.
fn type_of_optional(x: &Optional<CubeBackend>) -> Option<TensorType> {
    match x {
        Optional::None => None,
        Optional::Float(x) | Optional::Int(x) | Optional::Bool(x) => Some(type_of(x)),
    }
}

/// A tensor of a type beside another one, whose elements are still to be written.
fn blank(beside: &CubeTensor, tensor: TensorType) -> CubeTensor {
    unwritten(beside, tensor.shape, tensor.dtype)
}

/// A tensor beside another one, whose elements are still to be written.
fn unwritten(beside: &CubeTensor, shape: Shape, dtype: DType) -> CubeTensor {
    empty_device_dtype(beside.client.clone(), beside.device.clone(), shape, dtype)
}

/// Indices wide enough for each of several tensors.
fn address<'a>(tensors: impl IntoIterator<Item = &'a CubeTensor>) -> AddressType {
    let types = tensors.into_iter().map(CubeTensor::required_address_type);
    types.max().unwrap_or_default()
}

/// Fails where operands that a kernel reads as elements of one type are of several.
fn ensure_alike<'a>(x: &CubeTensor, others: impl IntoIterator<Item = Option<&'a CubeTensor>>) {
    for other in others.into_iter().flatten() {
        ensure!(
            other.dtype == x.dtype,
            "operands of {:?} and {:?} do not go together",
            x.dtype,
            other.dtype
        );
    }
}

/// Where a row of a contiguous tensor begins, along whose axis elements are `inner` apart.
#[cube]
fn first(row: usize, size: usize, inner: usize) -> usize {
    (row / inner) * (inner * size) + row % inner
}

/// The dtype of sums: half precision would lose digits with every term.
fn summed(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    }
}
