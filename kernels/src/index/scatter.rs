//! ScatterElements, ScatterND and TensorScatter.

use burn::tensor::{
    IndexingUpdateOp, Int, Slice, Tensor,
    kind::{Basic, Kind, Numeric, TensorKind},
};

use crate::shape::WithShape;
use crate::{
    backend::{call, switches},
    elementwise::wrapping::wrapping,
    ensure,
    index::gather::{along, corner, flat_indices},
    kind::AnyKind,
    shape::expand::to_shape,
    spec::arithmetic::Arithmetic,
};

mod cache;

pub use cache::write_cache;

/// ScatterElements: `x` with `updates` written at the indices along `axis`, or combined with the elements there.
///
/// Negative indices count from the end. Addition and multiplication of booleans are "or" and "and".
pub fn scatter_elements<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<D, Int>,
    updates: Tensor<D, K>,
    reduction: IndexingUpdateOp,
) -> Tensor<D, K> {
    let (dims, shape) = (x.dims(), indices.dims());
    let fits = |at: usize| at == axis || shape[at] <= dims[at];
    ensure!(
        (0..D).all(fits) && updates.dims() == shape,
        "expected indices and updates of the same shape within {dims:?}, found shapes {shape:?} and {:?}",
        updates.dims()
    );
    if shape.contains(&0) {
        return x;
    }
    let reduction = of_kind::<K>(reduction);
    let indices = along(&x, axis, indices);
    let [x, updates] = [x, updates].map(K::into_number);
    let mut reached = shape;
    reached[axis] = dims[axis];
    if reached == dims {
        return K::from_number(scattered(x, axis, indices, updates, reduction));
    }
    let part = scattered(corner(x.clone(), axis, shape), axis, indices, updates, reduction);
    let slices: [Slice; D] = core::array::from_fn(|at| (0..reached[at]).into());
    K::from_number(x.slice_assign(slices, part))
}

/// ScatterND: `x` with slices of `updates` written at the index tuples along the last axis of `indices`, or
/// combined with the slices there.
///
/// Negative indices count from the end. Addition and multiplication of booleans are "or" and "and".
pub fn scatter_nd<const D: usize, const I: usize, const U: usize, K: AnyKind>(
    x: Tensor<D, K>,
    indices: Tensor<I, Int>,
    updates: Tensor<U, K>,
    reduction: IndexingUpdateOp,
) -> Tensor<D, K> {
    let (dims, tuples) = (x.dims(), indices.dims());
    let slices = dims.get(tuples[I - 1]..).unwrap_or_default();
    let wanted = tuples[..I - 1].iter().chain(slices);
    let is_number = I == 1 && slices.is_empty() && updates.dims() == [1; U];
    ensure!(
        tuples[I - 1] <= D && (is_number || wanted.eq(&updates.dims())),
        "expected index tuples and updates for shape {dims:?}, found shapes {tuples:?} and {:?}",
        updates.dims()
    );
    if updates.dims().contains(&0) {
        return x;
    }
    ensure!(
        !dims.contains(&0),
        "index tuples of shape {tuples:?} are out of bounds for the empty shape {dims:?}"
    );
    let reduction = of_kind::<K>(reduction);
    let rest: usize = dims[indices.dims()[I - 1]..].iter().product();
    let count = dims.iter().product::<usize>() / rest;
    let flat = flat_indices(indices, &dims, 0);
    let written = flat.dims()[0];
    let x = K::into_number(x).with_shape([count, rest]);
    let updates = K::into_number(updates).with_shape([written, rest]);
    let x = match reduction {
        IndexingUpdateOp::Assign => {
            let flat: Tensor<2, Int> = flat.with_shape([written, 1]);
            x.scatter_nd(flat, updates, reduction)
        }
        IndexingUpdateOp::Add | IndexingUpdateOp::Mul if is_integer(&x) => {
            let rows = to_shape(flat.with_shape([written, 1]), [written, rest]);
            scattered(x, 0, rows, updates, reduction)
        }
        // GPUs run `scatter_nd` in parallel and lose all but one of the updates of an element.
        _ => x.select_assign(0, flat, updates, reduction),
    };
    K::from_number(x.with_shape(dims))
}

