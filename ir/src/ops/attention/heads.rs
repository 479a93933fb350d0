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

/// Batch, heads, length and the size of a head.
pub type Sizes = [Dim; 4];

/// An attribute that counts heads.
pub fn count(a: &Attributes<'_>, name: &str) -> Result<Option<usize>, Problem> {
    match a.int(name)? {
        None => Ok(None),
        Some(count) => match usize::try_from(count) {
            Ok(count) if count > 0 => Ok(Some(count)),
            _ => Err(Problem::new(format!(
                "`{name}` is {count}, not a number of heads"
            ))),
        },
    }
}

/// How an input is made of heads: rank 4 has an axis of them, rank 3 packs `heads` into its last.
pub fn sizes(
    cx: &mut Infer<'_>,
    input: usize,
    heads: (&str, Option<usize>),
) -> Result<Sizes, Problem> {
    let tensor = floats(cx, input)?;
    match (tensor.shape.as_slice(), heads) {
        ([batch, heads, length, size], _) => Ok([batch, heads, length, size].map(Clone::clone)),
        ([batch, length, hidden], (_, Some(heads))) => {
            let size = unpacked(cx, hidden, heads, &tensor)?;
            Ok([batch.clone(), dim(heads), length.clone(), size])
        }
        ([_, _, _], (name, None)) => Err(Problem::new(format!(
            "input {input} is {tensor}, but attribute `{name}` is missing"
        ))
        .help("an input of rank 3 packs heads into its last axis; export how many they are")),
        _ => Err(Problem::new(format!(
            "input {input} is {tensor}, not of rank 3 or 4"
        ))),
    }
}

/// An operand with an axis of heads.
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

/// A size that is that of so many heads together, for each of them.
pub fn unpacked(
    cx: &mut Infer<'_>,
    hidden: &Dim,
    heads: usize,
    tensor: &TensorType,
) -> Result<Dim, Problem> {
    let heads = dim(heads);
    if let (Some(hidden), Some(heads)) = (hidden.number(), heads.number())
        && hidden.checked_rem(heads) != Some(0)
    {
        return Err(Problem::new(format!(
            "{heads} heads do not divide the last size of {tensor}"
        )));
    }
    let size = hidden.div(&heads);
    Ok(cx.dim_or_fresh(size, "head_size"))
}

/// A tensor of floats that are no narrower than 16 bits.
pub fn floats(cx: &Infer<'_>, input: usize) -> Result<TensorType, Problem> {
    let operand = cx.tensor(input)?;
    if operand.dtype.is_float() {
        Ok(operand)
    } else {
        Err(Problem::new(format!(
            "input {input} is {operand}, not of floats"
        )))
    }
}

/// Reports heads of keys that do not serve equally many heads of queries.
pub fn shared(queries: &Dim, keys: &Dim) -> Result<(), Problem> {
    match (queries.number(), keys.number()) {
        (Some(queries), Some(keys)) if queries.checked_rem(keys) != Some(0) => Err(Problem::new(
            format!("{queries} heads of queries cannot share {keys} heads of keys"),
        )),
        _ => Ok(()),
    }
}

/// A number as a size.
pub fn dim(number: usize) -> Dim {
    Dim::from(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

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
                3 heads do not divide the last size of float32[1, 4, 8]
                `q_num_heads` is 0, not a number of heads
                input 0 is float32[1, 4, 8], but attribute `q_num_heads` is missing
                3 heads of queries cannot share 2 heads of keys
                the size of a head is 4 in one input and 6 in another
                input 0 is float32[4, 8], not of rank 3 or 4
                input 0 is int32[1, 2, 4, 8], not of floats
            "#]],
        );
    }
}
