//! Attention: values weighted by the similarity of queries and keys.

mod agreement;
mod mask;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::heads::{self, Sizes, agree, count, floats, sizes, split};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::sizes::{same_type, shaped};
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("Attention", &[23, 24, 25], read)
    .follows()
    .independent(3, 4)
    .arity("rrroooo", "rooo")
    .before(&[(24, "rrrooo", "rooo")])];

const MASK: usize = 3;
const PAST: [usize; 2] = [4, 5];
const VALID: usize = 6;

#[derive(Clone, Debug)]
pub struct Attention {
    query_heads: Option<usize>,
    key_heads: Option<usize>,
    causal: bool,
    scale: Option<f32>,
    softcap: f32,
    /// The dtype of the softmax.
    precision: Option<DType>,
    /// Output 3: a variant of the kernels' `AttentionScores`.
    shown: &'static str,
    /// Number of keys before and after its own position that a query attends to; `None` if unlimited.
    windows: [Option<usize>; 2],
    /// Since version 24 a mask may have fewer keys than the operands. The remaining keys are masked.
    short_masks: bool,
}

attributes!(struct Attention {
    query_heads, key_heads, causal, scale, softcap, precision, shown, windows, short_masks
});

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let shown = match a.int_or("qk_matmul_output_mode", 0)? {
        0 => "Products",
        1 => "Capped",
        2 => "Masked",
        3 => "Probabilities",
        other => {
            return Err(Problem::expected("`qk_matmul_output_mode`", other, "0, 1, 2 or 3"));
        }
    };
    let window = |name: &str| {
        if a.version() >= 25 { bound(name, a.int_or(name, -1)?) } else { Ok(None) }
    };
    Ok(Rc::new(Attention {
        query_heads: count(a, "q_num_heads")?,
        key_heads: count(a, "kv_num_heads")?,
        causal: a.flag("is_causal", false)?,
        scale: a.float("scale")?,
        softcap: a.float_or("softcap", 0.0)?,
        precision: precision(a)?,
        shown,
        windows: [window("left_window_size")?, window("right_window_size")?],
        short_masks: a.version() >= 24,
    }))
}

/// Reads the attribute `softmax_precision`.
pub fn precision(a: &Attributes<'_>) -> Result<Option<DType>, Problem> {
    let Some(number) = a.int("softmax_precision")? else {
        return Ok(None);
    };
    let dtype = i32::try_from(number).ok().and_then(DType::from_onnx);
    match dtype.filter(|dtype| dtype.is_float()) {
        Some(dtype) => Ok(Some(dtype)),
        None => Err(Problem::expected(
            "`softmax_precision`",
            number,
            "1 (float32), 10 (float16), 11 (float64) or 16 (bfloat16)",
        )),
    }
}

fn bound(name: &str, size: i64) -> Result<Option<usize>, Problem> {
    match usize::try_from(size) {
        Ok(size) => Ok(Some(size)),
        Err(_) if size == -1 => Ok(None),
        Err(_) => {
            Err(Problem::expected(format_args!("`{name}`"), size, "-1 (unlimited) or a non-negative integer"))
        }
    }
}