/// Combines elements of `x` with updates at their indices along an axis. Sums and products of integers wrap.
fn scattered<const D: usize, K: Numeric>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<D, Int>,
    updates: Tensor<D, K>,
    reduction: IndexingUpdateOp,
) -> Tensor<D, K> {
    let product = matches!(reduction, IndexingUpdateOp::Mul);
    if is_integer(&x) && (product || matches!(reduction, IndexingUpdateOp::Add)) {
        let (own, places, others) = (x.clone(), indices.clone(), updates.clone());
        let made = call!(wrapping_scatter(own, places, others; axis, product)).tensor();
        if let Some(made) = made {
            return Tensor::from_dispatch(made);
        }
        if switches::is_plain() {
            return one_by_one(x, axis, indices, updates, product);
        }
    }
    x.scatter(axis, indices, updates, reduction)
}

/// Combines integers with the updates of one index along the axis after the other. Burn's sums and products check for overflow in
/// builds with overflow checks.
fn one_by_one<const D: usize, K: Numeric>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<D, Int>,
    updates: Tensor<D, K>,
    product: bool,
) -> Tensor<D, K> {
    let arithmetic = if product { Arithmetic::Product } else { Arithmetic::Sum };
    (0..indices.dims()[axis]).fold(x, |x, at| {
        let (indices, updates) = (indices.clone().narrow(axis, at, 1), updates.clone().narrow(axis, at, 1));
        let before = x.clone().gather(axis, indices.clone());
        x.scatter(axis, indices, wrapping(before, updates, arithmetic), IndexingUpdateOp::Assign)
    })
}

fn is_integer<const D: usize, K: Basic>(x: &Tensor<D, K>) -> bool {
    x.dtype().is_int() || x.dtype().is_uint()
}

