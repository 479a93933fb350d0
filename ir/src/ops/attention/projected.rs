//! Attention with the projection of its input.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::multi_head::mask::{additions, additions_fit, check_mask};
use super::multi_head::{Heads, divided, read, refuse, shared_buffer};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("Attention", &[1], projected).follows().arity("rrooooo", "ro").of(MICROSOFT)];

/// Attention whose queries, keys and values one matrix computes from the input, with these sizes.
#[derive(Debug)]
struct Projected {
    inner: Heads,
    sizes: Option<Vec<i64>>,
}

attributes!(struct Projected { inner, sizes });

fn projected(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    refuse(a, "do_rotary", "use a RotaryEmbedding node before a MultiHeadAttention node instead")?;
    refuse(a, "past_present_share_buffer", "export the model without shared buffers")?;
    a.ignore(&["rotary_embedding_dim"]);
    Ok(Rc::new(Projected {
        inner: read(a)?,
        sizes: a.ints("qkv_hidden_sizes")?.filter(|sizes| !sizes.is_empty()),
    }))
}

impl Projected {
    /// Returns the sizes of queries, keys and values for a number of columns of the weight.
    fn sizes(&self, columns: Option<&Dim>) -> Result<[i64; 3], Problem> {
        let sizes = match self.sizes.as_deref() {
            Some(&[query, key, value]) => Some([query, key, value]),
            Some(_) => None,
            None => columns.and_then(Dim::number).map(|columns| [columns / 3; 3]),
        };
        match sizes {
            Some([query, key, value]) if query == key && query > 0 && value > 0 => {
                divided(&query.into(), self.inner.heads)?;
                divided(&value.into(), self.inner.heads)?;
                Ok([query, key, value])
            }
            _ => Err(self.unknown_sizes(columns)),
        }
    }
}

impl Projected {
    /// Returns the problem of sizes of queries, keys and values that are invalid or unknown.
    fn unknown_sizes(&self, columns: Option<&Dim>) -> Problem {
        match (&self.sizes, columns.and_then(Dim::number)) {
            (Some(sizes), _) => {
                let found = format!("{sizes:?}");
                Problem::expected("`qkv_hidden_sizes`", found, "three positive sizes, the first two equal")
            }
            (None, Some(columns)) => {
                Problem::new(format!("the number of columns of the weight is {columns}, expected at least 3"))
            }
            (None, None) => Problem::new("the number of columns of the weight is unknown at compile time")
                .help("fix the sizes of the weight with `dims(..)` or `inputs(..)`")
                .about(Topic::Shape),
        }
    }

    /// Returns `true` if operands cannot contradict each other in any run.
    fn fits(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        let (x, weight) = (&cx.tensor_type(0)?.shape, &cx.tensor_type(1)?.shape);
        let ([batch, length, features], [rows, columns]) = (x.as_slice(), weight.as_slice()) else {
            return Ok(false);
        };
        let [size, _, value] = self.sizes(Some(columns))?;
        let wanted = size.checked_mul(2).and_then(|both| both.checked_add(value));
        let bias = if cx.has(2) { cx.tensor_type(2)?.shape.first() == Some(columns) } else { true };
        if rows != features || columns.number() != wanted || !bias {
            return Ok(false);
        }
        let (heads, size) = (Dim::from(self.inner.heads), Dim::from(size / self.inner.heads));
        match known_total(cx, 4, [batch, &heads, length, &size])? {
            Some(total) => additions_fit(cx, 3, 5, [batch, &heads, length, &total]),
            None => Ok(false),
        }
    }
}

