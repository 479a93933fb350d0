//! MaxUnpool.

use burn::tensor::{IndexingUpdateOp, Int, Tensor, ops::PadMode};

use crate::shape::WithShape;
use crate::{
    attempt::nonnegative,
    ensure,
    shape::{empty, reshape},
    sizes::{elements, size},
    spec::indices::Axis,
    spec::{equal_shapes, operand},
};

/// Writes the elements of `x` at their flat `indices` into zeros of `shape`.
pub fn max_unpool<const D: usize>(x: Tensor<D>, indices: Tensor<D, Int>, shape: [usize; D]) -> Tensor<D> {
    equal_shapes(operand("tensor of indices", &indices.dims()), operand("input", &x.dims()));
    let total = elements(&shape, x.dtype().size());
    let count = x.shape().num_elements();
    if total == 0 {
        return empty(&x, shape);
    }
    let zeros = Tensor::<1>::zeros([total], (&x.device(), x.dtype()));
    if count == 0 {
        return zeros.with_shape(shape);
    }
    let axis = Axis { number: 0, size: total };
    let indices = nonnegative(indices.with_shape([count]), axis);
    let x = x.with_shape([count]);
    reshape(zeros.scatter(0, indices, x, IndexingUpdateOp::Assign), shape)
}

/// [`max_unpool`] into the start of a tensor of these sizes along each axis.
///
/// # Panics
/// If the number of sizes is not `D`, one is less than that of `shape`, or they exceed the memory limit.
pub fn max_unpool_to<const D: usize>(
    x: Tensor<D>,
    indices: Tensor<D, Int>,
    shape: [usize; D],
    sizes: &[i64],
) -> Tensor<D> {
    ensure!(sizes.len() == D, "expected {D} sizes, found {}", sizes.len());
    let wanted: [usize; D] = core::array::from_fn(|axis| size(sizes[axis]));
    ensure!(
        (0..D).all(|axis| wanted[axis] >= shape[axis]),
        "expected sizes of at least {shape:?}, found {sizes:?}"
    );
    elements(&wanted, x.dtype().size());
    let pads: [(usize, usize); D] = core::array::from_fn(|axis| (0, wanted[axis] - shape[axis]));
    let y = max_unpool(x, indices, shape);
    if pads == [(0, 0); D] { y } else { y.pad(pads, PadMode::Constant(0.0)) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};
    use half::bf16;

    use super::*;
    use crate::{
        attempt::attempt,
        convolution::window::Window,
        pool::{StorageOrder, max_pool_with_indices},
        testing::{float, has_all, int, noise, same},
    };

    #[test]
    fn the_greatest_elements_return_to_their_indices() {
        if !has_all(&[DType::F64, DType::BF16]) {
            return;
        }
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let x = noise([6, 3, 4, 2], 1).permute([3, 1, 2, 0]).cast(dtype);
            let window = Window::new([2, 2]).strides([2, 2]);
            let (y, indices) = max_pool_with_indices(x.clone(), window, false, StorageOrder::RowMajor);
            let back = max_unpool(y.clone(), indices, x.dims());
            let filled = back.clone().not_equal_scalar(0);
            same(back.clone(), x.zeros_like().mask_where(filled, x).into_data());
            let (again, _) = max_pool_with_indices(
                back.clone().mask_fill(back.equal_scalar(0), -9),
                window,
                false,
                StorageOrder::RowMajor,
            );
            same(again, y.into_data());
        }
    }

    #[test]
    fn indices_are_those_of_the_output() {
        for index in [-1, 8, i64::MIN, i64::MAX] {
            let indices = int::<3>([[[1], [index]]]);
            let y = attempt(|| max_unpool(noise([1, 2, 1], 1), indices, [1, 2, 4]).into_data());
            let reason = format!("index {index} is out of bounds for axis 0 of size 8");
            assert_eq!(y.map_err(|fault| fault.reason).err(), Some(reason));
        }
    }

    #[test]
    fn a_larger_output_is_filled_with_zeros() {
        if !has_all(&[DType::BF16]) {
            return;
        }
        let x = || float::<3>([[[1f32, 2.0]]]).cast(DType::BF16);
        let indices = || int::<3>([[[2i64, 0]]]);
        let [one, two, zero] = [1.0, 2.0, 0.0].map(bf16::from_f32);
        same(max_unpool(x(), indices(), [1, 1, 3]), [[[two, zero, one]]]);
        let y = max_unpool_to(x(), indices(), [1, 1, 3], &[1, 2, 4]);
        same(y, [[[two, zero, one, zero], [zero; 4]]]);
    }

    #[test]
    fn an_empty_input_writes_nothing() {
        let x = float::<3>(TensorData::new(Vec::<f32>::new(), [0, 2, 3]));
        let indices = int::<3>(TensorData::new(Vec::<i64>::new(), [0, 2, 3]));
        assert_eq!(max_unpool(x, indices, [0, 2, 6]).dims(), [0, 2, 6]);
    }
}