/// Returns the reduction of numbers that is equivalent to `reduction` of `K`.
fn of_kind<K: TensorKind>(reduction: IndexingUpdateOp) -> IndexingUpdateOp {
    match (K::KIND, reduction) {
        (Kind::Bool, IndexingUpdateOp::Add) => IndexingUpdateOp::Max,
        (Kind::Bool, IndexingUpdateOp::Mul) => IndexingUpdateOp::Min,
        _ => reduction,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{bool, float, has, int, same};
    use IndexingUpdateOp::{Add, Assign, Max, Min, Mul};

    #[test]
    fn sums_and_products_of_integers_wrap() {
        if !has(DType::I64) {
            return;
        }
        let run = |reduction| {
            let x = int::<2>([[i64::MAX, 5], [6, i64::MIN]]);
            let updates = int::<2>([[1i64, 2], [3, 4]]);
            let by_element =
                scatter_elements(x.clone(), 0, int([[0i64, 1], [0, 1]]), updates.clone(), reduction);
            let by_row = scatter_nd(x, int::<2>([[1i64], [1]]), updates, reduction);
            [by_element, by_row].map(|y| y.into_data().iter().collect::<Vec<i64>>())
        };
        let (least, most) = (i64::MIN, i64::MAX);
        assert_eq!(run(Add), [vec![least + 3, 5, 6, least + 6], vec![most, 5, 10, least + 6]]);
        assert_eq!(run(Mul), [vec![most - 2, 5, 6, 0], vec![most, 5, 18, 0]]);
        if has(DType::U8) {
            let y = scatter_elements(int::<1>([250u8, 1]), 0, int([0i64, 0]), int([9u8, 9]), Add);
            same(y, [12u8, 1]);
        }
    }

    #[test]
    fn elements_are_written_within_the_shape_of_the_indices() {
        let x = || float::<2>([[1f32, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]]);
        let indices = int::<2>([[1i64, -2]]);
        let y = scatter_elements(x(), 1, indices, float([[1.1f32, 2.1]]), Assign);
        let expected = [[1f32, 1.1, 3.0, 2.1, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]];
        same(y, expected);
        let indices = int::<2>([[1i64, 0], [-1, 0]]);
        let updates = float([[100f32, 200.0], [300.0, 400.0]]);
        let y = scatter_elements(x(), 0, indices, updates, Add);
        let expected = [[1f32, 602.0, 3.0, 4.0, 5.0], [406.0, 7.0, 8.0, 9.0, 10.0]];
        same(y, expected);
    }

    #[test]
    fn updates_combine_in_every_way() {
        let x = || int::<1>([5i32, 6, 7]);
        let run = |reduction| {
            let updates = int([3i32, 9, 2]);
            scatter_elements(x(), 0, int([0i64, 0, -1]), updates, reduction)
        };
        same(run(Add), [17i32, 6, 9]);
        same(run(Mul), [135i32, 6, 14]);
        same(run(Max), [9i32, 6, 7]);
        same(run(Min), [3i32, 6, 2]);
    }

    #[test]
    fn booleans_are_written_and_combined() {
        let x = || bool::<1>([true, false, true]);
        let run = |reduction| {
            let updates = bool([false, true]);
            scatter_elements(x(), 0, int([0i64, 1]), updates, reduction)
        };
        same(run(Assign), [false, true, true]);
        same(run(Add), [true, true, true]);
        same(run(Mul), [false, false, true]);
        let y = scatter_nd(x(), int::<2>([[-1i64]]), bool::<1>([false]), Assign);
        same(y, [true, false, false]);
    }

    #[test]
    fn tuples_write_elements_and_slices() {
        let x = int::<1>([1i64, 2, 3, 4, 5, 6, 7, 8]);
        let indices = int::<2>([[4i64], [3], [1], [-1]]);
        let y = scatter_nd(x, indices, int::<1>([9i64, 10, 11, 12]), Assign);
        same(y, [1i64, 11, 3, 10, 9, 6, 7, 12]);
        let x = int::<3>([[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]]);
        let updates = int::<3>([[[9u8, 9], [9, 9]], [[1, 1], [1, 1]]]);
        let y = scatter_nd(x, int::<2>([[0i64], [0]]), updates, Add);
        same(y, [[[11u8, 12], [13, 14]], [[5, 6], [7, 8]]]);
        let x = float::<2>([[1f32, 2.0], [3.0, 4.0]]);
        let y = scatter_nd(x, int::<1>([1i64, -1]), float::<1>([7f32]), Mul);
        same(y, [[1f32, 2.0], [3.0, 28.0]]);
    }

    #[test]
    fn no_updates_change_nothing() {
        let x = int::<2>([[1i32, 2]]);
        let none = || TensorData::new(Vec::<i64>::new(), [0, 2]);
        let updates = int::<1>(TensorData::new(Vec::<i32>::new(), [0]));
        let y = scatter_nd(x.clone(), int::<2>(none()), updates, Add);
        same(y, [[1i32, 2]]);
        let updates = int::<2>(TensorData::new(Vec::<i32>::new(), [0, 2]));
        same(scatter_elements(x, 0, int(none()), updates, Assign), [[1i32, 2]]);
    }

    #[test]
    fn an_empty_tensor_has_no_room_for_updates() {
        let x = || float::<2>(TensorData::new(Vec::<f32>::new(), [0, 2]));
        let run = || scatter_nd(x(), int::<2>([[0i64]]), float::<2>([[1f32, 2.0]]), Assign);
        let fault = attempt(run).unwrap_err();
        assert!(fault.reason.ends_with("are out of bounds for the empty shape [0, 2]"), "{}", fault.reason);
        let updates = float::<2>(TensorData::new(Vec::<f32>::new(), [0, 2]));
        let indices = int::<2>(TensorData::new(Vec::<i64>::new(), [0, 1]));
        assert_eq!(scatter_nd(x(), indices, updates, Assign).dims(), [0, 2]);
    }
}
