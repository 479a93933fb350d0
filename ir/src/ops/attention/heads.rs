//! Features that are packed into heads.

use proc_macro2::Literal;

use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::TensorType;

pub use crate::ops::sizes::agree;

/// Batch, number of heads, length and size of a head.
pub type Sizes = [Dim; 4];

/// Reads an attribute that is a number of heads.
pub fn count(a: &Attributes<'_>, name: &str) -> Result<Option<usize>, Problem> {
    a.int(name)?.map(|_| a.positive(name)).transpose()
}

/// Returns the sizes of an input: rank 4 has an axis of heads, rank 3 packs `heads` heads into its last axis.
pub fn sizes(cx: &mut Infer<'_>, input: usize, heads: (&str, Option<usize>)) -> Result<Sizes, Problem> {
    let tensor = floats(cx, input)?;
    match (tensor.shape.as_slice(), heads) {
        ([batch, heads, length, size], _) => Ok([batch, heads, length, size].map(Clone::clone)),
        ([batch, length, hidden], (_, Some(heads))) => {
            let size = unpacked(cx, hidden, heads)?;
            Ok([batch.clone(), dim(heads), length.clone(), size])
        }
        ([_, _, _], (name, None)) => {
            let expected = format!("rank 4, or attribute `{name}`");
            Err(Problem::expected(format_args!("input {input}"), tensor, expected)
                .help(format!("export the model with `{name}`, the number of heads in the last axis")))
        }
        _ => Err(Problem::expected(format_args!("input {input}"), tensor, "rank 3 or 4")),
    }
}

/// Returns the sizes of an operand; `None` unless its heads are known to divide its last axis.
pub fn known(tensor: &TensorType, heads: Option<usize>) -> Option<Sizes> {
    match (tensor.shape.as_slice(), heads) {
        ([batch, heads, length, size], _) => Some([batch, heads, length, size].map(Clone::clone)),
        ([batch, length, hidden], Some(heads)) => {
            let size = hidden.div(&dim(heads))?;
            let whole = size.mul(&dim(heads))? == *hidden;
            whole.then(|| [batch.clone(), dim(heads), length.clone(), size])
        }
        _ => None,
    }
}

/// Returns `true` if queries, keys and values have matching sizes in every run.
pub fn fit([query, key, value]: [&Sizes; 3]) -> bool {
    let shares = match (query[1].number(), key[1].number()) {
        (Some(queries), Some(keys)) => queries.checked_rem(keys) == Some(0),
        _ => false,
    };
    let equal = |one: &Sizes, other: &Sizes, axes: &[usize]| {
        axes.iter().all(|&axis| one.get(axis) == other.get(axis))
    };
    (shares || query[1] == key[1])
        && equal(query, key, &[0, 3])
        && equal(query, value, &[0])
        && equal(key, value, &[1, 2])
}

