//! Convolution kernels, whose sizes must match the input.

use super::Window;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::ElementClass;
use crate::infer::Infer;
use crate::ops::sizes;
use crate::types::TensorType;

/// Operands of a convolution, with channels as the second axis.
#[derive(Debug)]
pub struct Filter<'a> {
    pub x: &'a TensorType,
    pub weight: &'a TensorType,
    pub groups: i64,
    /// Whether the first axis of the weight is the input channels and the second the output channels.
    pub transposed: bool,
}

impl Filter<'_> {
    /// Reports operands of different types, channels, groups and a `kernel_shape` that contradict each other, and a bias, input `bias` if any, that
    /// does not have one element for each output channel.
    pub fn check(&self, cx: &Infer<'_>, window: &Window, bias: usize) -> Result<(), Problem> {
        if self.groups < 1 {
            return Err(Problem::expected("`group`", self.groups, "a positive integer"));
        }
        // Integers may be of two types.
        if self.x.dtype.kind() == ElementClass::Float {
            sizes::same_type(("the input", self.x), ("the weight", self.weight))?;
            if cx.has(bias) {
                sizes::same_type(("the input", self.x), ("the bias", &cx.tensor(bias)?))?;
            }
        }
        let groups = Dim::from(self.groups);
        let size = |tensor: &TensorType, axis: usize| tensor.shape.get(axis).cloned().unwrap_or_default();
        let channels = size(self.x, 1);
        let (first, second) = (size(self.weight, 0), size(self.weight, 1));
        let all = second.mul(&groups);
        let result = if self.transposed {
            sizes::equal(("the weight", &first, "input channels"), ("the input", &channels, "channels"))?;
            sizes::multiple(("the input", &channels, "channels"), (self.groups, "groups"))?;
            all
        } else {
            if let Some(all) = &all {
                let whose = match self.groups {
                    1 => "the weight".to_owned(),
                    groups => format!("the weight for {groups} groups"),
                };
                sizes::equal((&whose, all, "input channels"), ("the input", &channels, "channels"))?;
            }
            sizes::multiple(("the weight", &first, "output channels"), (self.groups, "groups"))?;
            Some(first)
        };
        if let (true, Some(result)) = (cx.has(bias), &result) {
            let length = size(&cx.tensor_of_rank(bias, 1)?, 0);
            sizes::equal(("the bias", &length, "elements"), ("the result", result, "channels"))?;
        }
        let spatial = self.weight.shape.iter().skip(2);
        let attribute = window.kernel.iter().flatten().map(|&size| Dim::from(size));
        for (axis, (named, size)) in attribute.zip(spatial).enumerate() {
            if sizes::differ(&named, size) {
                return Err(Problem::new(format!(
                    "`kernel_shape` is {named} along spatial axis {axis}, expected {size} as in the weight"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn weights_fit_the_channels() {
        problems(
            &[
                r#"(float[1, 4, 9] x, float[6, 4, 2] w) => (float[a, b, c] y) { y = Conv <group = 0> (x, w) }"#,
                r#"(float[1, 4, 9] x, float[6, 2, 2] w) => (float[a, b, c] y) { y = Conv <group = 2> (x, w) }"#,
                r#"(float[1, 4, 9] x, float[5, 2, 2] w) => (float[a, b, c] y) { y = Conv <group = 2> (x, w) }"#,
                r#"(float[1, 4, 9] x, float[6, 3, 2] w) => (float[a, b, c] y) { y = Conv (x, w) }"#,
                r#"(float[1, 4, 9] x, float[6, 4, 2] w, float[1, 6] b) => (float[a, b, c] y) { y = Conv (x, w, b) }"#,
                r#"(float[1, c, 9] x, float[6, 4, 2] w, float[n] b) => (float[a, b, c] y) { y = Conv (x, w, b) }"#,
                r#"(float[1, 4, 9] x, int32[6, 4, 2] w) => (float[a, b, c] y) { y = Conv (x, w) }"#,
                r#"(float[1, 4, 9] x, float[4, 6, 2] w, double[6] b) => (float[a, b, c] y) { y = ConvTranspose (x, w, b) }"#,
            ],
            expect![[r#"
                `group` is 0, expected a positive integer
                fine
                the weight has 5 output channels, expected a multiple of 2, the number of groups
                the weight has 3 input channels, but the input has 4 channels
                input 2 is float32[1, 6], expected rank 1
                fine
                the input has type float32, but the weight has type int32
                the input has type float32, but the bias has type float64
            "#]],
        );
    }
}
