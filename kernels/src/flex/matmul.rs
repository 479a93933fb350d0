//! Matrix products of tensors.

use std::sync::Arc;

use burn::backend::{
    Flex, TensorMetadata,
    flex::FlexTensor,
    ops::{FloatTensorOps, ModuleOps},
};
use burn::tensor::DType;

use super::{
    elementary::{activate, finish},
    gemm::{ProductEpilogue, Right, multiply, multiply_packed, multiply_row},
    memory::{Buffer, Cuts, Grid, Unwritten, Written, zeroed},
    packed::{Pack, pack, without_memory},
    plan::{threads, threads_reading},
    simd::InstructionSet,
    view::{Dense, Matrix, RawView, View},
    widened,
};
use crate::{
    backend::primitives,
    spec::{epilogue::Epilogue, packed::Packed},
};

/// Products of the matrices of the last two axes. The axes before broadcast.
pub fn matmul(a: FlexTensor, b: FlexTensor) -> FlexTensor {
    match tiled(&a, &b) {
        Some(y) => y,
        None => primitives::matmul::<Flex>(a, b),
    }
}

/// `x * weight + bias` over the last axis of `x`, with residual input and activation.
pub fn linear(
    x: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    sum: Option<FlexTensor>,
    epilogue: Epilogue,
) -> FlexTensor {
    match tiled_linear(&x, &weight, bias.as_ref(), sum.as_ref(), &epilogue) {
        Some(y) => y,
        None => {
            let y = <Flex as ModuleOps<Flex>>::linear(x, weight, bias);
            finish(y, sum, epilogue.activation)
        }
    }
}

fn tiled(a: &FlexTensor, b: &FlexTensor) -> Option<FlexTensor> {
    let dtype = a.dtype();
    let (left, right) = (a.shape().to_vec(), b.shape().to_vec());
    let last = left.len() - 1;
    let (rows, inner, columns) = (left[last - 1], left[last], right[last]);
    let batches = left.iter().zip(&right).take(last - 1);
    let mut shape: Vec<usize> = batches.map(|(a, b)| if *a == 1 { *b } else { *a }).collect();
    shape.extend([rows, columns]);
    let count = shape.iter().product();
    let (a, b) = (widened(a.clone()), View::of(&widened(b.clone()))?);
    let values = if right[..last - 1].iter().all(|size| *size == 1) {
        // One large product is faster than many with the same right matrix.
        let a = View::of(&a.reshape([left[..last].iter().product(), inner].into()))?;
        Buffer::filled(count, |out| product(a.matrix(&[]), b.matrix(&[]), ProductEpilogue::NONE, out))
    } else {
        let a = View::of(&a)?;
        let place = |at: usize, sizes: &[usize]| batch(at, &shape[..last - 1], sizes);
        let matrices = count / (rows * columns).max(1);
        let grid = Grid::of_rows(Cuts::every(matrices, 1), rows * columns);
        let each = threads(rows * inner * columns);
        // Few products run one after another, each on all threads.
        let tasks = if matrices.min(threads(count * inner)) > each { usize::MAX } else { 1 };
        Buffer::filled(count, |out| {
            let out = out.reshaped(matrices, rows * columns);
            out.side_by_side(grid, tasks, |at, _, out| {
                let (a, b) = (a.matrix(&place(at, &left)), b.matrix(&place(at, &right)));
                product(a, b, ProductEpilogue::NONE, out)
            })
        })
    };
    Some(rounded(values, shape, dtype))
}

/// Index of the matrix with number `at` along the axes before its own.
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

/// Writes the product, with the right matrix in place.
fn product<'a>(
    a: Matrix<'_>,
    b: Matrix<'_>,
    epilogue: ProductEpilogue<'_>,
    out: Unwritten<'a>,
) -> Written<'a> {
    if a.rows != 1 {
        return multiply(InstructionSet::best(), a, b, epilogue, out);
    }
    let mut row = vec![0.0; a.columns];
    a.copy(0, 0, &mut row);
    let parts = threads_reading(0, 4 * b.rows * b.columns).min(b.columns).max(1);
    let grid = Grid::of_row(Cuts::split(b.columns, 1, parts));
    out.side_by_side(grid, parts, |_, spot, out| {
        let columns = spot.columns;
        out.write(|out| {
            let out = zeroed(out);
            multiply_row(&row, b.columns(columns.start, columns.len()), out);
            for more in [epilogue.bias, epilogue.addend].into_iter().flatten() {
                for (y, more) in out.iter_mut().zip(&more[columns.start..]) {
                    *y += more;
                }
            }
            activate(out, epilogue.activation);
            out
        })
    })
}

fn tiled_linear(
    x: &FlexTensor,
    weight: &FlexTensor,
    bias: Option<&FlexTensor>,
    sum: Option<&FlexTensor>,
    epilogue: &Epilogue,
) -> Option<FlexTensor> {
    let dtype = x.dtype();
    let mut shape = x.shape().to_vec();
    let (inner, columns) = (weight.shape()[0], weight.shape()[1]);
    let last = shape.len() - 1;
    let rows: usize = shape[..last].iter().product();
    let x = View::of(&widened(x.clone()).reshape([rows, inner].into()))?;
    let [bias, addend] = [bias, sum].map(|x| x.map(Dense::new));
    let product_epilogue = ProductEpilogue {
        bias: bias.as_ref().map(Dense::values),
        addend: addend.as_ref().map(Dense::values),
        activation: epilogue.activation,
    };
    let a = x.matrix(&[]);
    let values = match &epilogue.packed {
        Some(packed) => {
            let right = kept(weight, packed)?;
            Buffer::filled(rows * columns, |out| multiply_packed(a, &right, product_epilogue, out))
        }
        None => {
            let b = View::of(&widened(weight.clone()))?;
            Buffer::filled(rows * columns, |out| product(a, b.matrix(&[]), product_epilogue, out))
        }
    };
    shape[last] = columns;
    Some(rounded(values, shape, dtype))
}

