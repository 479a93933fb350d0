//! Key padding masks.

use burn::tensor::{Bool, Int, Tensor};

use crate::{
    ensure,
    shape::{WithShape, expand::to_shape},
    spec::{self, operand},
};

/// Mask of keys, in one of the forms of `mask_index` and `key_padding_mask`.
#[derive(Clone, Debug)]
pub enum KeyMask {
    /// End of the keys of each batch. The starts may follow; other numbers after the ends are ignored.
    Ends(Tensor<1, Int>),
    /// 0 for each masked key of a batch. A single column is ignored.
    Keys(Tensor<2, Int>),
    /// `Keys` for each query.
    Queries(Tensor<3, Int>),
    /// `Keys` for each position, from the first one on and beyond the last key.
    Positions(Tensor<4, Int>),
}

/// Returns `true` for keys that are not masked, with size 1 along axes that do not matter; `None` if no key is masked.
pub fn visible_keys(
    mask: KeyMask,
    [batch, queries, keys]: [usize; 3],
    past: usize,
) -> Option<Tensor<4, Bool>> {
    let positive = |x: Tensor<4, Int>| x.greater_scalar(0);
    Some(match mask {
        KeyMask::Ends(ends) => {
            let numbers = ends.dims()[0];
            ensure!(
                [batch, 2 * batch, 3 * batch + 2].contains(&numbers),
                "expected the mask {:?} to have `batch`, `2 * batch` or `3 * batch + 2` elements for the \
                 keys {:?}",
                ends.dims(),
                [batch, keys]
            );
            if batch == 0 {
                return None;
            }
            let columns = Tensor::<1, Int>::arange(0..keys as i64, (&ends.device(), ends.dtype()));
            let shape = [batch, 1, 1, keys];
            let columns = to_shape(columns.with_shape([1, 1, 1, keys]), shape);
            let part = |at: usize| {
                let part = ends.clone().narrow(0, at * batch, batch);
                to_shape(part.with_shape([batch, 1, 1, 1]), shape)
            };
            let before = columns.clone().lower(part(0));
            if numbers == 2 * batch { before.bool_and(columns.greater_equal(part(1))) } else { before }
        }
        KeyMask::Keys(mask) => {
            spec::broadcasts_to(operand("mask", &mask.dims()), operand("tensor of keys", &[batch, keys]));
            if mask.dims()[1] == 1 {
                return None;
            }
            positive(to_shape(mask, [batch, keys]).with_shape([batch, 1, 1, keys]))
        }
        KeyMask::Queries(mask) => {
            let shape = [batch, queries, keys];
            spec::broadcasts_to(operand("mask", &mask.dims()), operand("tensor of queries and keys", &shape));
            positive(to_shape(mask, shape).with_shape([batch, 1, queries, keys]))
        }
        KeyMask::Positions(mask) => {
            let dims = mask.dims();
            ensure!(
                [1, batch].contains(&dims[0]) && dims[1] == 1 && dims[2] >= past + queries && dims[3] >= keys,
                "expected a mask of one head and at least {past} + {queries} queries for the keys {:?}, \
                 found shape {dims:?}",
                [batch, keys]
            );
            positive(mask.narrow(2, past, queries).narrow(3, 0, keys))
        }
    })
}
