//! ArgMax and ArgMin.

use burn::tensor::{DType, Int, IntDType, Tensor, kind::Ordered};

use crate::dtype::lowered;
use crate::shape::WithShape;

/// ArgMax as int64: of equal values the first, or the last. `O` is `D` where the axis stays, else `D - 1`, at least 1.
pub fn arg_max<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axis: usize,
    last: bool,
) -> Tensor<O, Int> {
    place(x, axis, last, |x| x.argmax(axis))
}

/// ArgMin as int64: of equal values the first, or the last. `O` is `D` where the axis stays, else `D - 1`, at least 1.
pub fn arg_min<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axis: usize,
    last: bool,
) -> Tensor<O, Int> {
    place(x, axis, last, |x| x.argmin(axis))
}

fn place<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axis: usize,
    last: bool,
    find: impl FnOnce(Tensor<D, K>) -> Tensor<D, Int>,
) -> Tensor<O, Int> {
    let dims = x.dims();
    let dtype: IntDType = lowered(&x.device(), DType::I64).into();
    let found = if last {
        find(x.flip([axis]))
            .cast(dtype)
            .neg()
            .add_scalar(dims[axis] as i64 - 1)
    } else {
        find(x).cast(dtype)
    };
    if O == D {
        return found.with_shape(core::array::from_fn::<usize, O, _>(|at| match at {
            at if at == axis => 1,
            at => dims[at],
        }));
    }
    assert_eq!(O, D - 1, "rank of the result");
    found.with_shape(core::array::from_fn::<usize, O, _>(|at| match at {
        at if at < axis => dims[at],
        at => dims[at + 1],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
