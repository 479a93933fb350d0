//! Rows of quantized tensors.

use super::{Row, Size, check, row, value};
use crate::convolution::window::Window;
use crate::product::epilogue::Activation;
use crate::product::moe::Projection;
use crate::quantize::{
    self, Affine, BitData, BitMatrix, Blocks, FloatCodes, Gather, Requantize, Zeros, gather_float,
    gather_int, small::Small, steps,
};
use burn::tensor::{DType, TensorData};

const OF_A: Affine = Affine::u8(0.1, 3);
const OF_B: Affine = Affine::u8(0.2, 7);

const BLOCKS: Blocks = Blocks { inputs: 64, outputs: 3, bits: 4, size: 32 };

/// Blocks of 16 elements along the last axis, slices along the first.
const GATHER: Gather = Gather { axis: 0, blocks_axis: 1, block: 16, bits: 8, zero: 0 };

fn bit_matrix() -> BitMatrix {
    let data = BitData {
        codes: TensorData::new(vec![0x5Au8; 96], [96]),
        scales: TensorData::new(vec![0.5f32; 6], [6]),
        zeros: None,
        groups: None,
    };
    BitMatrix::new(BLOCKS, data)
}

fn blocks_hold(size: Size<'_>) -> bool {
    size('n').div_ceil(16) == size('s')
}

