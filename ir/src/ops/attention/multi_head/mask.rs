//! Masks and biases of the scores.

use crate::attributes::any_of;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::sizes;
use crate::types::TensorType;

/// Checks a mask of integers and a bias of rank 4.
pub fn additions(cx: &Infer<'_>, mask: usize, bias: usize) -> Result<(), Problem> {
    if cx.has(mask) {
        let operand = cx.tensor(mask)?;
        if !operand.dtype.is_int() || !(1..=4).contains(&operand.rank()) {
            return Err(Problem::expected("the mask", operand, "integers of rank 1 to 4"));
        }
    }
    if cx.has(bias) {
        cx.tensor_of_rank(bias, 4)?;
    }
    Ok(())
}

/// Returns `true` if a mask and a bias fit the scores in every run.
pub fn additions_fit(
    cx: &Emit<'_, '_>,
    mask: usize,
    bias: usize,
    scores: [&Dim; 4],
) -> Result<bool, Problem> {
    let broadcasts = |tensor: &TensorType, to: &[&Dim]| {
        let mut pairs = tensor.shape.iter().rev().zip(to.iter().rev());
        tensor.rank() <= to.len() && pairs.all(|(own, size)| own.is(1) || own == *size)
    };
    let [batch, _, queries, keys] = scores;
    let mut fits = true;
    if cx.has(mask) {
        let mask = cx.tensor_type(mask)?;
        fits &= match mask.rank() {
            1 => mask.shape.first() == Some(batch),
            2 => broadcasts(mask, &[batch, keys]),
            3 => broadcasts(mask, &[batch, queries, keys]),
            _ => false,
        };
    }
    if cx.has(bias) {
        fits &= broadcasts(cx.tensor_type(bias)?, &scores);
    }
    Ok(fits)
}

/// Reports a mask whose sizes are known to be invalid for its rank.
pub fn check_mask(cx: &Infer<'_>, input: usize, [batch, queries, keys]: [&Dim; 3]) -> Result<(), Problem> {
    if !cx.has(input) {
        return Ok(());
    }
    let mask = cx.tensor(input)?;
    match (mask.shape.as_slice(), batch.number()) {
        ([length], Some(count)) => {
            let ends =
                [Some(count), count.checked_mul(2), count.checked_mul(3).and_then(|all| all.checked_add(2))];
            if length.number().is_none_or(|length| ends.contains(&Some(length))) {
                return Ok(());
            }
            let lengths: Vec<String> = ends.iter().flatten().map(i64::to_string).collect();
            let expected = format!("a length of {} for batch size {count}", any_of(&lengths));
            Err(Problem::expected("the mask", mask, expected))
        }
        ([_, _], _) => sizes::broadcasts("the mask", &mask, &[batch, keys].map(Clone::clone)),
        ([_, _, _], _) => sizes::broadcasts("the mask", &mask, &[batch, queries, keys].map(Clone::clone)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn a_mask_is_for_the_keys_of_each_query() {
        problems(
            &[
                r#"(float[2, 5, 8] q, int32[3] m) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, , m) }"#,
                r#"(float[2, 5, 8] q, int32[8] m) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, , m) }"#,
                r#"(float[2, 5, 8] q, int32[2, 6] m) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, , m) }"#,
                r#"(float[2, 5, 8] q, int32[2, 4, 5] m) => (float[2, 5, 8] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, , m) }"#,
                r#"(float[2, 5, 6] x, float[6, 12] w, int32[2, 4] m) => (float[2, 5, 4] y) { y = com.microsoft.Attention <num_heads = 2> (x, w, , m) }"#,
            ],
            expect![[r#"
                the mask is int32[3], expected a length of 2, 4 or 8 for batch size 2
                fine
                the mask is int32[2, 6], expected a shape that broadcasts to [2, 5]
                the mask is int32[2, 4, 5], expected a shape that broadcasts to [2, 5, 5]
                the mask is int32[2, 4], expected a shape that broadcasts to [2, 5]
            "#]],
        );
    }
}
