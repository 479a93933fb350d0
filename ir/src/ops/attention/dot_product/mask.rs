//! The mask of Attention.

use quote::format_ident;

use super::{Attention, MASK, PAST};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::ElementClass;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::attention::heads::Sizes;
use crate::rust::{Code, code};

impl Attention {
    /// Reports a mask that does not broadcast to the scores.
    pub fn check_mask(&self, cx: &Infer<'_>, scores: &Sizes) -> Result<(), Problem> {
        if !cx.has(MASK) {
            return Ok(());
        }
        let mask = cx.tensor(MASK)?;
        let kinds = [ElementClass::Bool, ElementClass::Float, ElementClass::Int];
        if !kinds.contains(&mask.dtype.kind()) || mask.dtype.bits() < 8 {
            return Err(Problem::expected(
                "the mask",
                mask,
                "booleans, or floats or integers of 8 bits or more",
            ));
        }
        let broadcasts = |(axis, (size, whole)): (usize, (&Dim, &Dim))| match (size.number(), whole.number())
        {
            (Some(1), _) => true,
            (Some(size), Some(whole)) if axis == 0 && self.short_masks => size <= whole,
            (Some(size), Some(whole)) => size == whole,
            _ => true,
        };
        let pairs = mask.shape.iter().rev().zip(scores.iter().rev());
        if mask.rank() <= 4 && pairs.enumerate().all(broadcasts) {
            return Ok(());
        }
        let [batch, heads, queries, keys] = scores;
        Err(Problem::new(format!(
            "the mask is {mask}, expected a shape that broadcasts to [{batch}, {heads}, {queries}, {keys}]"
        )))
    }

    /// Returns the mask in the form that the kernel takes.
    pub fn mask(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if !cx.has(MASK) {
            return Ok(code!(None));
        }
        let (tensor, wanted) = (cx.tensor_type(MASK)?.clone(), cx.tensor_type(0)?.dtype);
        let mut mask = cx.tensor_of_rank(MASK, 4)?;
        if !self.short_masks && tensor.shape.last() != self.total(cx)?.as_ref() {
            let keys = self.keys(cx)?;
            mask = code!(ops::attention::whole_mask(#mask, #keys));
        }
        let target = format_ident!("{}", wanted.carrier());
        Ok(match tensor.dtype.kind() {
            ElementClass::Bool => code!(Some(ops::attention::AttentionMask::Allowed(#mask))),
            ElementClass::Int => code! {
                Some(ops::attention::AttentionMask::Bias(
                    ops::cast::int_to_float(#mask, DType::#target)
                ))
            },
            _ if tensor.dtype != wanted => code! {
                Some(ops::attention::AttentionMask::Bias(
                    ops::cast::float_to_float(#mask, DType::#target)
                ))
            },
            _ => code!(Some(ops::attention::AttentionMask::Bias(#mask))),
        })
    }

    /// Returns the number of keys, including those of the cache.
    fn keys(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let keys = self.total(cx)?;
        let keys = keys.ok_or_else(|| {
            Problem::new("the number of keys is unknown at compile time")
                .help("fix the sizes of the keys and of the cache with `dims(..)` or `inputs(..)`")
                .about(Topic::Shape)
        })?;
        Ok(cx.size(&keys))
    }

    fn total(&self, cx: &Emit<'_, '_>) -> Result<Option<Dim>, Problem> {
        let key = cx.tensor_type(1)?;
        let axis = if key.rank() == 4 { 2 } else { 1 };
        let keys = key.shape.get(axis).cloned().unwrap_or_default();
        if !cx.has(PAST[0]) {
            return Ok(Some(keys));
        }
        let past = cx.tensor_type(PAST[0])?.shape.get(2);
        Ok(past.and_then(|past| past.add(&keys)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn a_mask_broadcasts_to_the_scores() {
        problems(
            &[
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, bool[4, 6] m) => (float[a, b, c, d] y) { y = Attention (q, k, v, m) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, float[1, 1, 4, 1] m) => (float[a, b, c, d] y) { y = Attention (q, k, v, m) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, float[4, 5] m) => (float[a, b, c, d] y) { y = Attention (q, k, v, m) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, float[3, 2, 4, 6] m) => (float[a, b, c, d] y) { y = Attention (q, k, v, m) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, float[1, 1, 1, 4, 6] m) => (float[a, b, c, d] y) { y = Attention (q, k, v, m) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, string[4, 6] m) => (float[a, b, c, d] y) { y = Attention (q, k, v, m) }"#,
            ],
            expect![[r#"
                fine
                fine
                the mask is float32[4, 5], expected a shape that broadcasts to [1, 2, 4, 6]
                the mask is float32[3, 2, 4, 6], expected a shape that broadcasts to [1, 2, 4, 6]
                the mask is float32[1, 1, 1, 4, 6], expected a shape that broadcasts to [1, 2, 4, 6]
                the mask is string[4, 6], expected booleans, or floats or integers of 8 bits or more
            "#]],
        );
    }
}
