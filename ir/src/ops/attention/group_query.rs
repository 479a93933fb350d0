//! GroupQueryAttention: several heads of queries share keys and values.

mod check;

use std::rc::Rc;

use proc_macro2::Literal;

use super::heads::shared;
use super::multi_head::{both_or_neither, divided, heads, refuse, scale};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] =
    &[row("GroupQueryAttention", &[1], read).arity("roooorrooooooooo", "rooo").of(MICROSOFT)];

const CACHE: usize = 3;
const LENGTHS: usize = 5;
const TOTAL: usize = 6;
const COSINE: usize = 7;
const POSITIONS: usize = 9;
const BIAS: usize = 10;
const SINKS: usize = 11;
const NORMS: usize = 14;

/// Types of caches that may differ from the type of the query.
const CACHED: &[DType] = &[DType::F32, DType::F16, DType::Bf16];

#[derive(Debug)]
struct GroupQuery {
    heads: i64,
    kv_heads: i64,
    causal: bool,
    rotary: bool,
    interleaved: bool,
    smooth: bool,
    scale: Option<f32>,
    softcap: f32,
    window: Option<i64>,
    norm_epsilon: f32,
    /// Scores in output 3: none if 0, otherwise before or after the softmax.
    scores: i64,
}

attributes!(struct GroupQuery {
    heads, kv_heads, causal, rotary, interleaved, smooth, scale, softcap, window, norm_epsilon,
    scores
});

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    refuse(a, "sliding_window_cache", "export the model with a cache for the whole sequence")?;
    a.ignore(&["kv_cache_bit_width"]);
    for name in ["k_quant_type", "v_quant_type"] {
        let quantized = a.string_or(name, "NONE")?;
        if quantized != "NONE" {
            let problem =
                Problem::expected(format_args!("`{name}`"), format_args!("`{quantized}`"), "`NONE`");
            return Err(problem.help("export the model with a float cache"));
        }
    }
    let (heads, kv_heads) = (heads(a, "num_heads")?, heads(a, "kv_num_heads")?);
    shared(&heads.into(), &kv_heads.into())?;
    let window = a.int_or("local_window_size", -1)?;
    let causal = a.flag("causal", true)?;
    if !causal && window >= 0 {
        return Err(Problem::expected("`local_window_size`", window, "-1 for non-causal attention"));
    }
    Ok(Rc::new(GroupQuery {
        heads,
        kv_heads,
        causal,
        rotary: a.flag("do_rotary", false)?,
        interleaved: a.flag("rotary_interleaved", false)?,
        smooth: a.int_or("smooth_softmax", -1)? == 1,
        scale: scale(a)?,
        softcap: a.float_or("softcap", 0.0)?,
        window: (window >= 0).then_some(window),
        norm_epsilon: a.float_or("qk_norm_epsilon", 1e-6)?,
        scores: a.int_or("qk_output", 0)?,
    }))
}

impl GroupQuery {
    /// Returns the size of a head.
    fn size(&self, query: &[Dim], packed: bool) -> Result<Dim, Problem> {
        let count = if packed { self.heads + 2 * self.kv_heads } else { self.heads };
        divided(query.last().unwrap_or(&Dim::default()), count)
    }
}

