//! What a backend may compute by a body of its own.
//!
//! An operator's function checks its operands and calls [`Kernels`] through [`call!`]. Every method has a default body of
//! Burn's primitives. It runs on backends without bodies here, and for tensors with gradients, which flow through them alone.
//! A backend joins in its folder, the attribute of the trait and [`Routed::has_body`]. Burn's routing panics for one
//! that the attribute leaves out, and features of other crates decide which there are: so [`call!`] asks first.

// Burn's routing uses the operands for the backends that there are.
#![cfg_attr(not(any(feature = "cube", feature = "flex")), allow(unused_variables))]

mod burn;
mod byte_product;
mod call;
mod coded_product;
mod device;
mod machine;
#[cfg(feature = "cube")]
mod metadata;
mod operand;
mod parts;
pub mod primitives;
mod recurrence;
#[cfg_attr(not(feature = "std"), path = "backend/switches/bare.rs")]
pub mod switches;
#[cfg(test)]
mod tests;
mod walk;

use alloc::vec::Vec;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, backend_extension};
use burn::tensor::DType;
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};

pub use self::byte_product::ByteProduct;
#[cfg(feature = "cube")]
use crate::spec;
use crate::spec::recurrent::{Cell, Sizes};
use crate::spec::{
    bits::{BitMatrix, Blocks},
    quantize::{Affine, Integers, Mean, Pair, Unary},
    small::Small,
};
use crate::spec::{
    epilogue::{Activation, Epilogue},
    packed::Packed,
};
use crate::{
    fault::Axis,
    spec::boxes::{BoxForm, Limits},
    spec::dft::Dft,
    spec::normalize::Lrn,
    spec::pool::Slide,
    spec::ranking::Top,
    spec::regions::RoiAlign,
    spec::scan::Scan,
    spec::scores::Scores,
    spec::window::Window,
    spec::{svm::Comparison, trees::Election},
};
#[cfg(feature = "cube")]
pub use byte_product::ByteProductMetadata;
pub(crate) use call::call;
pub use coded_product::CodedProduct;
pub use device::{Runtime, most_bytes, runs_cubes};
pub use machine::Machine;
#[cfg(feature = "cube")]
use metadata::{
    byte_shapes, element_types, ended, floats, given, ints, joined, numbers, outputs, quantized,
    scores_and_votes, tensor, two_ints, ty,
};
#[cfg(feature = "cube")]
pub use operand::OptionalMetadata;
pub use operand::{Operand, Optional, Routed};
#[cfg(feature = "flex")]
pub use operand::{of_flex, on_flex};
pub use parts::Parts;
#[cfg(feature = "cube")]
pub use parts::PartsMetadata;
#[cfg(feature = "cube")]
pub use recurrence::RecurrenceMetadata;
pub use recurrence::{Matrices, Recurrence};
pub use walk::Walk;

/// Operations that some backend computes otherwise than Burn does. `fusion` says what comes of one where others wait to be
/// fused: `default` runs primitives, which can be; a body for CubeCL names its result and runs later, between the others.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "cube"),
)]
pub trait Kernels: Backend {
    #[fusion(default)]
    fn exp(x: FloatTensor<Self>) -> FloatTensor<Self> {
        primitives::exp::<Self>(x)
    }

    #[fusion(default)]
    fn erf(x: FloatTensor<Self>) -> FloatTensor<Self> {
        primitives::erf::<Self>(x)
    }

    /// The greater or the lesser elements of tensors of one shape, NaN where either is.
    #[fusion(default)]
    fn extreme(a: FloatTensor<Self>, b: FloatTensor<Self>, greatest: bool) -> FloatTensor<Self> {
        primitives::extreme::<Self>(a, b, greatest)
    }

    #[fusion(meta = |x, _| x.clone())]
    fn softmax(x: FloatTensor<Self>, axis: usize) -> FloatTensor<Self> {
        primitives::softmax::<Self>(x, axis)
    }

    #[fusion(default)]
    fn log_softmax(x: FloatTensor<Self>, axis: usize) -> FloatTensor<Self> {
        primitives::log_softmax::<Self>(x, axis)
    }

    /// Rows of mean 0 and variance 1, times `scale`, plus `bias`, which have an element for each one of a row.
    #[fusion(meta = |rows, _, _, _| rows.clone())]
    fn layer_norm(
        rows: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        primitives::layer_norm::<Self>(rows, scale, bias, epsilon)
    }