impl Operator for Projected {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (cx.tensor_of_rank(0, 3)?, cx.tensor_of_rank(1, 2)?);
        let [size, _, value] = self.sizes(weight.shape.get(1))?;
        if let ([.., features], [rows, columns]) = (x.shape.as_slice(), weight.shape.as_slice()) {
            sizes::equal(("the weight", rows, "rows"), ("the input", features, "features"))?;
            let wanted = size.checked_mul(2).and_then(|both| both.checked_add(value));
            let wanted = Dim::from(wanted.unwrap_or(i64::MAX));
            if sizes::differ(columns, &wanted) {
                return Err(Problem::new(format!(
                    "the number of columns of the weight is {columns}, expected {wanted} for queries, keys and values"
                )));
            }
            if cx.has(2) {
                sizes::shaped("the bias", &cx.tensor(2)?, std::slice::from_ref(columns))?;
            }
        }
        additions(cx, 3, 5)?;
        if cx.has(6) {
            return Err(shared_buffer());
        }
        let [batch, length, _] = x.shape.as_slice() else {
            return Ok(());
        };
        let past =
            if cx.has(4) { cx.tensor_of_rank(4, 5)?.shape.get(3).cloned() } else { Some(Dim::from(0)) };
        let total = past.and_then(|past| past.add(length));
        let total = cx.dim_or_fresh(total, "total");
        check_mask(cx, 3, [batch, length, &total])?;
        let heads = self.inner.heads;
        if cx.has(4) {
            check_cache(cx, 4, batch, heads, &Dim::from(size / heads))?;
        }
        let cache = vec![2.into(), batch.clone(), heads.into(), total, (size / heads).into()];
        cx.output(0, x.dtype, vec![batch.clone(), length.clone(), value.into()]);
        if cx.wants(1) && size != value {
            return Err(Problem::new(format!(
                "keys have size {size} and values have size {value}, expected equal sizes for a cache"
            )));
        }
        cx.output(1, x.dtype, cache);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let sizes = self.sizes(cx.tensor_type(1)?.shape.get(1))?;
        let sizes = sizes.map(Literal::i64_unsuffixed);
        if !self.fits(cx)? {
            cx.may_fail();
        }
        let heads = Literal::i64_unsuffixed(self.inner.heads);
        let projected = projection(cx)?;
        let (mask, past, bias) = (self.inner.mask(cx, 3)?, cx.optional(4)?, cx.optional(5)?);
        let name = if cx.wants(1) {
            format_ident!("attend_projected_with_cache")
        } else {
            format_ident!("attend_projected")
        };
        let options = self.inner.options();
        let call = code! {
            ops::multi_head::#name(#projected, [#(#sizes),*], #heads, #past, #mask, #bias, #options)
        };
        // Half precision is projected in single precision.
        let narrow = match cx.tensor_type(0)?.dtype {
            DType::F16 => Some(code!(DType::F16)),
            DType::Bf16 => Some(code!(DType::BF16)),
            _ => None,
        };
        let cast = |x: Code| match &narrow {
            Some(dtype) => code!(ops::dtype::computed(#x, #dtype)),
            None => x,
        };
        Ok(match (cx.wants(1), cx.outputs()) {
            (true, _) if narrow.is_some() => {
                let (y, cache) = (cast(code!(y)), cast(code!(cache)));
                code!({
                    let (y, cache) = #call;
                    (#y, #cache)
                })
            }
            (true, _) => call,
            (false, 1) => cast(call),
            _ => {
                let y = cast(call);
                code!((#y, ()))
            }
        })
    }
}

/// Returns the number of keys, including those of the cache, if any; `None` if a run may contradict the sizes.
pub fn known_total(
    cx: &Emit<'_, '_>,
    input: usize,
    [batch, heads, length, size]: [&Dim; 4],
) -> Result<Option<Dim>, Problem> {
    if !cx.has(input) {
        return Ok(Some(length.clone()));
    }
    let past = &cx.tensor_type(input)?.shape;
    let two = Dim::from(2);
    let wanted = [Some(&two), Some(batch), Some(heads), past.get(3), Some(size)];
    let fits = past.iter().map(Some).eq(wanted);
    let total = past.get(3).and_then(|past| past.add(length));
    Ok(total.filter(|_| fits))
}

/// Checks the cache of keys and values in one tensor, `[2, batch, heads, length, size]`.
pub fn check_cache(cx: &Infer<'_>, input: usize, batch: &Dim, heads: i64, size: &Dim) -> Result<(), Problem> {
    let past = cx.tensor_of_rank(input, 5)?;
    let length = past.shape.get(3).cloned().unwrap_or_default();
    let wanted = [Dim::from(2), batch.clone(), Dim::from(heads), length, size.clone()];
    sizes::shaped("the cache", &past, &wanted)
}

/// Returns queries, keys and values, concatenated along the last axis.
fn projection(cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
    let single = matches!(cx.tensor_type(0)?.dtype, DType::F32 | DType::F64);
    let hint = cx.layer_hint(1);
    let x = cx.tensor(0)?;
    let bias = if cx.has(2) { cx.weight(2).map(|name| code!(Some(#name))) } else { Some(code!(None)) };
    if let (Some(weight), Some(bias)) = (cx.weight(1), bias) {
        let load = code!(layers::Linear::load(weights, #weight, #bias));
        let (load, x) = if single {
            (load, x)
        } else {
            (code!(#load.widened()), code!(ops::dtype::computed(#x, DType::F32)))
        };
        let named = [("weight", 1), ("bias", 2)];
        let layer = cx.layer_of(&hint, code!(layers::Linear), load, &named);
        return Ok(code!(#layer.forward(#x)));
    }
    let (weight, bias) = (cx.tensor(1)?, cx.optional(2)?);
    Ok(code!(ops::multi_head::project(#x, #weight, #bias)))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn the_projection_gives_the_sizes() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]> g (float[n, 5, 4] x, float[4, 20] w, float[20] b, float[2, n, 2, p, 3] past) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [6, 6, 8]> (x, w, b, , past) }"#,
            expect![[r#"
                g (float32[n, 5, 4] x, float32[4, 20] w, float32[20] b, float32[2, n, 2, p, 3] past) => (float32[n, 5, 8] y)
                {
                    float32[n, 5, 8] y = com.microsoft.Attention <inner: {heads: 2, hidden: -10000.0}, sizes: [6, 6, 8]> (x, w, b, , past)
                }
            "#]],
        );
    }

    #[test]
    fn projections_masks_and_caches_fit() {
        problems(
            &[
                r#"(float[1, 5, 4] x, float[4, 12] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2> (x, w) }"#,
                r#"(float[1, 5, 4] x, float[5, 12] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2> (x, w) }"#,
                r#"(float[1, 5, 4] x, float[4, 9] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2> (x, w) }"#,
                r#"(float[1, 5, 4] x, float[4, 12] w, float[11] b) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2> (x, w, b) }"#,
                r#"(float[1, 5, 4] x, float[4, 12] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [4, 4, 6]> (x, w) }"#,
                r#"(float[1, 5, 4] x, float[4, 14] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [4, 6, 4]> (x, w) }"#,
                r#"(float[1, 5, 4] x, float[4, 12] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [4, 4]> (x, w) }"#,
                r#"(float[1, 5, 4] x, float[4, 12] w, float[2, 1, 2, 3, 2] p) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2> (x, w, , , p) }"#,
                r#"(float[1, 5, 4] x, float[4, 12] w, float[2, 1, 3, 3, 2] p) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2> (x, w, , , p) }"#,
                r#"(float[1, 5, 4] x, float[4, 12] w) => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 2, do_rotary = 1> (x, w) }"#,
            ],
            expect![[r#"
                fine
                the weight has 5 rows, but the input has 4 features
                the hidden size is 3, expected a multiple of 2, the number of heads
                the bias is float32[11], expected shape [12]
                the number of columns of the weight is 12, expected 14 for queries, keys and values
                `qkv_hidden_sizes` is [4, 6, 4], expected three positive sizes, the first two equal
                `qkv_hidden_sizes` is [4, 4], expected three positive sizes, the first two equal
                fine
                the cache is float32[2, 1, 3, 3, 2], expected shape [2, 1, 2, 3, 2]
                `do_rotary` is not supported
            "#]],
        );
    }
}