impl Operator for GroupQuery {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let query = cx.tensor_of_rank(0, 3)?;
        both_or_neither(cx, [1, 2], ["key", "value"])?;
        both_or_neither(cx, [CACHE, CACHE + 1], ["past_key", "past_value"])?;
        let size = self.size(&query.shape, !cx.has(1))?;
        if !cx.has(1) && size.number().is_none() {
            let expected = "a last axis whose size is known at compile time";
            return Err(Problem::expected("the packed query", query, expected)
                .help("fix the size of the last axis of the query with `dims(..)` or `inputs(..)`")
                .about(Topic::Shape));
        }
        let ranks = [
            (1, 3),
            (2, 3),
            (CACHE, 4),
            (CACHE + 1, 4),
            (LENGTHS, 1),
            (COSINE, 2),
            (COSINE + 1, 2),
            (POSITIONS, 2),
            (BIAS, 4),
            (SINKS, 1),
            (NORMS, 1),
            (NORMS + 1, 1),
        ];
        for (input, rank) in ranks {
            if cx.has(input) || input == LENGTHS || self.rotary && (input == COSINE || input == COSINE + 1) {
                cx.tensor_of_rank(input, rank)?;
            }
        }
        let mut total = cx.ints(TOTAL).and_then(|values| values.first().cloned());
        cx.tensor(TOTAL)?;
        let mut stored = query.dtype;
        if cx.has(CACHE) {
            let cache = cx.tensor(CACHE)?;
            if !CACHED.contains(&cache.dtype) {
                sizes::same_type(("the cache", &cache), ("the query", &query))?;
            }
            sizes::same_type(("`past_value`", &cx.tensor(CACHE + 1)?), ("`past_key`", &cache))?;
            stored = cache.dtype;
            total = match (total.and_then(|total| total.number()), cache.shape.get(2)) {
                (Some(total), Some(keys)) => keys.number().map(|keys| keys.max(total).into()),
                _ => None,
            };
        }
        let keys = cx.dim_or_fresh(total, "keys");
        let [batch, length, _] = query.shape.as_slice() else {
            return Ok(());
        };
        self.check(cx, batch, &size)?;
        self.check_positions(cx, batch, length)?;
        let hidden = size.mul(&self.heads.into());
        let hidden = cx.dim_or_fresh(hidden, "hidden");
        let cache = vec![batch.clone(), self.kv_heads.into(), keys, size];
        cx.output(0, query.dtype, vec![batch.clone(), length.clone(), hidden]);
        cx.output(1, stored, cache.clone());
        cx.output(2, stored, cache);
        if cx.wants(3) {
            if !(1..=2).contains(&self.scores) {
                return Err(Problem::expected(
                    "`qk_output`",
                    self.scores,
                    "1 or 2, because the node has output 3",
                ));
            }
            let total = cx.ints(TOTAL).and_then(|values| values.first().cloned());
            let total = cx.dim_or_fresh(total, "total");
            let shape = vec![batch.clone(), self.heads.into(), length.clone(), total];
            cx.output(3, query.dtype, shape);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let (inputs, options) = (self.inputs(cx)?, self.options());
        let call = match (cx.wants(3), self.scores) {
            (false, _) => code!(ops::group_query::group_query_attention(#inputs, #options)),
            (true, scores) => {
                let shown = match scores {
                    1 => code!(ops::attention::AttentionScores::Masked),
                    _ => code!(ops::attention::AttentionScores::Probabilities),
                };
                code!(ops::group_query::group_query_attention_with_scores(#inputs, #options, #shown))
            }
        };
        let names = [code!(y), code!(key), code!(value), code!(scores)];
        let made = if cx.wants(3) { 4 } else { 3 };
        let wants = |output: usize| cx.wants(output);
        if cx.outputs() == made && (0..made).all(wants) {
            return Ok(call);
        }
        if !(1..made).any(wants) {
            let nothing: Vec<Code> = (1..cx.outputs()).map(|_| code!(())).collect();
            return Ok(if nothing.is_empty() { code!(#call.0) } else { code!((#call.0, #(#nothing),*)) });
        }
        let bound = names.iter().enumerate().take(made);
        let bound = bound.map(|(at, name)| if wants(at) { name.clone() } else { code!(_) });
        let results = names.iter().enumerate().take(cx.outputs());
        let results = results.map(|(at, name)| if wants(at) { name.clone() } else { code!(()) });
        Ok(code!({
            let (#(#bound),*) = #call;
            (#(#results),*)
        }))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == TOTAL
    }
}

impl GroupQuery {
    fn options(&self) -> Code {
        let number = |value: f32| float_literal(f64::from(value), DType::F64);
        let optional = |value: Option<Code>| match value {
            Some(value) => code!(Some(#value)),
            None => code!(None),
        };
        let scale = optional(self.scale.map(number));
        let window = self.window.map(Literal::i64_unsuffixed);
        let window = optional(window.map(|window| code!(#window)));
        let (causal, interleaved, smooth) = (self.causal, self.interleaved, self.smooth);
        let softcap = number(self.softcap);
        let epsilon = float_literal(f64::from(self.norm_epsilon), DType::F32);
        code! {
            &ops::group_query::GroupQuery {
                causal: #causal,
                window: #window,
                scale: #scale,
                softcap: #softcap,
                interleaved: #interleaved,
                smooth: #smooth,
                norm_epsilon: #epsilon,
            }
        }
    }

    fn inputs(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (own, shared) = (Literal::i64_unsuffixed(self.heads), Literal::i64_unsuffixed(self.kv_heads));
        let query = cx.tensor(0)?;
        let heads = if cx.has(1) {
            let (key, value) = (cx.tensor(1)?, cx.tensor(2)?);
            code!([
                ops::attention::split_heads(#query, #own),
                ops::attention::split_heads(#key, #shared),
                ops::attention::split_heads(#value, #shared),
            ])
        } else {
            let size = self.size(&cx.tensor_type(0)?.shape.clone(), true)?;
            let hidden = |heads: i64| size.mul(&heads.into()).unwrap_or_default();
            let (wide, narrow) = (cx.size(&hidden(self.heads)), cx.size(&hidden(self.kv_heads)));
            let (sizes, heads) = (code!([#wide, #narrow, #narrow]), code!([#own, #shared, #shared]));
            code!(ops::multi_head::split_projected(#query, #sizes, #heads))
        };
        let past = pair(cx, CACHE, CACHE + 1)?;
        let (last, total) = (cx.tensor(LENGTHS)?, cx.host_int(TOTAL)?);
        let angles = if self.rotary { pair(cx, COSINE, COSINE + 1)? } else { code!(None) };
        let positions = if self.rotary { cx.optional(POSITIONS)? } else { code!(None) };
        let norms = pair(cx, NORMS, NORMS + 1)?;
        let (bias, sinks) = (cx.optional(BIAS)?, cx.optional(SINKS)?);
        Ok(code! {
            ops::group_query::GroupQueryInputs {
                heads: #heads,
                past: #past,
                last: #last,
                total: #total,
                norms: #norms,
                angles: #angles,
                positions: #positions,
                bias: #bias,
                sinks: #sinks,
            }
        })
    }
}

/// Returns `Some((first, second))`, or `None` in the generated code if the first input is absent.
fn pair(cx: &mut Emit<'_, '_>, first: usize, second: usize) -> Result<Code, Problem> {
    if !cx.has(first) {
        return Ok(code!(None));
    }
    let (first, second) = (cx.tensor(first)?, cx.tensor(second)?);
    Ok(code!(Some((#first, #second))))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn results_have_the_heads_of_queries_and_caches_those_of_keys() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]> g (float[n, 3, 16] q, float[n, 3, 8] k, float[n, 3, 8] v, float[n, 2, p, 4] pk, int32[n] l, int32 t) => (float[a, b, c] y, float[a, b, c, d] ck, float[a, b, c, d] cv) { y, ck, cv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, pk, pk, l, t) }"#,
            expect![[r#"
                g (float32[n, 3, 16] q, float32[n, 3, 8] k, float32[n, 3, 8] v, float32[n, 2, p, 4] pk, int32[n] l, host int32[] t) => (float32[n, 3, 16] y, float32[n, 2, keys, 4] ck, float32[n, 2, keys, 4] cv)
                {
                    float32[n, 3, 16] y, float32[n, 2, keys, 4] ck, float32[n, 2, keys, 4] cv = com.microsoft.GroupQueryAttention <heads: 4, kv_heads: 2, causal: true, softcap: 0.0, norm_epsilon: 1e-6, scores: 0> (q, k, v, pk, pk, l, t)
                }
            "#]],
        );
    }

    #[test]
    fn heads_and_caches_fit() {
        problems(
            &[
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, , , l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 3, kv_num_heads = 2> (q, k, v, , , l, t) }"#,
                r#"(float[1, 3, 15] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, , , l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, local_window_size = 2, causal = 0> (q, k, v, , , l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, k_quant_type = "PER_TENSOR"> (q, k, v, , , l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t, float[1, 2, 7, 4] p) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, , l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t, float[1, 2, 7, 4] p) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, p, l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t, float[1, 3, 7, 4] p) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, p, l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t, double[1, 2, 7, 4] p) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, p, l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t, float16[1, 2, 7, 4] p) => (float[a, b, c] y, float16[a, b, c, d] ck) { y, ck = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, p, l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t, float16[1, 2, 7, 4] p, float[1, 2, 7, 4] o) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, o, l, t) }"#,
                r#"(float[1, 3, 16] q, float[1, 3, 8] k, float[1, 3, 8] v, int32[1] l, int32 t) => (float[a, b, c] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1> (q, k, v, , , l, t) }"#,
            ],
            expect![[r#"
                fine
                the number of query heads is 3, expected a multiple of 2, the number of key heads
                the hidden size is 15, expected a multiple of 4, the number of heads
                `local_window_size` is 2, expected -1 for non-causal attention
                `k_quant_type` is `PER_TENSOR`, expected `NONE`
                expected both `past_key` and `past_value`, found only `past_key`
                fine
                the cache is float32[1, 3, 7, 4], expected shape [1, 2, 7, 4]
                the cache has type float64, but the query has type float32
                fine
                `past_value` has type float32, but `past_key` has type float16
                input 7 is missing
            "#]],
        );
    }
}