pub const ROWS: &[Row] = &[
    row("quantize quantize", "input=mn scale=m?n? zero=m?n?", "m3n4", |a| {
        let zero = Some(a.bytes(2));
        vec![value(quantize::quantize::<2>(a.float(0), a.positive(1), zero, DType::U8, 8))]
    })
    .single(),
    row("quantize quotient", "input=mn scale=m?n?", "m3n4", |a| {
        vec![value(quantize::quotient::<2>(a.float(0), a.positive(1), DType::BF16))]
    })
    .single(),
    row("quantize quantize_small", "input=mn scale=m?n?", "m3n4", |a| {
        vec![value(quantize::quantize_small::<2>(a.float(0), a.positive(1), Small::E4M3Fn, true))]
    })
    .single(),
    row("quantize dequantize_small", "input=mn scale=m?n?", "m3n4", |a| {
        vec![value(quantize::dequantize_small::<2>(a.float(0), a.positive(1), DType::F32))]
    })
    .single(),
    row("quantize dequantize", "input=mn scale=m?n? zero=m?n?", "m3n4", |a| {
        vec![value(quantize::dequantize::<2>(a.bytes(0), a.positive(1), Some(a.bytes(2)), DType::F32))]
    })
    .single(),
    row("quantize/affine add", "a=m?n? b=m?n?", "m3n4", |a| {
        vec![value(quantize::add::<2>((a.bytes(0), OF_A), (a.bytes(1), OF_B), OF_A))]
    })
    .single(),
    row("quantize/affine mul", "a=m?n? b=m?n?", "m3n4", |a| {
        vec![value(quantize::mul::<2>((a.bytes(0), OF_A), (a.bytes(1), OF_B), OF_A))]
    })
    .single(),
    row("quantize/affine choose", "condition=m?n? a=m?n? b=m?n?", "m3n4", |a| {
        vec![value(quantize::choose::<2>(a.bool(0), (a.bytes(1), OF_A), (a.bytes(2), OF_B), OF_A))]
    })
    .single(),
    row("quantize/affine concat", "a=mk b=ml", "m3k4l2", |a| {
        let parts = vec![(a.bytes(0), OF_A), (a.bytes(1), OF_B)];
        vec![value(quantize::concat::<2>(parts, OF_A, 1))]
    })
    .single(),
    row("quantize/steps add", "a=m?n? b=m?n?", "m3n4", |a| {
        vec![value(steps::add::<2>((a.bytes(0), OF_A), (a.bytes(1), OF_B), OF_A))]
    })
    .single(),
    row("quantize/steps mul", "a=m?n? b=m?n?", "m3n4", |a| {
        vec![value(steps::mul::<2>((a.bytes(0), OF_A), (a.bytes(1), OF_B), OF_A))]
    })
    .single(),
    row("quantize/steps activate_biased", "input=mn bias=n", "m3n4", |a| {
        vec![value(steps::activate_biased::<2>((a.bytes(0), OF_A), a.float(1), OF_B, Activation::Relu))]
    })
    .single(),
    row("quantize/bits Blocks::matrix", "bytes=c scales=s zeros=z groups=g", "c96s6z3g64", |a| {
        let (zeros, groups) = (Zeros::Packed(a.bytes(2)), a.int(3, 2));
        vec![value(BLOCKS.matrix(a.bytes(0), a.positive(1), zeros, Some(groups)))]
    })
    .when(|size| [size('c'), size('s'), size('z')] == [96, 6, 3] && size('g') >= 64)
    .single(),
    row("quantize/bits/bnb4 FloatCodes::matrix", "bytes=c magnitudes=s", "c5s3", |a| {
        let layout = FloatCodes { rows: 3, columns: 3, size: 4, normal: true };
        vec![value(layout.matrix(a.bytes(0), a.positive(1)))]
    })
    .when(|size| [size('c'), size('s')] == [5, 3])
    .single(),
    row("product/moe Projection::packed", "bytes=c scales=s zeros=z bias=ef", "c24s6z4e2f3", |a| {
        let blocks = Blocks { inputs: 8, outputs: 3, bits: 4, size: 8 };
        let (zeros, bias) = (Some(a.bytes(2)), Some(a.float(3)));
        let all = Projection::packed(a.bytes(0), a.positive(1), zeros, bias, blocks, 2, true);
        vec![value(all.weight)]
    })
    .when(|size| ['c', 's', 'z', 'e', 'f'].map(size) == [24, 6, 4, 2, 3])
    .single(),
    row("quantize/bits matmul_bits", "input=mi bias=o", "m2i64o3", |a| {
        vec![value(quantize::matmul_bits::<2>(a.float(0), &bit_matrix(), Some(a.float(1))))]
    })
    .when(|size| [size('i'), size('o')] == [64, 3])
    .single(),
    row("quantize/bits matmul_wide", "input=mi matrix=io bias=o", "m2i4o3", |a| {
        vec![value(quantize::matmul_wide::<2>(a.float(0), a.float(1), Some(a.float(2))))]
    })
    .single(),
    row("quantize/gather gather_int", "input=mn indices=i scales=us zeros=us", "m3n32i2s2u3", |a| {
        let indices = a.int(1, a.size(0, 0) as i64);
        vec![value(gather_int::<2, 1, 2>(a.bytes(0), indices, a.positive(2), Some(a.bytes(3)), &GATHER))]
    })
    .when(|size| blocks_hold(size) && [1, size('m')].contains(&size('u')))
    .single(),
    row("quantize/gather gather_float", "input=mn indices=i scales=m?s", "m3n32i2s2", |a| {
        let indices = a.int(1, a.size(0, 0) as i64);
        vec![value(gather_float::<2, 1, 2>(a.float(0), indices, a.positive(2), &GATHER))]
    })
    .when(blocks_hold)
    .single(),
    row("quantize/integer/matmul matmul_integer", "a=bmk b=bkn zero_a=b?m?1 zero_b=b?1n?", "b2m3k4n5", |a| {
        let zeros = (Some(a.bytes(2)), Some(a.bytes(3)));
        vec![value(quantize::matmul_integer::<3, 3, 3>(a.bytes(0), a.bytes::<3>(1), zeros))]
    })
    .single(),
    row(
        "quantize/integer/matmul qlinear_matmul",
        "a=mk b=kn zero_a=m?1 zero_b=1n? bias=1n? scale_a=m?1 scale_b=1n? scale=11 zero=11",
        "m3k4n5",
        |a| {
            let to = Requantize {
                scales: [a.positive(5), a.positive(6), a.positive(7)],
                zero: a.bytes(8),
                dtype: DType::U8,
                bits: 8,
            };
            let zeros = (Some(a.bytes(2)), Some(a.bytes(3)));
            let bias = Some(a.int(4, 99));
            vec![value(quantize::qlinear_matmul::<2, 2, 2>(a.bytes(0), a.bytes::<2>(1), zeros, bias, to))]
        },
    )
    .single(),
    row(
        "quantize/integer/matmul matmul_to_float",
        "a=mk b=kn zero_a=m?1 zero_b=1n? scale_a=m?1 scale_b=1n? bias=1n?",
        "m3k4n5",
        |a| {
            let (zeros, scales) = ((Some(a.bytes(2)), Some(a.bytes(3))), [a.positive(4), a.positive(5)]);
            let bias = Some(a.float(6));
            vec![value(quantize::matmul_to_float::<2, 2, 2>(
                a.bytes(0),
                a.bytes::<2>(1),
                zeros,
                None,
                scales,
                bias,
            ))]
        },
    )
    .single(),
    row("quantize/integer/matmul matmul_dynamic", "a=mk b=kn scale=1n? zero=1n? bias=1n?", "m3k4n5", |a| {
        let (zero, bias) = (Some(a.bytes(3)), Some(a.float(4)));
        vec![value(quantize::matmul_dynamic::<2, 2, 2>(
            a.float(0),
            a.bytes::<2>(1),
            a.positive(2),
            zero,
            bias,
        ))]
    })
    .single(),
    row("quantize/integer/conv $sums", "input=bcx weight=oc3 zero_x=1 zero_w=o?", "b2c3x5o4", |a| {
        let zeros = (Some(a.bytes(2)), Some(a.bytes(3)));
        vec![value(quantize::conv_integer1d(a.bytes(0), a.bytes::<3>(1), zeros, Window::new([3]), 1))]
    })
    .when(|size| size('x') >= 3)
    .single(),
    row(
        "quantize/integer/conv $quantized",
        "input=bcxy weight=og23 zero_x=1 zero_w=o? bias=o scale_x=1 scale_w=o? scale=1 zero=1",
        "b2c4x4y5g2o4",
        |a| {
            let to = Requantize {
                scales: [a.positive(5), a.positive(6), a.positive(7)],
                zero: a.bytes(8),
                dtype: DType::U8,
                bits: 8,
            };
            let zeros = (Some(a.bytes(2)), Some(a.bytes(3)));
            let (bias, window) = (Some(a.int(4, 99)), Window::new([2, 3]));
            vec![value(quantize::qlinear_conv2d(a.bytes(0), a.bytes::<4>(1), zeros, bias, window, 2, to))]
        },
    )
    .when(|size| {
        size('c') == 2 * size('g') && size('o').is_multiple_of(2) && size('x') >= 2 && size('y') >= 3
    })
    .single(),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
