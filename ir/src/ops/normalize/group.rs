//! InstanceNormalization, GroupNormalization and LRN.

use std::rc::Rc;

use super::{check_floats, floats, integer, number};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("InstanceNormalization", &[1, 6, 22], instance).follows().arity("rrr", "r"),
    row("GroupNormalization", &[18, 21], group).newer(&[("stash_type", 21)]).follows().arity("rrr", "r"),
    row("LRN", &[1, 13], neighbors),
];

/// Normalization of each channel, or of groups of adjacent channels.
#[derive(Debug)]
pub struct Groups {
    pub count: Option<usize>,
    pub epsilon: f32,
    /// Whether scale and bias may have one element for each group, as before opset 21.
    by_group: bool,
}

attributes!(struct Groups { count, epsilon, by_group });

/// Normalization of each element by the elements at its position in neighboring channels.
#[derive(Debug)]
struct Neighbors {
    size: usize,
    alpha: f32,
    beta: f32,
    bias: f32,
}

attributes!(struct Neighbors { size, alpha, beta, bias });

pub fn instance(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 6 {
        a.ignore(&["consumed_inputs"]);
    }
    Ok(Rc::new(Groups { count: None, epsilon: a.float_or("epsilon", 1e-5)?, by_group: false }))
}

pub fn group(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    // Statistics always use 32 bits or more.
    a.ignore(&["stash_type"]);
    Ok(Rc::new(Groups {
        count: Some(a.positive("num_groups")?),
        epsilon: a.float_or("epsilon", 1e-5)?,
        by_group: a.version() < 21,
    }))
}

pub fn neighbors(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Neighbors {
        size: a.positive("size")?,
        alpha: a.float_or("alpha", 0.0001)?,
        beta: a.float_or("beta", 0.75)?,
        bias: a.float_or("bias", 1.0)?,
    }))
}

impl Operator for Groups {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = floats(cx, 2)?;
        let channels = x.shape.get(1).and_then(Dim::fixed);
        let count = self.count.and_then(|count| i64::try_from(count).ok());
        if let (Some(size), Some(count)) = (x.shape.get(1), count) {
            sizes::multiple(("the input", size, "channels"), (count, "groups"))?;
        }
        for (input, what) in [(1, "the scale"), (2, "the bias")] {
            let factor = cx.tensor_of_rank(input, 1)?;
            let length = factor.shape.first().and_then(Dim::fixed);
            let fits = |length| channels.is_none_or(|channels| length == channels);
            let of_group = |length| self.by_group && Some(length) == self.count;
            let fits = length.is_none_or(|length| fits(length) || of_group(length));
            check_floats(what, &factor)?;
            if !fits {
                let things = if self.by_group { "channel or group" } else { "channel" };
                let expected = format_args!("one element for each {things} of {x}");
                return Err(Problem::expected(what, factor, expected));
            }
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let epsilon = number(self.epsilon);
        let count = self.count.map(integer);
        if let (Some(count), true) = (&count, self.by_group) {
            let (x, scale, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
            return Ok(code!(ops::normalize::group_norm_by_group(#x, #scale, #bias, #count, #epsilon)));
        }
        if let (Some(scale), Some(bias)) = (cx.weight(1), cx.weight(2)) {
            let (hint, x) = (cx.layer_hint(1), cx.tensor(0)?);
            let (ty, load) = match count {
                Some(count) => (
                    code!(layers::GroupNorm),
                    code!(layers::GroupNorm::load(weights, #scale, #bias, #count, #epsilon)),
                ),
                None => (
                    code!(layers::InstanceNorm),
                    code!(layers::InstanceNorm::load(weights, #scale, #bias, #epsilon)),
                ),
            };
            let layer = cx.layer_of(&hint, ty, load, &[("scale", 1), ("bias", 2)]);
            return Ok(code!(#layer.forward(#x)));
        }
        let (x, scale, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        Ok(match count {
            Some(count) => code!(ops::normalize::group_norm(#x, #scale, #bias, #count, #epsilon)),
            None => code!(ops::normalize::instance_norm(#x, #scale, #bias, #epsilon)),
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl Operator for Neighbors {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let TensorType { dtype, shape } = floats(cx, 2)?;
        cx.output(0, dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, size) = (cx.tensor(0)?, integer(self.size));
        let [alpha, beta, bias] = [self.alpha, self.beta, self.bias].map(number);
        Ok(code!(ops::normalize::lrn(#x, #size, #alpha, #beta, #bias)))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn groups_divide_the_channels() {
        problems(
            &[
                r#"(float[n, 6, 4] x, float[6] s) => (float[n, 6, 4] y) { y = GroupNormalization <num_groups = 3> (x, s, s) }"#,
                r#"(float[n, 6, 4] x, float[6] s) => (float[n, 6, 4] y) { y = GroupNormalization <num_groups = 4> (x, s, s) }"#,
                r#"(float[n, 6, 4] x, float[6] s) => (float[n, 6, 4] y) { y = GroupNormalization <num_groups = 0> (x, s, s) }"#,
                r#"(float[n, 6, 4] x, float[5] s) => (float[n, 6, 4] y) { y = GroupNormalization <num_groups = 3> (x, s, s) }"#,
                r#"(float[n, 6, 4] x, float[3] s) => (float[n, 6, 4] y) { y = GroupNormalization <num_groups = 3> (x, s, s) }"#,
                r#"(float[n, 6, 4] x, float[6, 1] s) => (float[n, 6, 4] y) { y = GroupNormalization <num_groups = 3> (x, s, s) }"#,
                r#"(float[n, 6, 4] x, float[5] s) => (float[n, 6, 4] y) { y = InstanceNormalization (x, s, s) }"#,
                r#"(float[n, 6, 4] x) => (float[n, 6, 4] y) { y = LRN <size = 0> (x) }"#,
                r#"(float[n, 6, 4] x) => (float[n, 6, 4] y) { y = LRN (x) }"#,
                r#"(int32[n, 6, 4] x) => (int32[n, 6, 4] y) { y = LRN <size = 3> (x) }"#,
            ],
            expect![[r#"
                fine
                the input has 6 channels, expected a multiple of 4, the number of groups
                `num_groups` is 0, expected a positive integer
                the scale is float32[5], expected one element for each channel of float32[n, 6, 4]
                the scale is float32[3], expected one element for each channel of float32[n, 6, 4]
                input 1 is float32[6, 1], expected rank 1
                the scale is float32[5], expected one element for each channel of float32[n, 6, 4]
                `size` is 0, expected a positive integer
                attribute `size` is missing
                the input is int32[n, 6, 4], expected floats of rank 2 or more
            "#]],
        );
    }
}