impl Operator for Attention {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let [query, key, value] = self.operands(cx)?;
        let (operand, kept) = (floats(cx, 0)?, floats(cx, 2)?.dtype);
        let ranks = [operand.rank(), cx.tensor(1)?.rank(), cx.tensor(2)?.rank()];
        if ranks != [ranks[0]; 3] {
            return Err(Problem::new(format!(
                "query, key and value have ranks {ranks:?}, expected equal ranks"
            )));
        }
        same_type(("the key", &cx.tensor(1)?), ("the query", &operand))?;
        let past = self.past(cx, [&key, &value])?;
        let total = match &past {
            None => key[2].clone(),
            Some(past) => {
                let total = past.add(&key[2]);
                cx.dim_or_fresh(total, "total")
            }
        };
        let scores = [&query[0], &query[1], &query[2], &total].map(Clone::clone);
        self.check_mask(cx, &scores)?;
        if cx.has(VALID) {
            let valid = cx.tensor_of_rank(VALID, 1)?;
            if let Some(batch) = valid.shape.first() {
                agree("the batch size", &query[0], batch)?;
            }
            if valid.dtype != DType::I64 {
                return Err(Problem::expected("`nonpad_kv_seqlen`", valid, "int64[batch]"));
            }
            if past.is_some() {
                return Err(Problem::new("expected `nonpad_kv_seqlen` or a cache, found both"));
            }
        }
        let result = match operand.rank() {
            4 => vec![query[0].clone(), query[1].clone(), query[2].clone(), value[3].clone()],
            _ => {
                let hidden = if query[1] == value[1] {
                    cx.tensor(2)?.shape.last().cloned()
                } else {
                    query[1].mul(&value[3])
                };
                let hidden = cx.dim_or_fresh(hidden, "hidden");
                vec![query[0].clone(), query[2].clone(), hidden]
            }
        };
        let present = |operand: &Sizes| [&operand[0], &operand[1], &total, &operand[3]].map(Clone::clone);
        cx.output(0, operand.dtype, result);
        cx.output(1, operand.dtype, present(&key).to_vec());
        cx.output(2, kept, present(&value).to_vec());
        cx.output(3, operand.dtype, scores.to_vec());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if !self.fits(cx)? {
            cx.may_fail();
        }
        let query = split(cx, 0, self.query_heads)?;
        let mut key = self.joined(cx, 1, PAST[0])?;
        let mut value = self.joined(cx, 2, PAST[1])?;
        let mut before = Code::default();
        let mut shared = |cx: &mut Emit<'_, '_>, at, name, tensor: &mut Code| {
            if !cx.wants(at) {
                return code!(());
            }
            let name = cx.temporary(name);
            before.extend(code!(let #name = #tensor;));
            *tensor = code!(#name);
            tensor.clone()
        };
        let present = [shared(cx, 1, "key", &mut key), shared(cx, 2, "value", &mut value)];
        let (mask, options) = (self.mask(cx)?, self.options(cx)?);
        let valid = cx.optional(VALID)?;
        let (mut y, mut scores) = (code!(()), code!(()));
        if cx.wants(3) {
            let names = [cx.temporary("y"), cx.temporary("scores")];
            let shown = format_ident!("{}", self.shown);
            before.extend(code! {
                let (#(#names),*) = ops::attention::attention_with_scores(
                    #query, #key, #value, #mask, #valid, #options,
                    ops::attention::AttentionScores::#shown,
                );
            });
            [y, scores] = names.map(|name| code!(#name));
        } else if cx.wants(0) {
            y = code!(ops::attention::attention(#query, #key, #value, #mask, #valid, #options));
        }
        if cx.wants(0) && cx.tensor_type(0)?.rank() == 3 {
            y = code!(ops::attention::merge_heads(#y));
        }
        let [key, value] = present;
        let mut results = vec![y, key, value, scores];
        results.truncate(cx.outputs());
        let results = match results.as_slice() {
            [one] => one.clone(),
            _ => code!((#(#results),*)),
        };
        Ok(if before.is_empty() { results } else { code!({ #before #results }) })
    }
}

impl Attention {
    /// Returns the operator for operands whose last axis packs heads of queries and of keys.
    pub fn packed(&self, query_heads: usize, key_heads: usize) -> Self {
        Attention { query_heads: Some(query_heads), key_heads: Some(key_heads), ..self.clone() }
    }

    fn operands(&self, cx: &mut Infer<'_>) -> Result<[Sizes; 3], Problem> {
        let keys = ("kv_num_heads", self.key_heads);
        let query = sizes(cx, 0, ("q_num_heads", self.query_heads))?;
        let (key, value) = (sizes(cx, 1, keys)?, sizes(cx, 2, keys)?);
        for (what, at) in [("the batch size", 0), ("the head size", 3)] {
            agree(what, &query[at], &key[at])?;
        }
        for (what, at) in [("the batch size", 0), ("the number of heads", 1), ("the sequence length", 2)] {
            agree(what, &key[at], &value[at])?;
        }
        heads::shared(&query[1], &key[1])?;
        Ok([query, key, value])
    }

    /// Returns the length of the cache, if any.
    fn past(&self, cx: &Infer<'_>, [key, value]: [&Sizes; 2]) -> Result<Option<Dim>, Problem> {
        if PAST.map(|input| cx.has(input)) == [false; 2] {
            return Ok(None);
        }
        let [past_key, past_value] = PAST.map(|input| cx.tensor_of_rank(input, 4));
        let caches = [(&past_key, 1, "the key", key), (&past_value, 2, "the value", value)];
        for (past, input, what, sizes) in caches {
            let past = past.as_ref().map_err(Clone::clone)?;
            same_type(("the cache", past), (what, &cx.tensor(input)?))?;
            let [batch, heads, _, size] = sizes.clone();
            let length = past.shape.get(2).cloned().unwrap_or_default();
            shaped("the cache", past, &[batch, heads, length, size])?;
        }
        Ok(past_key?.shape.get(2).cloned())
    }

    /// Returns the cached keys or values followed by the new ones.
    fn joined(&self, cx: &mut Emit<'_, '_>, input: usize, past: usize) -> Result<Code, Problem> {
        let past = if cx.has(past) { Some(cx.tensor(past)?) } else { None };
        let x = split(cx, input, self.key_heads)?;
        Ok(match past {
            Some(past) => code!(ops::append::append(#past, #x, 2)),
            None => x,
        })
    }

    fn options(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let mut options = Vec::new();
        if self.causal {
            options.push(code!(causal: true));
        }
        let bounded = self.windows.iter().any(Option::is_some);
        if cx.has(PAST[0]) && (self.causal || bounded) {
            let past = cx.tensor_type(PAST[0])?.shape.get(2).cloned();
            let past = cx.size(&past.unwrap_or_default());
            options.push(code!(past: #past));
        }
        for (name, window) in ["left_window", "right_window"].iter().zip(self.windows) {
            if let Some(window) = window {
                let (name, window) = (format_ident!("{name}"), Literal::usize_unsuffixed(window));
                options.push(code!(#name: Some(#window)));
            }
        }
        if let Some(scale) = self.scale {
            let scale = float_literal(f64::from(scale), DType::F32);
            options.push(code!(scale: Some(#scale)));
        }
        if self.softcap > 0.0 {
            let softcap = float_literal(f64::from(self.softcap), DType::F32);
            options.push(code!(softcap: #softcap));
        }
        if let Some(precision) = self.precision {
            let precision = format_ident!("{}", precision.carrier());
            options.push(code!(softmax_dtype: Some(DType::#precision)));
        }
        Ok(if options.is_empty() {
            code!(&Default::default())
        } else {
            code! {
                &ops::attention::AttentionOptions { #(#options,)* ..Default::default() }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_cache_grows_by_the_new_keys() {
        check(
            r#"<ir_version: 13, opset_import: ["": 25]>
            g (float[b, t, 64] q, float[b, t, 32] k, float[b, t, 32] v,
               float[b, 2, p, 16] pk, float[b, 2, p, 16] pv)
            => (float[b, t, 64] y, float[b, 2, s, 16] nk, float[b, 2, s, 16] nv) {
                y, nk, nv = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v, , pk, pv)
            }"#,
            expect![[r#"
                g (float32[b, t, 64] q, float32[b, t, 32] k, float32[b, t, 32] v, float32[b, 2, p, 16] pk, float32[b, 2, p, 16] pv) => (float32[b, t, 64] y, float32[b, 2, t + p, 16] nk, float32[b, 2, t + p, 16] nv)
                {
                    float32[b, t, 64] y, float32[b, 2, t + p, 16] nk, float32[b, 2, t + p, 16] nv = Attention <query_heads: 4, key_heads: 2, causal: true, softcap: 0.0, shown: "Products", windows: [none, none], short_masks: true> (q, k, v, , pk, pv)
                }
            "#]],
        );
    }

    #[test]
    fn masks_stretch_to_the_scores() {
        check(
            r#"<ir_version: 13, opset_import: ["": 23]>
            g (float[2, 3, 4, 8] q, float[2, 3, 6, 8] k, float[2, 3, 6, 8] v, bool[4, 5] m)
            => (float[2, 3, 4, 8] y) {
                y = Attention (q, k, v, m)
            }"#,
            expect![[r#"
                cannot compile `model`

                  the mask is bool[4, 5], expected a shape that broadcasts to [2, 3, 4, 6]
                    at node `y` (Attention version 23)

                  model: IR version 13, ai.onnx 23"#]],
        );
    }

    #[test]
    fn packed_heads_must_be_counted() {
        check(
            r#"<ir_version: 13, opset_import: ["": 23]>
            g (float[2, 4, 64] q, float[2, 6, 64] k, float[2, 6, 64] v) => (float[2, 4, 64] y) {
                y = Attention (q, k, v)
            }"#,
            expect![[r#"
                cannot compile `model`

                  input 0 is float32[2, 4, 64], expected rank 4, or attribute `q_num_heads`
                    at node `y` (Attention version 23)
                    help: export the model with `q_num_heads`, the number of heads in the last axis

                  model: IR version 13, ai.onnx 23"#]],
        );
    }
}
