//! Caches that grow.

use alloc::vec;
use burn::tensor::{Tensor, kind::Basic};

use super::stack::concat;
#[cfg(feature = "flex")]
use crate::{
    backend::{of_flex, on_flex},
    flex::copy,
    observe::by_host,
    sizes::{elements, sum},
    spec::join,
};

/// Concat of a cache and what is added to it.
///
/// On the CPU, `new` is written after the elements of the cache, in its memory, if nothing else refers to that. A cache whose memory
/// is full is copied into memory for half as many elements more.
///
/// # Panics
/// As [`concat`](fn@concat).
pub fn append<const D: usize, K: Basic>(cache: Tensor<D, K>, new: Tensor<D, K>, axis: usize) -> Tensor<D, K> {
    #[cfg(feature = "flex")]
    if let (Some(of_cache), Some(of_new)) = (on_flex(&cache), on_flex(&new)) {
        join::check([&cache.dims()[..], &new.dims()].into_iter(), axis);
        let mut shape = cache.dims();
        shape[axis] = sum([shape[axis], new.dims()[axis]]);
        elements(&shape, cache.dtype().size());
        // Nothing but the caller's other tensors refers to the memory of the cache from here on.
        drop(cache);
        return match copy::append(of_cache, &of_new, axis) {
            Ok(appended) => {
                by_host("concat");
                of_flex(appended)
            }
            Err(of_cache) => concat(vec![of_flex(of_cache), new], axis),
        };
    }
    concat(vec![cache, new], axis)
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::{
        attempt::attempt,
        memory_limit::with_memory_limit,
        testing::{bool, by_flex, has, int, noise, same},
    };

    /// Returns the address of the elements on the CPU.
    fn address<const D: usize, K: Basic>(x: &Tensor<D, K>) -> Option<*const u8> {
        on_flex(x).map(|x| x.bytes().as_ptr())
    }

    /// Appends parts to a cache and compares the results. Returns how often the memory changed.
    fn moves<const D: usize, K: Basic>(
        mut cache: Tensor<D, K>,
        parts: impl Iterator<Item = Tensor<D, K>>,
        axis: usize,
    ) -> usize {
        let mut expected = Tensor::<D, K>::from_data(cache.to_data(), (&cache.device(), cache.dtype()));
        let mut moves = 0;
        for part in parts {
            let before = address(&cache);
            expected = Tensor::cat(vec![expected, part.clone()], axis);
            cache = append(cache, part, axis);
            moves += usize::from(address(&cache) != before);
            same(cache.clone(), expected.to_data());
        }
        moves
    }

    #[test]
    fn caches_of_any_shape_grow_in_place() {
        let sizes = [1, 1, 20, 1, 1, 1, 40, 2, 1];
        for axis in 0..4 {
            for shape in [[1, 2, 3, 8], [2, 3, 1, 5], [1, 1, 4, 4], [3, 1, 1, 1]] {
                for start in [0, 1, 7] {
                    let part = |size: usize| {
                        let mut shape = shape;
                        shape[axis] = size;
                        noise::<4>(shape, size as u64)
                    };
                    let moves = moves(part(start), sizes.into_iter().map(part), axis);
                    assert!(moves <= 3 || !by_flex("other devices copy"), "{moves}");
                }
            }
        }
    }

    #[test]
    fn caches_of_any_type_grow() {
        let whole = |seed| (noise::<3>([2, 3, 4], seed) * 9.0).int();
        for dtype in [DType::F64, DType::F16, DType::BF16] {
            if has(dtype) {
                moves(
                    noise::<3>([2, 3, 4], 1).cast(dtype),
                    (0..3).map(|seed| noise([2, 1, 4], seed).cast(dtype)),
                    1,
                );
            }
        }
        for dtype in [DType::I64, DType::I16, DType::I8, DType::U8, DType::U32] {
            if has(dtype) {
                moves(whole(1).cast(dtype), (2..5).map(|seed| whole(seed).cast(dtype)), 1);
            }
        }
        moves(bool::<2>([[true, false]]), [bool([[true, true]]), bool([[false, true]])].into_iter(), 0);
    }

    #[test]
    fn elements_may_lie_anyhow() {
        let parts = || (0..4).map(|seed| noise::<3>([5, 2, 3], seed).swap_dims(0, 1));
        let x = noise::<3>([4, 2, 5], 1);
        moves(x.clone().permute([1, 2, 0]).narrow(2, 0, 3), parts(), 1);
        moves(x.clone().swap_dims(1, 2).swap_dims(0, 2).narrow(2, 1, 3), parts(), 1);
        moves(x.flip([1]).permute([1, 2, 0]).narrow(2, 0, 3), parts(), 1);
    }

    #[test]
    fn other_tensors_keep_their_elements() {
        let part = |seed| noise::<3>([2, 1, 4], seed);
        let grown = append(append(noise::<3>([2, 3, 4], 1), part(2), 1), part(3), 1);
        let expected = grown.to_data();
        let [first, second] = [4, 5].map(|seed| append(grown.clone(), part(seed), 1));
        same(first.narrow(1, 5, 1), part(4).into_data());
        same(second.narrow(1, 5, 1), part(5).into_data());
        same(grown.clone(), expected);
        // Truncated elements are overwritten.
        let cut = append(grown.narrow(1, 0, 2), part(6), 1);
        same(cut.clone().narrow(1, 2, 1), part(6).into_data());
        same(append(cut, part(7), 1).narrow(1, 3, 1), part(7).into_data());
    }

    #[test]
    fn caches_do_not_exceed_the_memory_limit() {
        let run = |limit: usize| {
            with_memory_limit(limit, || {
                attempt(|| append(int::<1>([1i64; 20]), int([2i64; 5]), 0).dims()).is_ok()
            })
        };
        assert!(run(25 * 8));
        assert!(!run(25 * 8 - 1));
    }
}
