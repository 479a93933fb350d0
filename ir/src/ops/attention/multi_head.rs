//! MultiHeadAttention.

mod agreement;
mod heads;
pub mod mask;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use self::mask::{additions, check_mask};
use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub use heads::{Heads, both_or_neither, divided, heads, read, refuse, scale, shared_buffer};

pub const ROWS: &[Row] = &[row("MultiHeadAttention", &[1], |a| Ok(Rc::new(MultiHead(read(a)?))))
    .arity("rooooooooo", "rooo")
    .of(MICROSOFT)];

/// Attention of queries, keys and values, which are separate or packed.
#[derive(Debug)]
struct MultiHead(Heads);

attributes!(struct MultiHead(inner));

/// Sizes of queries, keys and values, and how they are packed.
struct Forms {
    /// Index of the packed input: 0 for all three, 1 for keys and values.
    packed: Option<usize>,
    batch: Dim,
    queries: Dim,
    keys: Dim,
    size: Dim,
    /// Size of a head of the values.
    value: Dim,
}

impl MultiHead {
    /// Reports queries, keys and values whose sizes contradict each other.
    fn check(&self, types: [Option<&[Dim]>; 3]) -> Result<(), Problem> {
        let (heads, batch) = (Dim::from(self.0.heads), "the batch size");
        let packed = |all: &Dim, parts: i64, own: &Dim| {
            sizes::exact(("the packed input", own, "heads"), &heads)?;
            sizes::exact(("the packed input", all, "parts"), &parts.into())
        };
        match types {
            [Some([_, _, own, all, _]), None, None] => packed(all, 3, own),
            [Some([one, _, hidden]), Some([other, _, own, all, size]), None] => {
                sizes::agree(batch, one, other)?;
                sizes::agree("the head size", &divided(hidden, self.0.heads)?, size)?;
                packed(all, 2, own)
            }
            [Some([one, _, hidden]), Some([other, keys, features]), Some([third, values, _])] => {
                sizes::agree(batch, one, other)?;
                sizes::agree(batch, one, third)?;
                sizes::agree("the number of features", hidden, features)?;
                sizes::agree("the number of keys", keys, values)
            }
            [Some([one, _, hidden]), Some([other, own, keys, size]), Some([third, its, values, _])] => {
                sizes::agree(batch, one, other)?;
                sizes::agree(batch, one, third)?;
                sizes::exact(("the key", own, "heads"), &heads)?;
                sizes::exact(("the value", its, "heads"), &heads)?;
                sizes::agree("the head size", &divided(hidden, self.0.heads)?, size)?;
                sizes::agree("the number of keys", keys, values)
            }
            _ => Ok(()),
        }
    }

    fn forms(&self, types: [Option<&[Dim]>; 3]) -> Result<Forms, Problem> {
        let heads = self.0.heads;
        let size = |hidden: &Dim| divided(hidden, heads);
        Ok(match types {
            [Some([batch, length, _, _, size]), None, None] => Forms {
                packed: Some(0),
                batch: batch.clone(),
                queries: length.clone(),
                keys: length.clone(),
                size: size.clone(),
                value: size.clone(),
            },
            [Some([batch, queries, _]), Some([_, keys, _, _, size]), None] => Forms {
                packed: Some(1),
                batch: batch.clone(),
                queries: queries.clone(),
                keys: keys.clone(),
                size: size.clone(),
                value: size.clone(),
            },
            [Some([batch, queries, hidden]), Some([_, keys, _]), Some([_, _, value])] => Forms {
                packed: None,
                batch: batch.clone(),
                queries: queries.clone(),
                keys: keys.clone(),
                size: size(hidden)?,
                value: size(value)?,
            },
            [Some([batch, queries, hidden]), Some([_, _, keys, _]), Some([_, _, _, value])] => Forms {
                packed: None,
                batch: batch.clone(),
                queries: queries.clone(),
                keys: keys.clone(),
                size: size(hidden)?,
                value: value.clone(),
            },
            _ => {
                let ranks: Vec<usize> = types.iter().flatten().map(|shape| shape.len()).collect();
                return Err(Problem::new(format!(
                    "query, key and value have ranks {ranks:?}, expected [3, 3, 3], [3, 4, 4], [3, 5] or [5]"
                )));
            }
        })
    }
}

