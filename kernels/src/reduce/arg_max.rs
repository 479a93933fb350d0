//! ArgMax and ArgMin.

use burn::tensor::{DType, Int, IntDType, Tensor, kind::Ordered};

use crate::dtype::lowered;
use crate::ensure;
use crate::shape::WithShape;
use crate::spec::operand;

/// ArgMax as int64: of equal values the first, or the last. `O` is `D` if the axis is kept, otherwise `D - 1`, at least 1.
pub fn arg_max<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axis: usize,
    last: bool,
) -> Tensor<O, Int> {
    arg_reduce(x, axis, last, |x| x.argmax(axis))
}

/// ArgMin as int64: of equal values the first, or the last. `O` is `D` if the axis is kept, otherwise `D - 1`, at least 1.
pub fn arg_min<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axis: usize,
    last: bool,
) -> Tensor<O, Int> {
    arg_reduce(x, axis, last, |x| x.argmin(axis))
}

fn arg_reduce<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axis: usize,
    last: bool,
    find: impl FnOnce(Tensor<D, K>) -> Tensor<D, Int>,
) -> Tensor<O, Int> {
    let dims = x.dims();
    let shape: [usize; O] = if O == D {
        core::array::from_fn(|at| if at == axis { 1 } else { dims[at] })
    } else {
        assert_eq!(O, D - 1, "rank of the result");
        core::array::from_fn(|at| dims[if at < axis { at } else { at + 1 }])
    };
    let dtype = lowered(&x.device(), DType::I64);
    if shape.contains(&0) {
        return Tensor::zeros(shape, (&x.device(), dtype));
    }
    let dtype: IntDType = dtype.into();
    let input = operand("input", &dims);
    ensure!(dims[axis] > 0, "expected elements along axis {axis} of {input}, found none");
    let found = if last {
        find(x.flip([axis])).cast(dtype).neg().add_scalar(dims[axis] as i64 - 1)
    } else {
        find(x).cast(dtype)
    };
    found.with_shape(shape)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, int, same};

    #[test]
    fn of_equal_values_the_first_or_the_last_is_found() {
        let x = || float::<2>([[3f32, 1.0, 3.0], [2.0, 2.0, 1.0]]);
        let y: Tensor<1, Int> = arg_max(x(), 1, false);
        same(y, [0i64, 0]);
        let y: Tensor<2, Int> = arg_max(x(), 1, true);
        same(y, [[2i64], [1]]);
        let y: Tensor<1, Int> = arg_min(x(), 0, false);
        same(y, [1i64, 0, 1]);
        let y: Tensor<1, Int> = arg_min(int::<1>([4u8, 4]), 0, true);
        same(y, [1i64]);
        let long = Tensor::<1>::ones([5000], &Default::default());
        let y: Tensor<1, Int> = arg_max(long, 0, true);
        same(y, [4999i64]);
    }

    #[test]
    fn an_axis_without_elements_has_no_extreme() {
        let x = || float::<2>(TensorData::new(Vec::<f32>::new(), [0, 3]));
        let y: Tensor<2, Int> = arg_max(x(), 1, true);
        assert_eq!(y.dims(), [0, 1]);
        let failed = attempt(|| arg_max::<2, 1, _>(x(), 0, false)).unwrap_err();
        let said = "expected elements along axis 0 of the input [0, 3], found none";
        assert_eq!(failed.reason, said);
        let nothing = float::<2>(TensorData::new(Vec::<f32>::new(), [0, 0]));
        let y: Tensor<2, Int> = arg_min(nothing, 0, false);
        assert_eq!(y.dims(), [1, 0]);
    }
}
