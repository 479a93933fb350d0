//! Products with sums in ONNX Runtime's order.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::ModuleOps};
use burn::tensor::TensorData;

use super::{
    product::{WEIGHT_BLOCK, block, each_part, multiply, multiply_row},
    view::{Matrix, View},
};
use crate::backend::primitives;

/// Products of the matrices of the last two axes; those before broadcast.
pub fn matmul(a: FlexTensor, b: FlexTensor) -> FlexTensor {
    match ordered(&a, &b) {
        Some(y) => y,
        None => primitives::matmul::<Flex>(a, b),
    }
}

/// `x * weight + bias` over the last axis of `x`.
pub fn linear(x: FlexTensor, weight: FlexTensor, bias: Option<FlexTensor>) -> FlexTensor {
    match ordered_linear(&x, &weight, bias.as_ref()) {
        Some(y) => y,
        None => <Flex as ModuleOps<Flex>>::linear(x, weight, bias),
    }
}

fn ordered(a: &FlexTensor, b: &FlexTensor) -> Option<FlexTensor> {
    let (left, right) = (a.shape().to_vec(), b.shape().to_vec());
    let last = left.len() - 1;
    let (rows, inner, columns) = (left[last - 1], left[last], right[last]);
    let batches = left.iter().zip(&right).take(last - 1);
    let mut shape: Vec<usize> = batches
        .map(|(a, b)| if *a == 1 { *b } else { *a })
        .collect();
    shape.extend([rows, columns]);
    let mut out = vec![0.0; shape.iter().product()];
    let length = block(columns, inner);
    let b_view = View::of(b)?;
    if right[..last - 1].iter().all(|size| *size == 1) {
        // One large product is faster than many of the same right side.
        let rows = left[..last].iter().product();
        let a = View::of(&a.reshape([rows, inner].into()))?;
        if is_slow(rows, &b_view) {
            return None;
        }
        product(a.matrix(&[]), b_view.matrix(&[]), length, &mut out);
    } else {
        let a = View::of(a)?;
        if is_slow(rows, &b_view) {
            return None;
        }
        each_part(&mut out, rows * columns, |at, out| {
            let place = |sizes: &[usize]| batch(at, &shape[..last - 1], sizes);
            let (a, b) = (a.matrix(&place(&left)), b_view.matrix(&place(&right)));
            product(a, b, length, out);
        });
    }
    Some(FlexTensor::from_data(TensorData::new(out, shape)))
}

/// The place of the matrix number `at` along the axes before its own.
fn batch(at: usize, shape: &[usize], sizes: &[usize]) -> Vec<usize> {
    let mut rest = at;
    let mut place = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        if sizes[axis] != 1 {
            place[axis] = rest % shape[axis];
        }
        rest /= shape[axis];
    }
    place
}

/// Whether a matrix would be transposed for too few rows: then primitives are faster.
fn is_slow(rows: usize, b: &View) -> bool {
    rows < 8 && b.matrix(&[]).column_step != 1
}

fn product(a: Matrix<'_>, b: Matrix<'_>, block: usize, out: &mut [f32]) {
    if a.rows > 1 {
        return multiply(a, b, block, false, out);
    }
    let mut row = vec![0.0; a.columns];
    a.copy(0, 0, &mut row);
    multiply_row(&row, b, out);
}

fn ordered_linear(
    x: &FlexTensor,
    weight: &FlexTensor,
    bias: Option<&FlexTensor>,
) -> Option<FlexTensor> {
    let mut shape = x.shape().to_vec();
    let (inner, columns) = (weight.shape()[0], weight.shape()[1]);
    let last = shape.len() - 1;
    let rows = shape[..last].iter().product();
    let (a, b) = (
        View::of(&x.reshape([rows, inner].into()))?,
        View::of(weight)?,
    );
    let mut out = match bias {
        Some(bias) => {
            let bias: Vec<f32> = bias.clone().into_data().iter().collect();
            bias.repeat(rows)
        }
        None => vec![0.0; rows * columns],
    };
    multiply(
        a.matrix(&[]),
        b.matrix(&[]),
        WEIGHT_BLOCK,
        bias.is_some(),
        &mut out,
    );
    shape[last] = columns;
    Some(FlexTensor::from_data(TensorData::new(out, shape)))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Tensor, module};

    use crate::product::matmul::{linear, matmul, product};
    use crate::testing::{near, noise};

    #[test]
    fn batches_views_and_sizes_agree_with_primitives() {
        for (rows, inner, columns) in [(1, 5, 3), (2, 3, 40), (9, 33, 17), (1, 300, 129)] {
            let check = |a: Tensor<4>, b: Tensor<4>| {
                let expected = a.clone().matmul(b.clone()).into_data();
                near(product(a.clone(), b.clone()), expected.clone(), 1e-5);
                near(matmul::<4, 4, 4>(a, b), expected, 1e-5);
            };
            for (left, right) in [([2, 3], [2, 3]), ([1, 3], [2, 1]), ([2, 3], [1, 1])] {
                let a = noise([left[0], left[1], rows, inner], 1);
                let b = noise([right[0], right[1], inner, columns], 2);
                let transposed = noise([right[0], right[1], columns, inner], 3).swap_dims(2, 3);
                check(a.clone(), b.clone());
                check(a.clone(), transposed);
                let heads = noise([left[0], rows, left[1], inner], 4).swap_dims(1, 2);
                check(heads, b.clone());
                check(a.narrow(3, 1, inner - 1), b.narrow(2, 0, inner - 1));
            }
        }
    }

    #[test]
    fn linear_layers_agree_with_primitives() {
        let (weight, bias) = (noise::<2>([300, 40], 1), noise::<1>([40], 2));
        for rows in [0, 1, 2, 100] {
            let x = noise::<3>([2, rows, 300], 3);
            for weight in [weight.clone(), noise::<2>([40, 300], 4).transpose()] {
                for bias in [None, Some(bias.clone())] {
                    let expected = module::linear(x.clone(), weight.clone(), bias.clone());
                    let y = linear(x.clone(), weight.clone(), bias);
                    near(y, expected.into_data(), 1e-5);
                }
            }
        }
        let x = noise::<1>([300], 5);
        let expected = module::linear(x.clone(), weight.clone(), Some(bias.clone()));
        near(
            linear(x, weight, Some(bias.clone())),
            expected.into_data(),
            1e-5,
        );
        let none = |shape: [usize; 2]| Tensor::<2>::empty(shape, &Default::default());
        let y = linear(none([2, 0]), none([0, 40]), Some(bias.clone()));
        near(y.narrow(0, 1, 1).flatten::<1>(0, 1), bias.into_data(), 0.0);
    }
}
