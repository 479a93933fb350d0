//! QAttention: attention with a quantized projection of its input.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::attention::multi_head::mask::{additions, additions_fit, check_mask};
use crate::ops::attention::multi_head::{Heads, divided, read as read_heads, refuse};
use crate::ops::attention::projected::{check_cache, known_total};
use crate::ops::quantize::integer::{MatMul, projection};
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("QAttention", &[1], read).arity("rrrrroooo", "ro").of(MICROSOFT)];

/// Attention whose queries, keys and values, of equal sizes, one quantized matrix computes from the input. The mask is
/// input 5, the cache input 8.
#[derive(Debug)]
struct QAttention {
    heads: Heads,
    projection: MatMul,
}

attributes!(struct QAttention { heads, projection });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    refuse(a, "past_present_share_buffer", "export the model without shared buffers")?;
    refuse(a, "do_rotary", "use a RotaryEmbedding node before a MultiHeadAttention node instead")?;
    Ok(Rc::new(QAttention { heads: read_heads(a)?, projection: projection() }))
}

impl Operator for QAttention {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (dtype, projected) = self.projection.result(cx)?;
        let [batch, length, columns] = projected.as_slice() else {
            let (x, weight) = (cx.tensor(0)?, cx.tensor(1)?);
            let message = format!("the input is {x} and the weight is {weight}, expected rank 3 and rank 2");
            return Err(Problem::new(message));
        };
        additions(cx, 5, usize::MAX)?;
        let hidden = divided(columns, 3)?;
        let size = divided(&hidden, self.heads.heads)?;
        let past =
            if cx.has(8) { cx.tensor_of_rank(8, 5)?.shape.get(3).cloned() } else { Some(Dim::from(0)) };
        if cx.has(8) {
            check_cache(cx, 8, batch, self.heads.heads, &size)?;
        }
        let total = past.and_then(|past| past.add(length));
        let total = cx.dim_or_fresh(total, "total");
        check_mask(cx, 5, [batch, length, &total])?;
        let cache = vec![2.into(), batch.clone(), self.heads.heads.into(), total, size];
        cx.output(0, dtype, vec![batch.clone(), length.clone(), hidden]);
        cx.output(1, dtype, cache);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let hidden = cx.output_tensor(0)?.shape.get(2).cloned().unwrap_or_default();
        if let [batch, length, _] = cx.tensor_type(0)?.shape.as_slice() {
            let heads = Dim::from(self.heads.heads);
            let size = divided(&hidden, self.heads.heads)?;
            let fits = match known_total(cx, 8, [batch, &heads, length, &size])? {
                Some(total) => additions_fit(cx, 5, usize::MAX, [batch, &heads, length, &total])?,
                None => false,
            };
            if !fits {
                cx.may_fail();
            }
        }
        let (hidden, heads) = (cx.size(&hidden), Literal::i64_unsuffixed(self.heads.heads));
        let x = self.projection.emit(cx)?;
        let (mask, past) = (self.heads.mask(cx, 5)?, cx.optional(8)?);
        let options = self.heads.options();
        let sizes = code!([#hidden, #hidden, #hidden]);
        let inputs = code!(#x, #sizes, #heads, #past, #mask, None, #options);
        Ok(match (cx.wants(1), cx.outputs()) {
            (true, _) => code!(ops::multi_head::attend_projected_with_cache(#inputs)),
            (false, 1) => code!(ops::multi_head::attend_projected(#inputs)),
            _ => code!((ops::multi_head::attend_projected(#inputs), ())),
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_cache_grows() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (uint8[N, S, 6] x, int8[6, 24] w, float[24] b, float s, float[2, N, 2, P, 4] past)
                => (float[N, S, 8] y, float[2, N, 2, T, 4] present) {
                y, present = com.microsoft.QAttention <num_heads = 2> (x, w, b, s, s, , , , past)
            }
            "#,
            expect![[r#"
                main (uint8[N, S, 6] x, int8[6, 24] w, float32[24] b, float32[] s, float32[2, N, 2, P, 4] past) => (float32[N, S, 8] y, float32[2, N, 2, S + P, 4] present)
                {
                    float32[N, S, 8] y, float32[2, N, 2, S + P, 4] present = com.microsoft.QAttention <heads: {heads: 2, hidden: -10000.0}, projection: {layout: {operands: [0, 1], zeros: [6, 7], end: {scales: [3, 4], bias: 2}}, transposed: [false, false], alpha: 1.0}> (x, w, b, s, s, , , , past)
                }
            "#]],
        );
    }
}