/// Returns an operand with an axis of heads.
pub fn split(cx: &mut Emit<'_, '_>, input: usize, heads: Option<usize>) -> Result<Code, Problem> {
    let rank = cx.tensor_type(input)?.rank();
    let x = cx.tensor(input)?;
    Ok(match (rank, heads) {
        (3, Some(heads)) => {
            let heads = Literal::usize_unsuffixed(heads);
            code!(ops::attention::split_heads(#x, #heads))
        }
        _ => x,
    })
}

/// Returns the size of one head if the last axis packs `heads` heads.
pub fn unpacked(cx: &mut Infer<'_>, hidden: &Dim, heads: usize) -> Result<Dim, Problem> {
    let heads = dim(heads);
    if let (Some(hidden), Some(heads)) = (hidden.number(), heads.number())
        && hidden.checked_rem(heads) != Some(0)
    {
        return Err(indivisible(&hidden.into(), heads));
    }
    let size = hidden.div(&heads);
    Ok(cx.dim_or_fresh(size, "head_size"))
}

/// Returns the problem of a last axis that does not pack `heads` heads of equal size.
pub fn indivisible(hidden: &Dim, heads: i64) -> Problem {
    let expected = format!("a multiple of {heads}, the number of heads");
    Problem::expected("the hidden size", hidden, expected)
}

/// Returns the type of a tensor of floats with at least 16 bits.
pub fn floats(cx: &Infer<'_>, input: usize) -> Result<TensorType, Problem> {
    let operand = cx.tensor(input)?;
    if operand.dtype.is_float() {
        Ok(operand)
    } else {
        Err(Problem::expected(format_args!("input {input}"), operand, "floats"))
    }
}

/// Reports heads of keys that are not shared by equal numbers of heads of queries.
pub fn shared(queries: &Dim, keys: &Dim) -> Result<(), Problem> {
    match (queries.number(), keys.number()) {
        (Some(queries), Some(keys)) if queries.checked_rem(keys) != Some(0) => {
            let expected = format!("a multiple of {keys}, the number of key heads");
            Err(Problem::expected("the number of query heads", queries, expected))
        }
        _ => Ok(()),
    }
}

/// Converts a number to a size.
pub fn dim(number: usize) -> Dim {
    Dim::from(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, named, problems};

    #[test]
    fn sizes_that_may_disagree_name_the_node() {
        named(
            &[
                "(float[b, h, s, 8] q, float[b, k, t, 8] k, float[b, k, t, 6] v) => (y) { y = Attention (q, k, v) }",
                "(float[b, 4, s, 8] q, float[b, 2, t, 8] k, float[b, 2, u, 6] v) => (y) { y = Attention (q, k, v) }",
                "(float[b, 4, s, 8] q, float[b, 2, t, 8] k, float[b, 2, t, 6] v, float[m, u] m) => (y) { y = Attention (q, k, v, m) }",
                "(float[b, 4, s, 8] q, float[b, 2, t, 8] k, float[b, 2, t, 6] v, int64[b] n) => (y) { y = Attention (q, k, v, , , , n) }",
                "(float[b, 4, s, 8] x, float[b, u, 4] c, float[b, s, 4] d) => (y) { y = RotaryEmbedding (x, c, d) }",
                "(float[b, s, 8] q, float[b, t, 8] k, float[b, u, 8] v) => (y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }",
                "(float[b, s, 8] q, float[b, t, 8] k, int32[b, u] m) => (y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, k, , m) }",
                "(float[b, s, 6] x, float[6, 12] w, float[c, 1, s, s] a) => (y) { y = com.microsoft.Attention <num_heads = 2> (x, w, , , , a) }",
            ],
            expect![[r#"
                "y" , "Attention"
                "y" , "Attention"
                "y" , "Attention"
                "y" , "Attention"
                "y" , "RotaryEmbedding"
                "y" , "com.microsoft.MultiHeadAttention"
                "y" , "com.microsoft.MultiHeadAttention"
                "y" , "com.microsoft.Attention"
            "#]],
        );
    }

    #[test]
    fn sizes_that_are_known_to_agree_need_no_name() {
        named(
            &[
                "(float[b, 4, s, 8] q, float[b, 2, t, 8] k, float[b, 2, t, 6] v, float[s, t] m) => (y) { y = Attention (q, k, v, m) }",
                "(float[b, s, 32] q, float[b, t, 16] k, float[b, t, 12] v) => (y) { y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v) }",
                "(float[b, 4, s, 8] x, float[b, s, 4] c, float[b, s, 4] d) => (y) { y = RotaryEmbedding (x, c, d) }",
                "(float[b, s, 8] q, float[b, t, 8] k, int32[b, t] m) => (y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, k, , m) }",
                "(float[b, s, 6] x, float[6, 12] w, float[b, 1, s, s] a) => (y) { y = com.microsoft.Attention <num_heads = 2> (x, w, , , , a) }",
            ],
            expect![[r#"
                none
                none
                none
                none
                none
            "#]],
        );
    }

    #[test]
    fn heads_are_packed_into_the_last_axis() {
        check(
            r#"<ir_version: 10, opset_import: ["": 23]> g (float[n, 4, 12] q, float[n, 6, 6] k, float[n, 6, 10] v) => (float[a, b, c] y) { y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v) }"#,
            expect![[r#"
                g (float32[n, 4, 12] q, float32[n, 6, 6] k, float32[n, 6, 10] v) => (float32[n, 4, 20] y)
                {
                    float32[n, 4, 20] y = Attention <query_heads: 4, key_heads: 2, softcap: 0.0, shown: "Products", windows: [none, none]> (q, k, v)
                }
            "#]],
        );
    }

    #[test]
    fn heads_divide_what_is_packed() {
        problems(
            &[
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 4, 8] q, float[1, 6, 8] k, float[1, 6, 8] v) => (float[a, b, c] y) { y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 4, 8] q, float[1, 6, 8] k, float[1, 6, 8] v) => (float[a, b, c] y) { y = Attention <q_num_heads = 3, kv_num_heads = 2> (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 4, 8] q, float[1, 6, 8] k, float[1, 6, 8] v) => (float[a, b, c] y) { y = Attention <q_num_heads = 0, kv_num_heads = 2> (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 4, 8] q, float[1, 6, 8] k, float[1, 6, 8] v) => (float[a, b, c] y) { y = Attention <kv_num_heads = 2> (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 4, 12] q, float[1, 6, 8] k, float[1, 6, 8] v) => (float[a, b, c] y) { y = Attention <q_num_heads = 3, kv_num_heads = 2> (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[1, 4, 8] q, float[1, 6, 12] k, float[1, 6, 12] v) => (float[a, b, c] y) { y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (float[4, 8] q, float[6, 8] k, float[6, 8] v) => (float[a, b] y) { y = Attention (q, k, v) }"#,
                r#"<ir_version: 10, opset_import: ["": 23]> g (int32[1, 2, 4, 8] q, int32[1, 2, 6, 8] k, int32[1, 2, 6, 8] v) => (int32[a, b, c, d] y) { y = Attention (q, k, v) }"#,
            ],
            expect![[r#"
                fine
                the hidden size is 8, expected a multiple of 3, the number of heads
                `q_num_heads` is 0, expected a positive integer
                input 0 is float32[1, 4, 8], expected rank 4, or attribute `q_num_heads`
                the number of query heads is 3, expected a multiple of 2, the number of key heads
                the head size is 4 in one input and 6 in another
                input 0 is float32[4, 8], expected rank 3 or 4
                input 0 is int32[1, 2, 4, 8], expected floats
            "#]],
        );
    }
}