    /// Groups of channels of `[batch, channels, elements]` of mean 0 and variance 1, times `scale`, plus `bias`.
    #[fusion(meta = |x, _, _, _, _| x.clone())]
    fn group_norm(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        groups: usize,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        primitives::group_norm::<Self>(x, scale, bias, groups, epsilon)
    }

    /// `activation(x * factor + offset)`, with a factor and an offset for each channel of `[batch, channels, ..]`.
    #[fusion(default)]
    fn scale_channels(
        x: FloatTensor<Self>,
        factor: FloatTensor<Self>,
        offset: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self> {
        primitives::scale_channels::<Self>(x, factor, offset, activation)
    }

    /// Rows divided by the root of their mean square, times `scale`, which has an element for each one of a row.
    #[fusion(meta = |rows, _, _| rows.clone())]
    fn rms_norm(
        rows: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        primitives::rms_norm::<Self>(rows, scale, epsilon)
    }

    /// Products of the matrices of the last two axes; those before broadcast. None is empty.
    #[fusion(meta = |a, b| tensor(spec::product::result(&ty(a), &ty(b))))]
    fn matmul(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        primitives::matmul::<Self>(a, b)
    }

    /// Integers as floats of single precision.
    #[fusion(default)]
    fn int_to_single(x: IntTensor<Self>) -> FloatTensor<Self> {
        primitives::int_to_single::<Self>(x)
    }

    /// `activation(x + sum)`, with a sum of the same shape.
    #[fusion(default)]
    fn finish(
        x: FloatTensor<Self>,
        #[extension_type] sum: Optional<Self>,
        activation: Activation,
    ) -> FloatTensor<Self> {
        primitives::finish::<Self>(x, sum, activation)
    }

    /// `x * weight + bias` over the last of at least two axes, none empty, and what follows.
    #[fusion(meta = |x, weight, _, _, _| tensor(spec::product::linear_result(&ty(x), &ty(weight))))]
    fn linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        #[extension_type] sum: Optional<Self>,
        epilogue: Epilogue,
    ) -> FloatTensor<Self> {
        primitives::linear::<Self>(x, weight, bias, sum, epilogue)
    }

    /// The weight of a convolution, in the order in which it is read.
    #[fusion(meta = |weight| weight.clone())]
    fn filters(weight: FloatTensor<Self>) -> FloatTensor<Self> {
        weight
    }

    /// The weight of a convolution of bytes, in the order in which it is read.
    #[fusion(meta = |weight| weight.clone())]
    fn byte_filters(weight: IntTensor<Self>) -> IntTensor<Self> {
        weight
    }

    #[fusion(meta = |x, weight, _, _, options, _| tensor(spec::convolution::result(&ty(x), &ty(weight), options)))]
    fn conv1d(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        #[extension_type] sum: Optional<Self>,
        options: ConvOptions<1>,
        epilogue: Epilogue,
    ) -> FloatTensor<Self> {
        primitives::conv1d::<Self>(x, weight, bias, sum, options, epilogue)
    }

    #[fusion(meta = |x, weight, _, _, options, _| tensor(spec::convolution::result(&ty(x), &ty(weight), options)))]
    fn conv2d(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        #[extension_type] sum: Optional<Self>,
        options: ConvOptions<2>,
        epilogue: Epilogue,
    ) -> FloatTensor<Self> {
        primitives::conv2d::<Self>(x, weight, bias, sum, options, epilogue)
    }

    #[fusion(meta = |x, weight, _, _, options, _| tensor(spec::convolution::result(&ty(x), &ty(weight), options)))]
    fn conv3d(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        #[extension_type] sum: Optional<Self>,
        options: ConvOptions<3>,
        epilogue: Epilogue,
    ) -> FloatTensor<Self> {
        primitives::conv3d::<Self>(x, weight, bias, sum, options, epilogue)
    }

    #[fusion(default)]
    fn conv_transpose1d(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        options: ConvTransposeOptions<1>,
        packed: Option<Packed>,
    ) -> FloatTensor<Self> {
        primitives::conv_transpose1d::<Self>(x, weight, bias, options, packed)
    }