impl Operator for MultiHead {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let mut operands = Vec::new();
        for input in 0..3 {
            operands.push(cx.has(input).then(|| cx.tensor(input)).transpose()?);
        }
        let shape = |at: usize| operands.get(at)?.as_ref().map(|tensor| tensor.shape.as_slice());
        let forms = self.forms([shape(0), shape(1), shape(2)])?;
        self.check([shape(0), shape(1), shape(2)])?;
        additions(cx, 4, 5)?;
        if cx.has(3) {
            let each = forms.size.add(&forms.size).and_then(|both| both.add(&forms.value));
            let bias = cx.tensor_of_rank(3, 1)?;
            if let (Some(length), Some(all)) =
                (bias.shape.first(), each.and_then(|each| each.mul(&self.0.heads.into())))
            {
                sizes::exact(("the bias", length, "elements"), &all)?;
            }
        }
        if cx.has(8) || cx.has(9) {
            return Err(shared_buffer());
        }
        both_or_neither(cx, [6, 7], ["past_key", "past_value"])?;
        let past =
            if cx.has(6) { cx.tensor_of_rank(6, 4)?.shape.get(2).cloned() } else { Some(Dim::from(0)) };
        let dtype = cx.tensor(0)?.dtype;
        let total = past.and_then(|past| past.add(&forms.keys));
        let total = cx.dim_or_fresh(total, "total");
        check_mask(cx, 4, [&forms.batch, &forms.queries, &total])?;
        let heads = Dim::from(self.0.heads);
        let hidden = forms.value.mul(&heads);
        let hidden = cx.dim_or_fresh(hidden, "hidden");
        let cache = |size: &Dim| vec![forms.batch.clone(), heads.clone(), total.clone(), size.clone()];
        cx.output(1, dtype, cache(&forms.size));
        cx.output(2, dtype, cache(&forms.value));
        let scores = vec![forms.batch.clone(), heads.clone(), forms.queries.clone(), total.clone()];
        if cx.has(5) {
            sizes::broadcasts("the attention bias", &cx.tensor(5)?, &scores)?;
        }
        for (input, size) in [(6, &forms.size), (7, &forms.value)] {
            if cx.has(input) {
                let past = cx.tensor_of_rank(input, 4)?;
                let length = past.shape.get(2).cloned().unwrap_or_default();
                let wanted = [forms.batch.clone(), heads.clone(), length, size.clone()];
                sizes::shaped("the cache", &past, &wanted)?;
            }
        }
        cx.output(3, dtype, scores);
        cx.output(0, dtype, vec![forms.batch, forms.queries, hidden]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let mut shapes = Vec::new();
        for input in 0..3 {
            let shape = cx.has(input).then(|| cx.tensor_type(input).map(|tensor| tensor.shape.clone()));
            shapes.push(shape.transpose()?);
        }
        let shape = |at: usize| shapes.get(at)?.as_deref();
        let forms = self.forms([shape(0), shape(1), shape(2)])?;
        let operands = [shape(0), shape(1), shape(2)];
        if !self.fits(cx, operands, &forms)? {
            cx.may_fail();
        }
        let heads = Literal::i64_unsuffixed(self.0.heads);
        let hidden = forms.size.mul(&self.0.heads.into());
        let start = |part: i64| hidden.as_ref().and_then(|hidden| hidden.mul(&part.into()));
        let mut parts = Vec::new();
        for part in 0..3 {
            let packed = forms.packed.filter(|&first| part >= first);
            let input = packed.unwrap_or(part);
            let rank = cx.tensor_type(input)?.rank();
            let x = cx.tensor(input)?;
            let x = match packed {
                Some(first) => {
                    let at = Literal::usize_unsuffixed(part - first);
                    code!(ops::multi_head::unpack(#x, #at))
                }
                None if rank == 3 => code!(ops::attention::split_heads(#x, #heads)),
                None => x,
            };
            // ONNX Runtime treats keys and values that are split into heads as those of another layer or of a cache,
            // which include their bias already.
            let is_split = packed.is_none() && rank == 4;
            parts.push(if cx.has(3) && !is_split {
                let start = start(i64::try_from(part).unwrap_or_default());
                let start = start.ok_or_else(|| Problem::new("the hidden size of the query is too large"))?;
                let (bias, start) = (cx.tensor(3)?, cx.size(&start));
                code!(ops::multi_head::biased(#x, #bias, #start))
            } else {
                x
            });
        }
        let past = if cx.has(6) {
            let (key, value) = (cx.tensor(6)?, cx.tensor(7)?);
            code!(Some((#key, #value)))
        } else {
            code!(None)
        };
        let (mask, bias, options) = (self.0.mask(cx, 4)?, cx.optional(5)?, self.0.options());
        let wants: Vec<bool> = (1..cx.outputs()).map(|output| cx.wants(output)).collect();
        let name = match wants.as_slice() {
            [_, _, true] => format_ident!("attend_with_scores"),
            wants if wants.contains(&true) => format_ident!("attend_with_cache"),
            _ => format_ident!("attend"),
        };
        let call = code! {
            ops::multi_head::#name(#(#parts),*, #past, #mask, #bias, #options)
        };
        if name == "attend" {
            let nothing = wants.iter().map(|_| code!(()));
            return Ok(if wants.is_empty() { call } else { code!((#call, #(#nothing),*)) });
        }
        let all = [code!(key), code!(value), code!(scores)];
        let shown = if name == "attend_with_scores" { 3 } else { 2 };
        let bound = all.iter().take(shown).enumerate();
        let bound = bound.map(|(at, name)| match wants.get(at) {
            Some(true) => name.clone(),
            _ => code!(_),
        });
        let results = all.iter().zip(&wants);
        let results = results.map(|(name, &wanted)| if wanted { name.clone() } else { code!(()) });
        Ok(code!({
            let (y, #(#bound),*) = #call;
            (y, #(#results),*)
        }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn queries_keys_and_values_must_fit() {
        problems(
            &[
                r#"(float[2, 5, 8] q, float[3, 6, 8] k) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, k) }"#,
                r#"(float[2, 5, 8] q, float[2, 6, 6] k, float[2, 6, 8] v) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }"#,
                r#"(float[2, 5, 8] q, float[2, 6, 8] k, float[2, 7, 8] v) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }"#,
                r#"(float[2, 5, 8] q, float[2, 3, 6, 4] k) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, k) }"#,
                r#"(float[2, 5, 3, 3, 4] q) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q) }"#,
                r#"(float[2, 5, 2, 2, 4] q) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q) }"#,
                r#"(float[2, 5, 8] q, float[16] b) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, b) }"#,
                r#"(float[2, 5, 8] q, float[1, 3, 5, 5] b) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, , , b) }"#,
                r#"(float[2, 5, 8] q, float[2, 2, 7, 3] p) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, , , , p, p) }"#,
                r#"(float[2, 5, 6] x, float[5, 12] w) => (float[2, 5, 4] y) { y = com.microsoft.Attention <num_heads = 2> (x, w) }"#,
                r#"(float[2, 5, 6] x, float[6, 12] w, float[4] b) => (float[2, 5, 4] y) { y = com.microsoft.Attention <num_heads = 2> (x, w, b) }"#,
                r#"(float[2, 5, 6] x, float[6, 12] w, float[2, 2, 3, 7, 2] p) => (float[2, 5, 4] y) { y = com.microsoft.Attention <num_heads = 2> (x, w, , , p) }"#,
                r#"(float[2, 1, 8] q, float[2, 1, 6] k, int32[2] l, int32 t) => (float[2, 1, 8] y) { y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, k, , , l, t) }"#,
                r#"(float[2, 1, 8] q, float[2, 1, 4] k, int32[3] l, int32 t) => (float[2, 1, 8] y) { y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, k, , , l, t) }"#,
                r#"(float[2, 1, 8] q, float[2, 1, 4] k, float[2, 2, 9, 4] p, int32[2] l, int32 t) => (float[2, 1, 8] y) { y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, k, p, p, l, t) }"#,
                r#"(float[2, 1, 8] q, float[2, 1, 4] k, int32[2] l, int32 t, float[3, 2, 1, 7] b) => (float[2, 1, 8] y) { y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, k, , , l, t, , , , b) }"#,
                r#"(float[2, 1, 8] q, float[2, 1, 4] k, int32[2] l, int32 t, int64[2, 3] p) => (float[2, 1, 8] y) { y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, k, , , l, t, , , p) }"#,
            ],
            expect![[r#"
                the batch size is 2 in one input and 3 in another
                the number of features is 8 in one input and 6 in another
                the number of keys is 6 in one input and 7 in another
                the number of heads of the key is 3, expected 2
                the number of heads of the packed input is 3, expected 2
                the number of parts of the packed input is 2, expected 3
                the number of elements of the bias is 16, expected 24
                the attention bias is float32[1, 3, 5, 5], expected a shape that broadcasts to [2, 2, 5, 5]
                the cache is float32[2, 2, 7, 3], expected shape [2, 2, 7, 4]
                the weight has 5 rows, but the input has 6 features
                the bias is float32[4], expected shape [12]
                the cache is float32[2, 2, 3, 7, 2], expected shape [2, 2, 2, 7, 2]
                the number of features of the key is 6, expected 4 for `kv_num_heads` 1
                `seqlens_k` is int32[3], expected shape [2]
                the cache is float32[2, 2, 9, 4], expected shape [2, 1, 9, 4]
                the attention bias is float32[3, 2, 1, 7], expected a shape that broadcasts to [2, 2, 1, ?]
                `position_ids` is int64[2, 3], expected a shape that broadcasts to [2, 1]
            "#]],
        );
    }
}
