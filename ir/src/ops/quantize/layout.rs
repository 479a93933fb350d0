//! Broadcasting of scales and zero points.

use proc_macro2::Literal;

use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::ops::axes::axis;
use crate::ops::{broadcast, sizes};
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};

/// Distribution of the elements of a scale over a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One element for the tensor.
    Whole,
    /// One element for each index along an axis.
    Along(usize),
    /// One element for each block of indices along an axis. The second field is the size of a block.
    Blocks(usize, usize),
}

impl Layout {
    /// Returns the layout of `scale` for `x`, which depends on the operator's attributes.
    pub fn of(x: &TensorType, scale: &TensorType, along: i64, block: i64) -> Result<Layout, Problem> {
        let block = usize::try_from(block).unwrap_or(0);
        let layout = match scale.rank() {
            0 => Layout::Whole,
            _ if block > 0 => Layout::Blocks(axis(along, x.rank())?, block),
            1 if scale.count() == Some(1) => Layout::Whole,
            1 => Layout::Along(axis(along, x.rank())?),
            _ => return Err(Problem::expected("the scale", scale, "rank 0 or 1")),
        };
        layout.check(x, "the scale", scale)?;
        Ok(layout)
    }

    /// Checks that a scale or zero point of this type, described as `what`, has this layout.
    pub fn check(self, x: &TensorType, what: &str, factor: &TensorType) -> Result<(), Problem> {
        let size = |shape: &[Dim], at: usize| shape.get(at).and_then(Dim::fixed);
        let fits = match self {
            Layout::Whole => factor.rank() == 0 || factor.count() == Some(1),
            Layout::Along(at) => {
                let sizes = size(&x.shape, at).zip(size(&factor.shape, 0));
                factor.rank() == 1 && sizes.is_none_or(|(size, count)| size == count)
            }
            Layout::Blocks(at, block) => {
                let sizes = size(&x.shape, at).zip(size(&factor.shape, at));
                let whole = |(size, count): (usize, usize)| size.div_ceil(block) == count;
                let mut others = x.shape.iter().zip(&factor.shape).enumerate();
                let equal = others.all(|(axis, (size, own))| axis == at || !sizes::differ(size, own));
                factor.rank() == x.rank() && equal && sizes.is_none_or(whole)
            }
        };
        if fits {
            return Ok(());
        }
        let expected = match self {
            Layout::Whole => "one element".to_owned(),
            Layout::Along(at) => format!("one element for each index along axis {at} of {x}"),
            Layout::Blocks(at, block) => {
                format!("one element for each block of {block} along axis {at} of {x}")
            }
        };
        Err(Problem::expected(what, factor, expected))
    }

    /// Returns the input in a form that broadcasts to `x`.
    pub fn emit(self, cx: &mut Emit<'_, '_>, input: usize, x: &TensorType) -> Result<Code, Problem> {
        match self {
            Layout::Whole => cx.tensor_of_rank(input, x.burn_rank()),
            Layout::Along(at) if at + 1 == x.rank() => cx.tensor_of_rank(input, x.burn_rank()),
            Layout::Along(at) => {
                // Its own length, because an element may turn out to be for the whole tensor only at run time.
                let size = cx.tensor_type(input)?.shape.first().cloned().unwrap_or_default();
                let mut shape = vec![Dim::from(1); x.rank()];
                if let Some(slot) = shape.get_mut(at) {
                    *slot = size;
                }
                let factor = cx.tensor(input)?;
                Ok(broadcast::reshaped(cx, factor, &shape))
            }
            Layout::Blocks(at, block) => {
                let size = x.shape.get(at).cloned().unwrap_or_default();
                let own = cx.tensor_type(input)?.shape.clone();
                let others = own.iter().zip(&x.shape).enumerate();
                let agrees = others.into_iter().all(|(axis, (own, size))| axis == at || own == size);
                let count = own.get(at).and_then(Dim::fixed);
                let blocks = size.fixed().map(|size| size.div_ceil(block));
                let known = agrees && count.is_some() && count == blocks;
                let factor = cx.tensor(input)?;
                let (at, block) = (Literal::usize_unsuffixed(at), Literal::usize_unsuffixed(block));
                if known {
                    let size = cx.size(&size);
                    return Ok(code!(ops::quantize::blocks(#factor, #at, #block, #size)));
                }
                let shape = cx.shape(&x.shape);
                Ok(code!(ops::quantize::blocks_of(#factor, #at, #block, #shape)))
            }
        }
    }
}

/// Returns a per-tensor scale and zero point as literals, if both are known.
pub fn literals(cx: &Emit<'_, '_>, scale: usize, zero: usize) -> Option<[Code; 2]> {
    let scale = match cx.known(scale) {
        Some(Known::Floats(values)) => match values.as_slice() {
            [value] => float_literal(*value, DType::F32),
            _ => return None,
        },
        Some(Known::Ints(_)) => match cx.numbers(scale).as_deref() {
            Some([value]) => float_literal(*value as f64, DType::F32),
            _ => return None,
        },
        _ => return None,
    };
    let zero = match (cx.has(zero), cx.numbers(zero).as_deref()) {
        (false, _) => 0,
        (true, Some([zero])) => *zero,
        _ => return None,
    };
    let zero = Literal::i64_unsuffixed(zero);
    Some([scale, code!(#zero)])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn scales_are_for_all_elements_an_axis_or_blocks() {
        problems(
            &[
                r#"(int8[4, 6] x, float s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1> (x, s) }"#,
                r#"(int8[4, 6] x, float[6] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1> (x, s) }"#,
                r#"(int8[4, 6] x, float[6] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 0> (x, s) }"#,
                r#"(int8[4, 6] x, float[6] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 2> (x, s) }"#,
                r#"(int8[4, 6] x, float[1] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 0> (x, s) }"#,
                r#"(int8[4, 6] x, float[4, 3] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1, block_size = 2> (x, s) }"#,
                r#"(int8[4, 6] x, float[4, 2] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1, block_size = 4> (x, s) }"#,
                r#"(int8[4, 6] x, float[4, 3] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1, block_size = 4> (x, s) }"#,
                r#"(int8[4, 6] x, float[5, 3] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1, block_size = 2> (x, s) }"#,
                r#"(int8[4, 6] x, float[4, 6] s) => (float[4, 6] y) { y = DequantizeLinear <axis = 1> (x, s) }"#,
            ],
            expect![[r#"
                fine
                fine
                the scale is float32[6], expected one element for each index along axis 0 of int8[4, 6]
                axis 2 is out of bounds for a tensor of rank 2
                fine
                fine
                fine
                the scale is float32[4, 3], expected one element for each block of 4 along axis 1 of int8[4, 6]
                the scale is float32[5, 3], expected one element for each block of 2 along axis 1 of int8[4, 6]
                the scale is float32[4, 6], expected rank 0 or 1
            "#]],
        );
    }
}
