//! RotaryEmbedding of com.microsoft, with caches indexed by positions.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("RotaryEmbedding", &[1], read).arity("rrrr", "r").of(MICROSOFT)];

/// Pairs of features rotated by the angles at positions.
#[derive(Debug)]
struct RotaryEmbedding {
    heads: i64,
    interleaved: bool,
}

attributes!(struct RotaryEmbedding { heads, interleaved });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    // The caches have an angle for each pair of rotated features. ONNX Runtime ignores the scale and packs nothing.
    a.ignore(&["rotary_embedding_dim", "scale", "is_packed_batching"]);
    let heads = a.int_or("num_heads", 0)?;
    match heads {
        0.. => Ok(Rc::new(RotaryEmbedding { heads, interleaved: a.flag("interleaved", false)? })),
        _ => Err(Problem::expected("`num_heads`", heads, "a non-negative integer")),
    }
}

impl RotaryEmbedding {
    /// Returns the number of heads of an input of rank 3: the attribute, or the number of heads that the caches rotate
    /// completely.
    fn heads(&self, hidden: Option<&Dim>, cache: Option<&Dim>) -> Result<i64, Problem> {
        let sizes = hidden.and_then(Dim::number).zip(cache.and_then(Dim::number));
        match (self.heads, sizes) {
            (1.., _) => Ok(self.heads),
            (_, Some((hidden, pairs @ 1..))) if hidden % (2 * pairs) == 0 => Ok(hidden / (2 * pairs)),
            _ => Err(Problem::new("the number of heads is unknown at compile time")
                .help("export the model with `num_heads`")),
        }
    }
}

impl Operator for RotaryEmbedding {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, positions) = (cx.tensor(0)?, cx.tensor(1)?);
        let (cosine, sine) = (cx.tensor_of_rank(2, 2)?, cx.tensor_of_rank(3, 2)?);
        if !(3..=4).contains(&x.rank()) {
            return Err(Problem::expected("the input", x, "rank 3 or 4"));
        }
        if !(1..=2).contains(&positions.rank()) || !positions.dtype.is_int() {
            return Err(Problem::expected("`position_ids`", positions, "integers of rank 1 or 2"));
        }
        for (what, cache) in [("`cos_cache`", &cosine), ("`sin_cache`", &sine)] {
            sizes::same_type((what, cache), ("the input", &x))?;
        }
        sizes::shaped("`sin_cache`", &sine, &cosine.shape)?;
        if let ([batch, length], Some(first)) = (positions.shape.as_slice(), x.shape.first()) {
            sizes::agree("the batch size", first, batch)?;
            if let Some(own) = x.shape.iter().rev().nth(1) {
                sizes::agree("the sequence length", own, length)?;
            }
        }
        match x.shape.as_slice() {
            [_, heads, _, _] if self.heads > 0 && heads.number().is_some_and(|n| n != self.heads) => {
                return Err(Problem::new(format!(
                    "the number of heads of the input is {heads}, expected {} as in `num_heads`",
                    self.heads
                )));
            }
            [_, _, hidden] => {
                self.heads(Some(hidden), cosine.shape.last())?;
            }
            _ => (),
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        cx.may_fail();
        let x = cx.tensor(0)?;
        let positions = cx.tensor(1)?;
        let positions = match cx.tensor_type(1)?.rank() {
            1 => {
                // The sequence axis, which precedes the features in rank 3 as well as rank 4.
                let length = operand.shape.iter().rev().nth(1).cloned();
                let length = cx.size(&length.unwrap_or_default());
                code!(ops::group_query::counted(#positions, #length))
            }
            _ => positions,
        };
        let (cosine, sine, interleaved) = (cx.tensor(2)?, cx.tensor(3)?, self.interleaved);
        let rotated =
            |x: Code| code!(ops::group_query::rotated(#x, &#positions, &#cosine, &#sine, #interleaved));
        if let [_, heads, _, _] = operand.shape.as_slice() {
            if self.heads == 0 || heads.number() == Some(self.heads) {
                return Ok(rotated(x));
            }
            let heads = Literal::i64_unsuffixed(self.heads);
            return Ok(rotated(code!(ops::attention::of_heads(#x, #heads))));
        }
        let heads = self.heads(operand.shape.last(), cx.tensor_type(2)?.shape.last())?;
        let heads = Literal::i64_unsuffixed(heads);
        let rotated = rotated(code!(ops::attention::split_heads(#x, #heads)));
        Ok(code!(ops::attention::merge_heads(#rotated)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn heads_positions_and_caches_fit() {
        problems(
            &[
                r#"(float[1, 2, 5, 8] x, int64[1, 5] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 5, 16] x, int64[1] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 5, 12] x, int64[1] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 5, 12] x, int64[1] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c] y) { y = com.microsoft.RotaryEmbedding <num_heads = -1> (x, p, c, s) }"#,
                r#"(float[1, 2, 5, 8] x, int64[1, 5] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding <num_heads = 4> (x, p, c, s) }"#,
                r#"(float[1, 2, 5, 8] x, int64[2, 5] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 2, 5, 8] x, int64[1, 6] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 2, 5, 8] x, float[1, 5] p, float[9, 4] c, float[9, 4] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 2, 5, 8] x, int64[1, 5] p, float[9, 4] c, float[9, 3] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[1, 2, 5, 8] x, int64[1, 5] p, float[9, 4] c, double[9, 4] s) => (float[a, b, c, d] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
                r#"(float[5, 8] x, int64[1] p, float[9, 4] c, float[9, 4] s) => (float[a, b] y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"#,
            ],
            expect![[r#"
                fine
                fine
                the number of heads is unknown at compile time
                `num_heads` is -1, expected a non-negative integer
                the number of heads of the input is 2, expected 4 as in `num_heads`
                the batch size is 1 in one input and 2 in another
                the sequence length is 5 in one input and 6 in another
                `position_ids` is float32[1, 5], expected integers of rank 1 or 2
                `sin_cache` is float32[9, 3], expected shape [9, 4]
                `sin_cache` has type float64, but the input has type float32
                the input is float32[5, 8], expected rank 3 or 4
            "#]],
        );
    }
}