/// Packs the weight, if the microkernel computes in its precision.
pub fn pack_matrix(weight: FlexTensor, epilogue: Epilogue) -> FlexTensor {
    match &epilogue.packed {
        Some(packed) if weight.dtype() != DType::F64 => {
            kept(&weight, packed);
            without_memory(weight, packed)
        }
        _ => weight,
    }
}

fn kept(weight: &FlexTensor, packed: &Packed) -> Option<Arc<Right>> {
    let make = || {
        let weight = RawView::of(&widened(weight.clone()))?;
        let right = Right::of_weight(InstructionSet::best(), weight.matrix(&[]));
        Some(Pack::Right(Arc::new(right)))
    };
    let fits = |pack: &Pack| matches!(pack, Pack::Right(_));
    match pack(Some(packed), weight, fits, make)? {
        Pack::Right(right) => Some(right),
        _ => None,
    }
}

fn rounded(values: Buffer, shape: Vec<usize>, dtype: DType) -> FlexTensor {
    let y = values.tensor(shape);
    match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{
        DType, Tensor,
        activation::{relu, tanh},
        module,
    };

    use crate::flex::simd::with_each_set;
    use crate::product::matmul::{linear, linear_then, matmul, product};
    use crate::spec::epilogue::{Activation, Epilogue};
    use crate::testing::{near, noise};

    #[test]
    fn batches_views_and_sizes_agree_with_primitives() {
        for (rows, inner, columns) in [(1, 5, 3), (2, 3, 40), (9, 33, 17), (30, 9, 33), (1, 300, 129)] {
            let check = |a: Tensor<4>, b: Tensor<4>| {
                let expected = a.clone().matmul(b.clone()).into_data();
                with_each_set(|_| {
                    let (a, b) = (a.clone(), b.clone());
                    near(product(a.clone(), b.clone()), expected.clone(), 1e-5);
                    near(matmul::<4, 4, 4>(a, b), expected.clone(), 1e-5);
                });
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
                    let sum = noise::<3>([2, rows, 40], 5);
                    let ended = relu(expected.clone().add(sum.clone())).into_data();
                    let smooth = tanh(expected.clone()).into_data();
                    let expected = expected.into_data();
                    with_each_set(|_| {
                        let (x, weight, bias) = (x.clone(), weight.clone(), bias.clone());
                        let y = linear(x.clone(), weight.clone(), bias.clone());
                        near(y, expected.clone(), 1e-5);
                        for epilogue in [Epilogue::default(), Epilogue::of_layer()] {
                            let run = |sum, activation| {
                                let (x, weight, bias) = (x.clone(), weight.clone(), bias.clone());
                                let epilogue = Epilogue { activation, ..epilogue.clone() };
                                linear_then(x, weight, bias, sum, epilogue)
                            };
                            near(run(Some(sum.clone()), Activation::Relu), ended.clone(), 1e-5);
                            near(run(None, Activation::Tanh), smooth.clone(), 1e-5);
                        }
                    });
                }
            }
        }
        let x = noise::<1>([300], 5);
        let expected = module::linear(x.clone(), weight.clone(), Some(bias.clone()));
        near(linear(x, weight, Some(bias.clone())), expected.into_data(), 1e-5);
        let none = |shape: [usize; 2]| Tensor::<2>::empty(shape, &Default::default());
        let y = linear(none([2, 0]), none([0, 40]), Some(bias.clone()));
        near(y.narrow(0, 1, 1).flatten::<1>(0, 1), bias.into_data(), 0.0);
    }

    #[test]
    fn half_precision_is_summed_in_single_precision() {
        let (a, b) = (noise::<2>([3, 900], 1), noise::<2>([900, 5], 2));
        for (dtype, tolerance) in [(DType::F16, 1e-3), (DType::BF16, 8e-3)] {
            let [a, b] = [&a, &b].map(|x| x.clone().cast(dtype));
            let [wide, weight] = [&a, &b].map(|x| x.clone().cast(DType::F32));
            let expected = wide.matmul(weight).cast(dtype).into_data();
            near(product(a.clone(), b.clone()), expected.clone(), tolerance);
            near(linear(a, b, None), expected, tolerance);
        }
    }

    #[test]
    fn double_precision_stays() {
        let (a, b) = (noise::<2>([3, 9], 1), noise::<2>([9, 5], 2));
        let [a, b] = [a, b].map(|x| x.cast(DType::F64));
        let expected = a.clone().matmul(b.clone()).into_data();
        near(product(a.clone(), b.clone()), expected.clone(), 1e-14);
        let y = linear_then(a, b, None, None, Epilogue::of_layer());
        near(y, expected, 1e-14);
    }
}
