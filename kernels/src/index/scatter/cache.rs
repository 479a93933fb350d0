//! TensorScatter.

#[cfg(feature = "flex")]
use alloc::{vec, vec::Vec};
use burn::tensor::{DType, IndexingUpdateOp, Int, Tensor};

use super::scatter_elements;
#[cfg(feature = "flex")]
use crate::{
    backend::{of_flex, on_flex},
    flex::copy,
    observe::by_host,
    sizes::sum,
};
use crate::{
    dtype::lowered,
    ensure,
    kind::AnyKind,
    shape::{WithShape, expand::to_shape},
    spec::{operand, shaped},
};

/// TensorScatter: a cache with `update` written along `axis`.
///
/// Each element of the batch, the first axis, has its own index at which writing starts, 0 by default. If
/// `circular`, writing continues at index 0 after the end of the axis. On the CPU, the result is in the memory of the cache
/// if nothing else refers to that.
pub fn write_cache<const D: usize, K: AnyKind>(
    cache: Tensor<D, K>,
    axis: usize,
    update: Tensor<D, K>,
    starts: Option<Tensor<1, Int>>,
    circular: bool,
) -> Tensor<D, K> {
    let shape = update.dims();
    let of_cache = cache.dims();
    ensure!(
        (0..D).all(|at| if at == axis { shape[at] <= of_cache[at] } else { shape[at] == of_cache[at] }),
        "expected the update {shape:?} to have the shape of the cache {of_cache:?}, or to be shorter along \
         axis {axis}"
    );
    if let Some(starts) = &starts {
        shaped(operand("tensor of starts", &starts.dims()), &shape[..1], operand("update", &shape));
    }
    if shape.contains(&0) {
        return cache;
    }
    #[cfg(feature = "flex")]
    let cache = match (on_flex(&cache), on_flex(&update)) {
        (Some(own), Some(rows)) if axis > 0 => {
            match first_rows(&cache, axis, &shape, starts.as_ref(), circular) {
                Some(starts) => {
                    // Nothing but the caller's other tensors refers to the memory of the cache from here on.
                    drop(cache);
                    match copy::overwrite(own, &rows, axis, &starts) {
                        Ok(written) => {
                            by_host("within");
                            return of_flex(written);
                        }
                        Err(own) => of_flex(own),
                    }
                }
                None => cache,
            }
        }
        _ => cache,
    };
    let device = cache.device();
    let dtype = starts.as_ref().map(Tensor::dtype);
    let dtype = dtype.unwrap_or_else(|| lowered(&device, DType::I64));
    let along = |at: usize, size: usize| core::array::from_fn(|axis| if axis == at { size } else { 1 });
    let steps = Tensor::<1, Int>::arange(0..shape[axis] as i64, (&device, dtype));
    let mut positions: Tensor<D, Int> = steps.with_shape(along(axis, shape[axis]));
    if let Some(starts) = starts {
        positions = positions.add(starts.with_shape(along(0, shape[0])));
    }
    if circular {
        positions = positions.remainder_scalar(cache.dims()[axis] as i64);
    }
    let positions = to_shape(positions, shape);
    scatter_elements(cache, axis, positions, update, IndexingUpdateOp::Assign)
}

