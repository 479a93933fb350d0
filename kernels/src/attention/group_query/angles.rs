//! Angles of rotary embeddings at the positions of queries.

use burn::tensor::{FloatDType, Int, Tensor};

use crate::{
    attempt::nonnegative,
    attention::rotary::rotate,
    ensure,
    index::gather::gather_nonnegative,
    shape::{WithShape, expand::to_shape},
    spec::{self, indices::Axis, operand},
    widen::widened,
};

/// Rotates `[batch, heads, length, size]` by the angles at the positions, `[batch, length]` or `[1, length]`.
#[inline(never)]
pub fn rotated(
    x: Tensor<4>,
    positions: &Tensor<2, Int>,
    cosine: &Tensor<2>,
    sine: &Tensor<2>,
    interleaved: bool,
) -> Tensor<4> {
    Angles::at(positions, x.dims(), cosine, sine).rotated(x, interleaved)
}

/// Cosines and sines of the angles of each position, `[batch or 1, length, pairs]`.
pub struct Angles {
    cosine: Tensor<3>,
    sine: Tensor<3>,
}

impl Angles {
    /// Reads the tables `cosine` and `sine` at the positions of an input of `[batch, heads, length, size]`.
    pub fn at(
        positions: &Tensor<2, Int>,
        dims @ [batch, _, length, _]: [usize; 4],
        cosine: &Tensor<2>,
        sine: &Tensor<2>,
    ) -> Self {
        let found = positions.dims();
        ensure!(
            found[1] == length && [1, batch].contains(&found[0]),
            "expected one position per query of the input {dims:?}, found shape {found:?}"
        );
        let of_cosine = cosine.dims();
        spec::equal_shapes(
            operand("tensor of sines", &sine.dims()),
            operand("tensor of cosines", &of_cosine),
        );
        let positions = nonnegative(positions.clone(), Axis { number: 0, size: of_cosine[0] });
        let at = |table: &Tensor<2>| -> Tensor<3> {
            widened(gather_nonnegative(table.clone(), 0, positions.clone()))
        };
        Self { cosine: at(cosine), sine: at(sine) }
    }

    /// Returns [`rotate`] of `x`, computed in single precision if its type is half precision.
    pub fn rotated(&self, x: Tensor<4>, interleaved: bool) -> Tensor<4> {
        let dtype: FloatDType = x.dtype().into();
        rotate(widened(x), self.cosine.clone(), self.sine.clone(), interleaved).cast(dtype)
    }
}

/// Returns `length` consecutive numbers starting at `from`, as `[1, length]`.
#[inline(never)]
pub fn counted(from: Tensor<1, Int>, length: usize) -> Tensor<2, Int> {
    let dims = from.dims();
    ensure!(dims == [1], "expected a first position of one element, found shape {dims:?}");
    let line = Tensor::<1, Int>::arange(0..length as i64, (&from.device(), from.dtype()));
    line.add(to_shape(from, [length])).with_shape([1, length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{int, same};

    #[test]
    fn positions_are_counted_from_the_first() {
        same(counted(int([4i64]), 3), [[4i64, 5, 6]]);
    }
}
