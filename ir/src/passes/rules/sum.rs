//! Sums of several operands.

use crate::passes::rewrite::{Rule, building};

pub const RULES: &[Rule] = &[building("sum of several operands", "Sum(x, y, ..)", |m| {
    let terms: Vec<_> = m.root().inputs.iter().flatten().copied().collect();
    let mut terms = terms.into_iter();
    let mut sum = terms.next().ok_or("")?;
    for term in terms {
        sum = m.call("Add", &[], &[Some(sum), Some(term)])?;
    }
    Ok(sum)
})
.law("Σ x = (x₁ + x₂) + .., from left to right; other rules match such sums")
.example(
    "(float[N, 1, 3] x, float[N, 1, 2] z) => (float[N, 1, 2] y) <float[1, 1, 2] w = {1, 2}> {
        c = Conv (x, w) y = Sum (c, z)
    }",
)];

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::shown;

    #[test]
    fn a_sum_of_several_operands_is_a_chain_of_additions() {
        expect![[r#"
            sum of several operands
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] c = Conv <window: {padding: Explicit}, groups: 1> (x, w)
              float32[N, 1, 2] y = Sum (c, z)
              =>
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] y = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1> (x, w, , z)
        "#]].assert_eq(&shown(super::RULES));
    }
}
