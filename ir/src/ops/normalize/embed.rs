//! Embeddings of words, positions and segments.

use std::rc::Rc;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("EmbedLayerNormalization", &[1], |a| {
    // The type of output 1. Only its presence as an output decides if it is computed.
    a.ignore(&["mask_index_type"]);
    Ok(Rc::new(Embed { epsilon: a.float_or("epsilon", 1e-12)? }))
})
.half()
.arity("rorrorroo", "roo")
.of(MICROSOFT)];

/// The sum of the embeddings, normalized over the last axis; the number of unmasked words; and the sum.
#[derive(Debug)]
struct Embed {
    epsilon: f32,
}

attributes!(struct Embed { epsilon });

impl Operator for Embed {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let ids = cx.tensor_of_rank(0, 2)?;
        let words = cx.tensor_of_rank(2, 2)?;
        if !ids.dtype.is_int() {
            return Err(Problem::expected("`input_ids`", ids, "integers"));
        }
        if !words.dtype.is_float() {
            return Err(Problem::expected("`word_embedding`", words, "floats"));
        }
        for (input, rank) in [(1, 2), (3, 2), (4, 2), (5, 1), (6, 1), (7, 2), (8, 2)] {
            if cx.has(input) || matches!(input, 3 | 5 | 6) {
                cx.tensor_of_rank(input, rank)?;
            }
        }
        if cx.has(1) != cx.has(4) {
            return Err(Problem::new("expected both `segment_ids` and `segment_embedding`, found only one"));
        }
        for (input, what) in [(1, "`segment_ids`"), (7, "`mask`")] {
            if cx.has(input) {
                sizes::shaped(what, &cx.tensor(input)?, &ids.shape)?;
            }
        }
        if cx.has(8) {
            sizes::broadcasts("`position_ids`", &cx.tensor(8)?, &ids.shape)?;
        }
        let hidden = words.shape.last().cloned().unwrap_or_default();
        let embeddings = ["`position_embedding`", "`segment_embedding`", "`gamma`", "`beta`"];
        for (input, whose) in (3..).zip(embeddings).filter(|&(input, _)| cx.has(input)) {
            if let Some(size) = cx.tensor(input)?.shape.last() {
                sizes::equal((whose, size, "features"), ("`word_embedding`", &hidden, "features"))?;
            }
        }
        let mut shape = ids.shape.clone();
        shape.extend(words.shape.last().cloned());
        cx.output(0, words.dtype, shape.clone());
        cx.output(1, DType::I32, ids.shape.into_iter().take(1).collect());
        cx.output(2, words.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let epsilon = float_literal(f64::from(self.epsilon), DType::F32);
        let (ids, words, positions) = (cx.tensor(0)?, cx.tensor(2)?, cx.tensor(3)?);
        cx.may_fail();
        let position_ids = cx.optional(8)?;
        let segments = if cx.has(4) {
            let (ids, segments) = (cx.tensor(1)?, cx.tensor(4)?);
            code!(Some((#ids, #segments)))
        } else {
            code!(None)
        };
        let (scale, shift) = (cx.tensor(5)?, cx.tensor(6)?);
        let sum = code!(ops::embed::embeddings(#ids, #words, #positions, #position_ids, #segments));
        let normed = |sum: Code| code!(ops::normalize::layer_norm(#sum, #scale, Some(#shift), 2, #epsilon));
        if cx.outputs() == 1 {
            return Ok(normed(sum));
        }
        let kept = match (cx.wants(1), cx.has(7)) {
            (false, _) => code!(()),
            (true, true) => {
                let mask = cx.tensor(7)?;
                code!(ops::embed::kept_words(#mask))
            }
            (true, false) => {
                let shape = cx.output_tensor(1)?.shape.clone();
                let (shape, device) = (cx.shape(&shape), cx.device());
                code!(constant::full_int(#device, ElementType::Int32, #shape, 0))
            }
        };
        if !cx.wants(2) {
            let normed = normed(sum);
            return Ok(match cx.outputs() {
                2 => code!((#normed, #kept)),
                _ => code!((#normed, #kept, ())),
            });
        }
        let normed = normed(code!(sum.clone()));
        Ok(code!({
            let sum = #sum;
            (#normed, #kept, sum)
        }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn embeddings_must_fit() {
        problems(
            &[
                r#"(int32[2, 5] i, float[9, 8] w, float[6, 7] p, float[8] g) => (float[2, 5, 8] y) { y = com.microsoft.EmbedLayerNormalization (i, , w, p, , g, g) }"#,
                r#"(int32[2, 5] i, int32[2, 4] t, float[9, 8] w, float[8] g) => (float[2, 5, 8] y) { y = com.microsoft.EmbedLayerNormalization (i, t, w, w, w, g, g) }"#,
            ],
            expect![[r#"
                `position_embedding` has 7 features, but `word_embedding` has 8 features
                `segment_ids` is int32[2, 4], expected shape [2, 5]
            "#]],
        );
    }
}