    #[fusion(default)]
    fn conv_transpose2d(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        options: ConvTransposeOptions<2>,
        packed: Option<Packed>,
    ) -> FloatTensor<Self> {
        primitives::conv_transpose2d::<Self>(x, weight, bias, options, packed)
    }

    #[fusion(default)]
    fn conv_transpose3d(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        options: ConvTransposeOptions<3>,
        packed: Option<Packed>,
    ) -> FloatTensor<Self> {
        primitives::conv_transpose3d::<Self>(x, weight, bias, options, packed)
    }

    /// The convolution of bytes over the last axes; none where others do it.
    #[fusion(meta = |operands, options, integers| ended(byte_shapes(operands).convolution(options, integers.ending), integers.ending))]
    fn conv_bytes(
        #[extension_type] operands: ByteProduct<Self>,
        options: ConvOptions<3>,
        integers: Integers,
    ) -> Optional<Self> {
        primitives::conv_bytes::<Self>(operands, options, integers)
    }

    /// The product of matrices of bytes, the bias of which may be of floats; none where others do it.
    #[fusion(meta = |operands, integers| ended(byte_shapes(operands).product(integers.ending), integers.ending))]
    fn matmul_bytes(
        #[extension_type] operands: ByteProduct<Self>,
        integers: Integers,
    ) -> Optional<Self> {
        primitives::matmul_bytes::<Self>(operands, integers)
    }

    /// `x * matrix + bias` for a matrix of few bits; none where it is multiplied as floats.
    #[fusion(default)]
    fn matmul_bits(
        x: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        matrix: BitMatrix,
    ) -> Optional<Self> {
        primitives::matmul_bits::<Self>(x, bias, matrix)
    }

    /// Attention of `[batch, heads, length, size]`; heads of keys and values serve equally many of
    /// queries. A mask, true where a key is hidden, and a bias broadcast to the scores. None is empty. Scores of half
    /// precision are of single precision, and so is their bias.
    #[fusion(meta = |query, _, value, _, _, _| tensor(spec::attention::result(&ty(query), &ty(value))))]
    fn attention(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        #[extension_type] mask: Optional<Self>,
        #[extension_type] bias: Optional<Self>,
        scores: Scores,
    ) -> FloatTensor<Self> {
        primitives::attention::<Self>(query, key, value, mask, bias, scores)
    }

    /// The largest element or the mean of each window; none where Burn's are as good.
    #[fusion(meta = |x, slide| floats(slide.result(&ty(x))))]
    fn slide(x: FloatTensor<Self>, slide: Slide) -> Optional<Self> {
        primitives::slide::<Self>(x, slide)
    }

    /// Elements divided by what their neighbours along the channels come to; none where primitives do it.
    #[fusion(default)]
    fn lrn(x: FloatTensor<Self>, options: Lrn) -> Optional<Self> {
        primitives::lrn::<Self>(x, options)
    }

    /// Where the greatest or the least elements along an axis are, in order; none where the host finds them.
    #[fusion(meta = |x, top| ints(numbers(x).and_then(|x| top.indices(&x))))]
    fn top_k(#[extension_type] x: Optional<Self>, top: Top) -> Optional<Self> {
        primitives::top_k::<Self>(x, top)
    }

    /// The transforms of `[rows, size, parts]` of floats of 32 or 64 bits; none where products with a
    /// matrix or passes over the tensor do it.
    #[fusion(default)]
    fn dft(x: FloatTensor<Self>, options: Dft) -> Optional<Self> {
        primitives::dft::<Self>(x, options)
    }

    /// The spectra of the frames of `[batch, size, parts]`, as [`dft`](Self::dft) gives them; each frame is
    /// one `step` after the one before and multiplied by the window. At least one frame fits.
    #[fusion(default)]
    fn stft(
        x: FloatTensor<Self>,
        #[extension_type] window: Optional<Self>,
        step: usize,
        options: Dft,
    ) -> Optional<Self> {
        primitives::stft::<Self>(x, window, step, options)
    }

