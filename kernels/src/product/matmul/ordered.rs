//! Products in this process, with sums in ONNX Runtime's order.

use burn::tensor::{DType, Tensor, TensorData};

use super::result_shape;
use crate::{
    cpu::{
        product::{WEIGHT_BLOCK, block, each_part, multiply, multiply_row},
        view::{Matrix, View},
    },
    shape::lift,
};

/// [`super::matmul`] of matrices that are read where they lie.
pub fn ordered<const A: usize, const B: usize, const O: usize>(
    a: &Tensor<A>,
    b: &Tensor<B>,
) -> Option<Tensor<O>> {
    if !View::is_possible(a) || !View::is_possible(b) {
        return None;
    }
    let (left, right) = (a.dims(), b.dims());
    let (rows, inner, columns) = (left[A - 2], left[A - 1], right[B - 1]);
    if inner != right[B - 2] || right.contains(&0) || left.contains(&0) {
        return None;
    }
    let shape: [usize; O] =
        result_shape(&left[..A - 2], &right[..B - 2], Some(rows), Some(columns));
    let mut out = vec![0.0; shape.iter().product()];
    let length = block(columns, inner);
    if right[..B - 2].iter().all(|size| *size == 1) {
        // One large product is faster than many of the same right side.
        let rows = left[..A - 1].iter().product();
        let (a, b) = (a.clone().reshape([rows, inner]), lift::<B, O, _>(b.clone()));
        let (a, b) = (View::of(&a)?, View::of(&b)?);
        if is_slow(rows, &b) {
            return None;
        }
        product(a.matrix(&[]), b.matrix(&[0; O][2..]), length, &mut out);
    } else {
        let (a, b) = (lift::<A, O, _>(a.clone()), lift::<B, O, _>(b.clone()));
        let (left, right) = (a.dims(), b.dims());
        let (a, b) = (View::of(&a)?, View::of(&b)?);
        if is_slow(rows, &b) {
            return None;
        }
        each_part(&mut out, rows * columns, |at, out| {
            let place = |sizes: &[usize; O]| batch(at, &shape, sizes);
            let (a, b) = (a.matrix(&place(&left)[2..]), b.matrix(&place(&right)[2..]));
            product(a, b, length, out);
        });
    }
    let data = TensorData::new(out, shape);
    Some(Tensor::from_data(data, (&a.device(), DType::F32)))
}

/// The place of the matrix number `at` along the axes before its own, behind two that do not count.
fn batch<const O: usize>(at: usize, shape: &[usize; O], sizes: &[usize; O]) -> [usize; O] {
    let mut rest = at;
    let mut place = [0; O];
    for axis in (0..O - 2).rev() {
        place[axis + 2] = if sizes[axis] == 1 {
            0
        } else {
            rest % shape[axis]
        };
        rest /= shape[axis];
    }
    place
}

/// Whether a matrix would be turned for too few rows: then primitives are faster.
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

/// [`super::linear`] of tensors that are read where they lie.
pub fn ordered_linear<const D: usize>(
    x: &Tensor<D>,
    weight: &Tensor<2>,
    bias: Option<&Tensor<1>>,
) -> Option<Tensor<D>> {
    let mut shape = x.dims();
    let [inner, columns] = weight.dims();
    if shape[D - 1] != inner || shape.contains(&0) || !View::is_possible(weight) {
        return None;
    }
    let rows = shape[..D - 1].iter().product();
    let x = x.clone().reshape([rows, inner]);
    let (a, b) = (View::of(&x)?, View::of(weight)?);
    let mut out = match bias {
        Some(bias) => bias
            .to_data()
            .iter::<f32>()
            .collect::<Vec<_>>()
            .repeat(rows),
        None => vec![0.0; rows * columns],
    };
    multiply(
        a.matrix(&[]),
        b.matrix(&[]),
        WEIGHT_BLOCK,
        bias.is_some(),
        &mut out,
    );
    shape[D - 1] = columns;
    let data = TensorData::new(out, shape);
    Some(Tensor::from_data(data, (&x.device(), DType::F32)))
}

#[cfg(test)]
mod tests {
    use burn::tensor::module;

    use super::*;
    use crate::testing::{near, noise};

    #[test]
    fn batches_views_and_sizes_agree_with_primitives() {
        for (rows, inner, columns) in [(1, 5, 3), (2, 3, 40), (9, 33, 17), (1, 300, 129)] {
            let check = |a: Tensor<4>, b: Tensor<4>| {
                let expected = a.clone().matmul(b.clone()).into_data();
                if let Some(y) = ordered::<4, 4, 4>(&a, &b) {
                    near(y, expected, 1e-5);
                }
            };
            for (left, right) in [([2, 3], [2, 3]), ([1, 3], [2, 1]), ([2, 3], [1, 1])] {
                let a = noise([left[0], left[1], rows, inner], 1);
                let b = noise([right[0], right[1], inner, columns], 2);
                let turned = noise([right[0], right[1], columns, inner], 3).swap_dims(2, 3);
                check(a.clone(), b.clone());
                check(a.clone(), turned);
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
                    let y = super::super::linear(x.clone(), weight.clone(), bias);
                    near(y, expected.into_data(), 1e-5);
                }
            }
        }
        let none = |shape: [usize; 2]| Tensor::<2>::empty(shape, &Default::default());
        let y = super::super::linear(none([2, 0]), none([0, 40]), Some(bias.clone()));
        near(y.narrow(0, 1, 1).flatten::<1>(0, 1), bias.into_data(), 0.0);
    }
}
