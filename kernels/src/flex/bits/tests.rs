//! Comparison with products of the primitives.

use burn::tensor::{Int, Tensor, TensorData};
use half::f16;

use crate::flex::simd::{with_each_dot, with_each_set};
use crate::quantize::{BitData, BitMatrix, Blocks, Zeros, in_bytes, matmul_bits, matmul_wide};
use crate::spec::bits::ZeroPoints;
use crate::testing::{float, near, noise};

/// Form of the zero points.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ZeroPointCase {
    Middle,
    Packed,
    Plain,
    /// Floats of which the matrix only stores half precision.
    Halves,
}

fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn flat<T: burn::tensor::Element>(values: Vec<T>) -> TensorData {
    let count = values.len();
    TensorData::new(values, [count])
}

fn data(blocks: Blocks, kind: ZeroPointCase, groups: Option<Vec<i32>>) -> BitData {
    let count = blocks.inputs.div_ceil(blocks.size);
    let row = count * blocks.size * blocks.bits / 8;
    let floats = |seed| noise::<1>([blocks.outputs * count], seed).into_data();
    let halves = |seed| floats(seed).iter::<f32>().map(f16::from_f32).map(f16::to_f32).collect::<Vec<_>>();
    let quotients = || halves(10).into_iter().zip(halves(8)).map(|(offset, scale)| offset / scale).collect();
    BitData {
        codes: flat(bytes(blocks.outputs * row, 7)),
        scales: if kind == ZeroPointCase::Halves { flat(halves(8)) } else { floats(8) },
        zeros: match kind {
            ZeroPointCase::Middle => None,
            ZeroPointCase::Packed => {
                let row = (count * blocks.bits).div_ceil(8);
                Some(flat(bytes(blocks.outputs * row, 9)))
            }
            ZeroPointCase::Plain => Some(floats(10)),
            ZeroPointCase::Halves => Some(flat::<f32>(quotients())),
        },
        groups: groups.map(flat),
    }
}

/// The matrix by primitives.
fn matrix(blocks: Blocks, data: &BitData) -> Tensor<2> {
    let int = |data: &TensorData| Tensor::<1, Int>::from_data(data.clone(), &Default::default());
    let zeros = match &data.zeros {
        None => Zeros::Middle,
        Some(zeros) if zeros.dtype().is_float() => Zeros::Plain(float(zeros.clone())),
        Some(zeros) => Zeros::Packed(crate::testing::int(zeros.clone())),
    };
    let groups = data.groups.as_ref().map(int);
    let codes = crate::testing::int(data.codes.clone());
    blocks.matrix(codes, float(data.scales.clone()), zeros, groups)
}

fn check(blocks: Blocks, kind: ZeroPointCase, groups: Option<Vec<i32>>) {
    let data = data(blocks, kind, groups);
    let floats = matrix(blocks, &data);
    let packed = BitMatrix::new(blocks, data).in_halves();
    let is_half = matches!(packed.panels().zeros, ZeroPoints::Halves(_));
    assert_eq!(is_half, kind == ZeroPointCase::Halves);
    near(packed.floats(&Default::default()), floats.clone().into_data(), 0.0);
    let bias = noise::<1>([blocks.outputs], 3);
    let scale = (blocks.inputs << blocks.bits) as f32;
    for rows in [1, 2, 3, 5, 9, 30] {
        let x = noise::<3>([1, rows, blocks.inputs], 4);
        let agree = |packed: &BitMatrix, expected: Tensor<3>| {
            let expected = expected.div_scalar(scale).into_data();
            let run = || {
                let y = matmul_bits(x.clone(), packed, Some(bias.clone()));
                near(y.div_scalar(scale), expected.clone(), 1e-6);
            };
            with_each_set(|_| run());
            with_each_dot(|_| run());
        };
        let bias = Some(bias.clone());
        agree(&packed, matmul_wide(x.clone(), floats.clone(), bias.clone()));
        if packed.panels().order.is_none() {
            let rounded = in_bytes(x.clone(), blocks.size);
            let expected = matmul_wide(rounded, floats.clone(), bias);
            agree(&packed.clone().in_bytes(), expected);
        }
    }
}