/// Returns for each element of the batch the row of the cache that is written first. Returns `None` if one is out of bounds.
#[cfg(feature = "flex")]
fn first_rows<const D: usize, K: AnyKind>(
    cache: &Tensor<D, K>,
    axis: usize,
    update: &[usize; D],
    starts: Option<&Tensor<1, Int>>,
    circular: bool,
) -> Option<Vec<usize>> {
    let Some(starts) = starts else {
        return Some(vec![0; update[0]]);
    };
    let rows = cache.dims()[axis];
    let first = |start: i64| {
        let start = usize::try_from(if circular { start.rem_euclid(rows as i64) } else { start }).ok()?;
        (circular || sum([start, update[axis]]) <= rows).then_some(start)
    };
    starts.to_data().iter::<i64>().map(first).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{bool, has, indices, int, noise, same};

    #[test]
    fn caches_are_written_from_individual_positions() {
        let cache = || int::<3>([[[0i32, 0], [1, 1], [2, 2]], [[3, 3], [4, 4], [5, 5]]]);
        let update = || int::<3>([[[10i32, 11], [12, 13]], [[14, 15], [16, 17]]]);
        let starts = Some(int::<1>([1i64, 0]));
        let expected = [[[0i32, 0], [10, 11], [12, 13]], [[14, 15], [16, 17], [5, 5]]];
        same(write_cache(cache(), 1, update(), starts, false), expected);
        let expected = [[[10i32, 11], [12, 13], [2, 2]], [[14, 15], [16, 17], [5, 5]]];
        same(write_cache(cache(), 1, update(), None, false), expected);
        let starts = Some(int::<1>([2i64, 4]));
        let expected = [[[12i32, 13], [1, 1], [10, 11]], [[3, 3], [14, 15], [16, 17]]];
        same(write_cache(cache(), 1, update(), starts, true), expected);
        let bools = bool::<2>([[false, false, true]]);
        let y = write_cache(bools, 1, bool([[true]]), Some(int([1i64])), false);
        same(y, [[false, true, true]]);
    }

    /// Returns the cache with each element of the update written at its place.
    fn by_element(
        cache: &Tensor<4>,
        axis: usize,
        update: &Tensor<4>,
        starts: &[usize],
        circular: bool,
    ) -> TensorData {
        let (dims, shape) = (cache.dims(), update.dims());
        let at =
            |dims: [usize; 4], index: [usize; 4]| (0..4).fold(0, |at, axis| at * dims[axis] + index[axis]);
        let mut values: Vec<f64> = cache.to_data().iter().collect();
        let updates: Vec<f64> = update.to_data().iter().collect();
        for index in indices(shape) {
            let mut place = index;
            place[axis] += starts[index[0]];
            if circular {
                place[axis] %= dims[axis];
            }
            values[at(dims, place)] = updates[at(shape, index)];
        }
        TensorData::new(values, dims).convert_dtype(cache.dtype())
    }

    fn starts(starts: &[usize]) -> Option<Tensor<1, Int>> {
        let starts: Vec<i64> = starts.iter().map(|&start| start as i64).collect();
        Some(int(&starts[..]))
    }

    #[test]
    fn caches_and_views_of_any_shape_are_written() {
        let dense = noise::<4>([2, 3, 5, 4], 1);
        let view = noise::<4>([4, 2, 7, 3], 2).permute([1, 3, 2, 0]).narrow(2, 1, 5);
        let expanded = noise::<4>([2, 1, 5, 4], 3).expand([2, 3, 5, 4]);
        for cache in [dense, view, expanded] {
            for axis in 1..4 {
                for count in 1..=cache.dims()[axis] {
                    let mut shape = cache.dims();
                    shape[axis] = count;
                    shape.swap(1, 3);
                    let update = noise::<4>(shape, 4 + count as u64).swap_dims(1, 3);
                    for (first, circular) in [([cache.dims()[axis] - count, 0], false), ([2, 1], true)] {
                        let expected = by_element(&cache, axis, &update, &first, circular);
                        let y = write_cache(cache.clone(), axis, update.clone(), starts(&first), circular);
                        same(y, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn the_memory_of_a_cache_is_kept_if_nothing_else_refers_to_it() {
        let address = |cache: &Tensor<4>| on_flex(cache).map(|cache| cache.bytes().as_ptr());
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            if !has(dtype) {
                continue;
            }
            let mut cache = noise::<4>([2, 3, 5, 4], 1).cast(dtype);
            let before = address(&cache);
            for step in 0..7 {
                let update = noise::<4>([2, 3, 2, 4], 2 + step as u64).cast(dtype);
                let first = [step % 5, (step + 3) % 5];
                let expected = by_element(&cache, 2, &update, &first, true);
                cache = write_cache(cache, 2, update, starts(&first), true);
                same(cache.clone(), expected);
                assert_eq!(address(&cache), before);
            }
            let other = cache.clone();
            let unchanged = other.to_data();
            let written = write_cache(cache, 2, noise::<4>([2, 3, 1, 4], 9).cast(dtype), None, false);
            assert!(before.is_none() || address(&written) != before);
            same(other, unchanged);
        }
    }

    #[test]
    fn integers_of_every_type_are_written() {
        use DType::{I8, I16, I32, I64, U8, U16, U32, U64};

        for dtype in [I64, I32, I16, I8, U64, U32, U16, U8].into_iter().filter(|&dtype| has(dtype)) {
            let cache = int::<2>([[1i64, 2, 3], [4, 5, 6]]).cast(dtype);
            let y = write_cache(cache, 1, int::<2>([[7i64], [8]]).cast(dtype), starts(&[2, 0]), false);
            same(y.cast(I64), [[1i64, 2, 7], [8, 5, 6]]);
        }
    }

    #[test]
    fn rows_beyond_the_cache_are_refused() {
        for start in [2i64, 3, i64::MAX, i64::MIN] {
            let run =
                || write_cache(int::<2>([[1i64, 2, 3]]), 1, int([[4i64, 5]]), Some(int([start])), false);
            assert!(attempt(|| run().into_data()).is_err(), "{start}");
        }
    }
}
