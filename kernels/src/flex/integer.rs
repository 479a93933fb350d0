//! Products and convolutions of bytes, in 32-bit sums.
//!
//! Instructions multiply unsigned bytes with signed ones, or signed ones with each other ([`DotInstructions::flip`]). The other kind is
//! shifted by 128, and so is its zero point, which changes no difference of the two. Zero points are not subtracted from
//! operands: sums of rows and columns, multiplied by them, are added to the sums of products.

mod band;
mod conv;
mod corrections;
mod depthwise;
mod filters;
mod matmul;
mod output_type;
mod pack;
mod per_axis;
mod requantize;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, ops::ConvOptions};

use super::{
    conv::Geometry,
    copy::dense,
    outcome,
    packed::{Pack, pack},
    simd::DotInstructions,
    tile::ByteEpilogue,
};
use crate::{
    backend::{self, ByteProduct, Given},
    spec::quantize::Integers,
};
use conv::Convolution;
pub use filters::Filters;
pub use matmul::pack_matrix;
pub use pack::Right;
use per_axis::PerAxis;
use requantize::conversion;

/// Operands of a product other than its two tensors.
pub struct Operands {
    /// The zero points of both operands.
    pub zeros: [Given<Flex>; 2],
    pub bias: Given<Flex>,
    /// Scales of both operands and the result.
    pub scales: [Given<Flex>; 3],
    /// Zero point of the result.
    pub zero: Given<Flex>,
}

impl Operands {
    /// The two tensors, and the other operands.
    fn of(product: ByteProduct<Flex>) -> (FlexTensor, FlexTensor, Self) {
        let operands = Self {
            zeros: [product.left_zero, product.right_zero],
            bias: product.bias,
            scales: [product.left_scale, product.right_scale, product.scale],
            zero: product.zero,
        };
        (product.left, product.right, operands)
    }
}

/// The bytes of a dense tensor, and whether they are signed.
fn bytes(x: &FlexTensor) -> Option<(&[u8], bool)> {
    let first = x.layout().start_offset();
    let is_signed = match x.dtype() {
        DType::U8 => false,
        DType::I8 => true,
        _ => return None,
    };
    Some((x.bytes().get(first..)?, is_signed))
}

/// A convolution over up to three axes. Declines other element types and empty outputs.
pub fn conv(
    operands: ByteProduct<Flex>,
    options: ConvOptions<3>,
    integers: Integers,
) -> backend::Outcome<Flex> {
    outcome(convolution(operands, options, integers))
}

/// The product of the matrices of the last two axes. Declines empty products, other element types, and scales
/// or zero points along rows and columns at once.
pub fn matmul(operands: ByteProduct<Flex>, integers: Integers) -> backend::Outcome<Flex> {
    outcome(matmul::product(operands, integers))
}

fn convolution(
    operands: ByteProduct<Flex>,
    options: ConvOptions<3>,
    integers: Integers,
) -> Option<FlexTensor> {
    let (x, weight, operands) = Operands::of(operands);
    let (sizes, weights) = (x.shape().to_vec(), weight.shape().to_vec());
    let missing = 5 - sizes.len();
    let three = |sizes: &[usize]| {
        let mut all = vec![1; missing];
        all.extend(&sizes[2..]);
        all
    };
    let geometry = Geometry::new(&three(&sizes), &three(&weights), &options);
    let outputs = weights[0];
    let mut shape = vec![sizes[0], outputs];
    shape.extend(&geometry.positions[missing..]);
    if shape.contains(&0) || weights.contains(&0) {
        return None;
    }
    let (x, weight) = (dense(x), dense(weight));
    let (values, is_signed) = bytes(&x)?;
    let (weight_bytes, weight_signed) = bytes(&weight)?;
    let make = || {
        let sizes = [outputs, weights[1]];
        let filters = Filters::new(
            DotInstructions::best(),
            weight_bytes,
            weight_signed,
            sizes,
            options.groups,
            &geometry,
        );
        Some(Arc::new(filters))
    };
    let fits = |pack: &Pack| matches!(pack, Pack::ByteFilters(of) if of.fits(options.groups, &geometry));
    let packed = pack(integers.packed.as_ref(), &weight, fits, || make().map(Pack::ByteFilters));
    let Pack::ByteFilters(filters) = packed? else {
        return None;
    };
    let [zero, weight_zero] = operands.zeros;
    let zero = PerAxis::<i32>::of_outputs(zero.int(), outputs)?;
    let PerAxis::One(zero) = zero else {
        return None;
    };
    let weight_zeros = PerAxis::<i32>::of_outputs(weight_zero.int(), outputs)?.each(outputs);
    // A number that does not fit a byte cannot be a zero point.
    let padding = if is_signed { i8::try_from(zero).ok()? as u8 } else { u8::try_from(zero).ok()? };
    // Zero points of the bytes that instructions take, and of signed bytes.
    let shifted = zero + filters.dot.shift(is_signed);
    let shift = if weight_signed { 0 } else { -128 };
    let weight_zeros: Vec<i32> = weight_zeros.iter().map(|zero| zero.wrapping_add(shift)).collect();
    let bias = PerAxis::<i32>::of_outputs(operands.bias.int(), outputs)?.each(outputs);
    let terms = filters.terms as i32;
    let all = bias.iter().zip(&weight_zeros).zip(&filters.sums);
    let start: Vec<i32> = all
        .map(|((bias, weight_zero), sum)| {
            let both = terms.wrapping_mul(*weight_zero).wrapping_sub(*sum);
            bias.wrapping_add(both.wrapping_mul(shifted))
        })
        .collect();
    let negative: Vec<i32> = weight_zeros.iter().map(|zero| zero.wrapping_neg()).collect();
    let [left, right, result] = operands.scales;
    let scale = |scale: Given<Flex>| PerAxis::of_outputs(scale.float(), outputs);
    let result = match result {
        Given::Missing => None,
        result => Some(scale(result)?),
    };
    let factor = PerAxis::factor(scale(left)?, scale(right)?, result)?;
    let zero = PerAxis::of_outputs(operands.zero.int(), outputs)?;
    let (output, conversion) = conversion(&integers.ending, factor.as_factor(), zero, None)?;
    let convolution = Convolution {
        geometry,
        batches: sizes[0],
        filters: &filters,
        values,
        zero: padding,
        flip: filters.dot.flip(is_signed),
        epilogue: ByteEpilogue { rows: Some(&start), conversion, ..ByteEpilogue::default() },
        weight_zeros: (negative.iter().any(|zero| *zero != 0)).then_some(&negative),
    };
    Some(FlexTensor::from_data(convolution.run(output, shape)?))
}