fn blocks(inputs: usize, outputs: usize, bits: usize, size: usize) -> Blocks {
    Blocks { inputs, outputs, bits, size }
}

#[test]
fn all_bits_and_zero_points() {
    for bits in [2, 4, 8] {
        for kind in
            [ZeroPointCase::Middle, ZeroPointCase::Packed, ZeroPointCase::Plain, ZeroPointCase::Halves]
        {
            check(blocks(70, 37, bits, 32), kind, None);
        }
        check(blocks(48, 16, bits, 16), ZeroPointCase::Packed, None);
        check(blocks(300, 3, bits, 256), ZeroPointCase::Packed, None);
        check(blocks(1, 1, bits, 16), ZeroPointCase::Middle, None);
    }
}

#[test]
fn inputs_in_any_order() {
    for bits in [2, 4, 8] {
        let mixed = (0..70).map(|input| input * 29 % 5).collect();
        check(blocks(70, 33, bits, 16), ZeroPointCase::Packed, Some(mixed));
        // One group has more inputs than a block, others have none.
        let one: Vec<_> = (0..64).map(|input| i32::from(input == 9)).collect();
        check(blocks(64, 5, bits, 16), ZeroPointCase::Plain, Some(one.clone()));
        check(blocks(64, 5, bits, 16), ZeroPointCase::Halves, Some(one));
    }
}

#[test]
fn the_longest_sums_fit() {
    for bits in [2, 4, 8] {
        let blocks = blocks(512, 17, bits, 256);
        let data = BitData {
            codes: flat(vec![u8::MAX; 17 * 512 * bits / 8]),
            scales: flat(vec![1f32; 34]),
            zeros: Some(flat(vec![0u8; 17 * (2 * bits).div_ceil(8)])),
            groups: None,
        };
        let packed = BitMatrix::new(blocks, data).in_bytes();
        let expected = TensorData::new(vec![-512.0 * ((1 << bits) - 1) as f32; 17], [1, 17]);
        with_each_dot(|_| {
            let x = Tensor::<2>::full([1, 512], -1.0, &Default::default());
            near(matmul_bits(x, &packed, None), expected.clone(), 0.0);
        });
    }
}

#[test]
fn what_is_not_finite_stays_so() {
    let blocks = blocks(64, 20, 4, 32);
    let packed = [ZeroPointCase::Packed, ZeroPointCase::Halves]
        .map(|kind| BitMatrix::new(blocks, data(blocks, kind, None)).in_halves());
    for odd in [f32::NAN, f32::INFINITY] {
        let x = noise::<2>([2, 64], 1).into_data();
        let mut x: Vec<f32> = x.iter().collect();
        x[70] = odd;
        let x = float::<2>(TensorData::new(x, [2, 64]));
        for packed in packed.iter().flat_map(|packed| [packed.clone(), packed.clone().in_bytes()]) {
            with_each_dot(|_| {
                let y = matmul_bits(x.clone(), &packed, None).into_data();
                let y: Vec<f32> = y.iter().collect();
                assert!(y[..20].iter().all(|y| y.is_finite()));
                assert!(y[20..].iter().all(|y| !y.is_finite()), "{odd} {y:?}");
            });
        }
    }
}

#[test]
fn nothing_stays_nothing() {
    let blocks = blocks(32, 20, 4, 32);
    let packed = BitMatrix::new(blocks, data(blocks, ZeroPointCase::Middle, None));
    let x = Tensor::<2>::zeros([0, 32], &Default::default());
    assert_eq!(matmul_bits(x, &packed, None).dims(), [0, 20]);
    let x = noise::<1>([32], 1);
    assert_eq!(matmul_bits(x, &packed, None).dims(), [20]);
}