    /// The outputs of a recurrent operator at all times, `[times, directions, batch, hidden]`, the last one,
    /// `[directions, batch, hidden]`, and the memory of an LSTM; none where the operator walks over the tensors.
    /// The operands go together, and none is empty.
    #[fusion(meta = |operands, cell, sizes, _| outputs(element_types(operands).outputs(cell, sizes), cell))]
    fn recurrence(
        #[extension_type] operands: Recurrence<Self>,
        cell: Cell,
        sizes: Sizes,
        packed: Option<[Packed; 2]>,
    ) -> (Optional<Self>, Optional<Self>, Optional<Self>) {
        primitives::recurrence::<Self>(operands, cell, sizes, packed)
    }

    /// Indices from `least` on along an axis, with the negative ones, which count from the end,
    /// replaced.
    ///
    /// Fails at an index outside of the axis where tensors lie in the memory of this process. Else
    /// such an index becomes the nearest inside, and the indices, or the least and the greatest of some
    /// at a time, come back beside, to be checked when results are read.
    #[fusion(meta = |indices, _, axis| {
        let [inside, ranges] = spec::indices::within(&ty(indices), *axis);
        (tensor(inside), ints(ranges))
    })]
    fn within(
        indices: IntTensor<Self>,
        least: i64,
        axis: Axis,
    ) -> (IntTensor<Self>, Optional<Self>) {
        primitives::within::<Self>(indices, least, axis)
    }

    /// The places of index tuples, see [`fault::places`](crate::fault::places), and for each axis the least and the greatest of some
    /// indices at a time; none where others find them axis by axis. No axis is empty, and there is a tuple.
    #[fusion(meta = |tuples, axes| two_ints(Some(spec::indices::places(&ty(tuples), axes))))]
    fn places(tuples: IntTensor<Self>, axes: Vec<Axis>) -> (Optional<Self>, Optional<Self>) {
        primitives::places::<Self>(tuples, axes)
    }

    /// Tensors one behind another along an axis, at least one, none empty, whose other sizes are equal; none where Burn's own function is
    /// as good.
    #[fusion(meta = |parts, axis| joined(parts, |parts| spec::join::result(parts, *axis)))]
    fn concat(#[extension_type] parts: Parts<Self>, axis: usize) -> Optional<Self> {
        primitives::concat::<Self>(parts, axis)
    }

    /// Running sums or products; none where Burn's are as good.
    #[fusion(meta = |x, _| x.clone())]
    fn scan(#[extension_type] x: Optional<Self>, scan: Scan) -> Optional<Self> {
        primitives::scan::<Self>(x, scan)
    }

    /// How many elements of a condition hold up to each one, in row-major order; none where Burn finds their places as well.
    #[fusion(meta = |condition| ints(given(condition).map(|x| spec::indices::counts(&x))))]
    fn counts(#[extension_type] condition: Optional<Self>) -> Optional<Self> {
        primitives::counts::<Self>(condition)
    }

    /// The places, so many, at which [`counts`](Self::counts) grow.
    #[fusion(meta = |counts, found| ints(given(counts).map(|_| spec::indices::compact(*found))))]
    fn compact(#[extension_type] counts: Optional<Self>, found: usize) -> Optional<Self> {
        primitives::compact::<Self>(counts, found)
    }

    /// The indices along each axis of places among elements of some sizes, `[places, axes]`; those along the last one are the values at the
    /// places, if there are such. None where several primitives find them. There is a place.
    #[fusion(meta = |places, _, sizes| ints(spec::indices::coordinates(&ty(places), sizes)))]
    fn coordinates(
        places: IntTensor<Self>,
        #[extension_type] values: Optional<Self>,
        sizes: burn::tensor::Shape,
    ) -> Optional<Self> {
        primitives::coordinates::<Self>(places, values, sizes)
    }

    /// The places of the rows of `[rows, length]`, none empty, in order, and how many groups of equal ones begin up to each; none where
    /// the host finds them. NaN equals NaN and is the greatest.
    #[fusion(meta = |rows| {
        let places = numbers(rows).and_then(|rows| spec::ranking::groups(&rows));
        two_ints(places.map(|places| [places.clone(), places]))
    })]
    fn groups(#[extension_type] rows: Optional<Self>) -> (Optional<Self>, Optional<Self>) {
        primitives::groups::<Self>(rows)
    }

    /// Each value at the place, of all places in some order, that stands beside it; none where [`groups`](Self::groups) gives none.
    #[fusion(meta = |values, _| OptionalMetadata::Int(values.clone()))]
    fn permuted(values: IntTensor<Self>, places: IntTensor<Self>) -> Optional<Self> {
        primitives::permuted::<Self>(values, places)
    }

    /// The boxes of each batch and class that are kept, `[batch, classes, most]` and -1 behind them; none where the host finds them.
    #[fusion(meta = |boxes, scores, _, limits| ints(spec::boxes::kept(&ty(boxes), &ty(scores), limits)))]
    fn suppress(
        boxes: FloatTensor<Self>,
        scores: FloatTensor<Self>,
        form: BoxForm,
        limits: Limits,
    ) -> Optional<Self> {
        primitives::suppress::<Self>(boxes, scores, form, limits)
    }

    /// The regions of images, of which `batches` are some; none where primitives do it. No operand is empty.
    #[fusion(meta = |x, rois, _, options| floats(spec::regions::result(&ty(x), &ty(rois), options.output)))]
    fn roi_align(
        x: FloatTensor<Self>,
        rois: FloatTensor<Self>,
        batches: IntTensor<Self>,
        options: RoiAlign,
    ) -> Optional<Self> {
        primitives::roi_align::<Self>(x, rois, batches, options)
    }

    /// The greatest elements in parts of the regions of images, of which `batches` are some; none where the host reads the regions.
    #[fusion(meta = |x, rois, _, output, _| floats(spec::regions::result(&ty(x), &ty(rois), *output)))]
    fn max_roi_pool(
        x: FloatTensor<Self>,
        rois: FloatTensor<Self>,
        batches: IntTensor<Self>,
        output: [usize; 2],
        scale: f32,
    ) -> Optional<Self> {
        primitives::max_roi_pool::<Self>(x, rois, batches, output, scale)
    }

    /// The nearest values of a small type, in f32; none where the host rounds them. It is not of f64.
    #[fusion(meta = |x, _, _| floats(ty(x).with_dtype(DType::F32)))]
    fn to_small(x: FloatTensor<Self>, small: Small, saturate: bool) -> Optional<Self> {
        primitives::to_small::<Self>(x, small, saturate)
    }

    /// The determinants of `[count, size, size]`, none empty; none where the host finds them.
    #[fusion(meta = |x| floats(spec::product::determinants(&ty(x))))]
    fn determinants(x: FloatTensor<Self>) -> Optional<Self> {
        primitives::determinants::<Self>(x)
    }

    /// The inverses of `[count, size, size]`, none empty; none where the host finds them.
    #[fusion(meta = |x| OptionalMetadata::Float(x.clone()))]
    fn inverses(x: FloatTensor<Self>) -> Optional<Self> {
        primitives::inverses::<Self>(x)
    }

    /// What the leaves of all trees weigh for each target of a row, 0 where none does, and how many do; none where the host
    /// walks the trees.
    #[fusion(meta = |walk, election| scores_and_votes(election.result(numbers(&walk.rows).as_ref(), &ty(&walk.weights))))]
    fn tree_votes(
        #[extension_type] walk: Walk<Self>,
        election: Election,
    ) -> (Optional<Self>, Optional<Self>) {
        primitives::tree_votes::<Self>(walk, election)
    }

    /// The products of rows and vectors, or their sums over the vectors of each class, one group of sums behind the other; none
    /// where the host computes machines.
    #[fusion(meta = |machine, comparison| floats(comparison.result(numbers(&machine.rows).as_ref(), &ty(&machine.vectors))))]
    fn machine_sums(
        #[extension_type] machine: Machine<Self>,
        comparison: Comparison,
    ) -> Optional<Self> {
        primitives::machine_sums::<Self>(machine, comparison)
    }

    /// Probabilities of classes for each row of those of pairs, see `classical::svm`; none where the host finds them.
    #[fusion(meta = |lines, classes| floats(spec::svm::coupled(&ty(lines), *classes)))]
    fn couple(lines: FloatTensor<Self>, classes: usize) -> Optional<Self> {
        primitives::couple::<Self>(lines, classes)
    }

    /// For each row of running sums and each of its fractions of 2^32 the place whose sum is the first beyond that part of the
    /// whole; none where the host draws.
    #[fusion(meta = |_, fractions| ints(ty(fractions).with_dtype(DType::I32)))]
    fn draw(sums: IntTensor<Self>, fractions: IntTensor<Self>) -> Optional<Self> {
        primitives::draw::<Self>(sums, fractions)
    }

    /// `rows * matrix + bias` for a matrix of few bits on the device and rows, as [`round_blocks`](Self::round_blocks) gives them if so
    /// asked; none where it is multiplied as floats.
    #[fusion(meta = |operands, blocks, _| floats(blocks.product(&ty(&operands.rows))))]
    fn matmul_coded(
        #[extension_type] operands: CodedProduct<Self>,
        blocks: Blocks,
        in_bytes: bool,
    ) -> Optional<Self> {
        primitives::matmul_coded::<Self>(operands, blocks, in_bytes)
    }

    /// So many elements of a row at a time as multiples of a 127th of the largest of them, in f32; none where several
    /// primitives round them.
    #[fusion(meta = |x, _| floats(ty(x).with_dtype(DType::F32)))]
    fn round_blocks(x: FloatTensor<Self>, size: usize) -> Optional<Self> {
        primitives::round_blocks::<Self>(x, size)
    }

    /// Integers of 8 or 16 bits for floats; this and those below give none where several primitives do it.
    #[fusion(meta = |x, to| ints(spec::quantize::integers(&ty(x), to.dtype())))]
    fn quantize(x: FloatTensor<Self>, to: Affine) -> Optional<Self> {
        primitives::quantize::<Self>(x, to)
    }

    /// [`quantize`](Self::quantize) by scales and zero points that broadcast.
    #[fusion(meta = |x, _, _, dtype, _| ints(spec::quantize::integers(&ty(x), *dtype)))]
    fn quantize_along(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        #[extension_type] zero: Optional<Self>,
        dtype: DType,
        bits: u32,
    ) -> Optional<Self> {
        primitives::quantize_along::<Self>(x, scale, zero, dtype, bits)
    }

    /// Bytes, in the dtype that the device has for them, that span the values and 0, their scale and their zero point.
    #[fusion(meta = |x, dtype| quantized(spec::quantize::dynamic(&ty(x), *dtype)))]
    fn quantize_dynamic(
        x: FloatTensor<Self>,
        dtype: DType,
    ) -> (Optional<Self>, Optional<Self>, Optional<Self>) {
        primitives::quantize_dynamic::<Self>(x, dtype)
    }

    /// The floats that integers stand for.
    #[fusion(meta = |x, _| floats(ty(x).with_dtype(DType::F32)))]
    fn dequantize(x: IntTensor<Self>, of: Affine) -> Optional<Self> {
        primitives::dequantize::<Self>(x, of)
    }

    /// [`dequantize`](Self::dequantize) by scales and zero points that broadcast.
    #[fusion(meta = |x, _, _| floats(ty(x).with_dtype(DType::F32)))]
    fn dequantize_along(
        x: IntTensor<Self>,
        scale: FloatTensor<Self>,
        #[extension_type] zero: Optional<Self>,
    ) -> Optional<Self> {
        primitives::dequantize_along::<Self>(x, scale, zero)
    }

    /// The greatest integer of each window, at so many positions.
    #[fusion(meta = |x, _, positions| ints(spec::pool::planes(&ty(x), *positions)))]
    fn max_pool_int(
        x: IntTensor<Self>,
        window: Window<2>,
        positions: [usize; 2],
    ) -> Optional<Self> {
        primitives::max_pool_int::<Self>(x, window, positions)
    }

    /// The sum or product of what integers stand for, broadcast.
    #[fusion(meta = |a, b, pair| ints(pair.result(&ty(a), &ty(b))))]
    fn quantized_pair(a: IntTensor<Self>, b: IntTensor<Self>, pair: Pair) -> Optional<Self> {
        primitives::quantized_pair::<Self>(a, b, pair)
    }

    /// A function of what integers stand for, with a bias along the last axis.
    #[fusion(meta = |x, _, unary| ints(ty(x).with_dtype(unary.y.dtype())))]
    fn quantized_unary(
        x: IntTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        unary: Unary,
    ) -> Optional<Self> {
        primitives::quantized_unary::<Self>(x, bias, unary)
    }

    /// The means over the last axes of what integers stand for.
    #[fusion(meta = |x, mean| ints(mean.result(&ty(x))))]
    fn quantized_mean(x: IntTensor<Self>, mean: Mean) -> Optional<Self> {
        primitives::quantized_mean::<Self>(x, mean)
    }
}
