//! GroupNorm and SkipGroupNorm of com.microsoft.

use std::rc::Rc;

use super::{check_floats, integer, number};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("GroupNorm", &[1], |a| read(a, false)).follows().arity("rrr", "r").of(MICROSOFT),
    row("SkipGroupNorm", &[1], |a| read(a, true)).follows().arity("rrrro", "ro").of(MICROSOFT),
];

/// Normalization of groups of channels of images, or of their sum with a skip connection and a bias.
#[derive(Debug)]
struct ImageGroups {
    groups: usize,
    epsilon: f32,
    /// Whether images are `[N, H, W, C]` instead of `[N, C, H, W]`.
    channels_last: bool,
    /// Whether Silu is applied to the result.
    silu: bool,
    skips: bool,
}

attributes!(struct ImageGroups { groups, epsilon, channels_last, silu, skips });

fn read(a: &Attributes<'_>, skips: bool) -> Result<Rc<dyn Operator>, Problem> {
    let activation = a.required("activation", Attributes::int)?;
    let silu = match activation {
        0 => false,
        1 => true,
        _ => return Err(Problem::expected("`activation`", activation, "0 or 1, which is Silu")),
    };
    Ok(Rc::new(ImageGroups {
        groups: a.positive("groups")?,
        epsilon: a.float_or("epsilon", 1e-5)?,
        channels_last: a.flag("channels_last", true)?,
        silu,
        skips,
    }))
}

impl ImageGroups {
    fn channels<'a>(&self, x: &'a TensorType) -> Option<&'a Dim> {
        x.shape.get(if self.channels_last { 3 } else { 1 })
    }

    /// Reports a skip connection that has neither the shape of the input nor that of its channels.
    fn check_skip(&self, skip: &TensorType, x: &TensorType) -> Result<(), Problem> {
        let spatial = if self.channels_last { 1..3 } else { 2..4 };
        let of_channels = |axis: usize, size: &Dim| match spatial.contains(&axis) {
            true => Dim::from(1),
            false => size.clone(),
        };
        let pooled: Vec<Dim> =
            x.shape.iter().enumerate().map(|(axis, size)| of_channels(axis, size)).collect();
        let channels: Vec<Dim> = x.shape.first().into_iter().chain(self.channels(x)).cloned().collect();
        let shapes = [&x.shape, &pooled, &channels];
        if shapes.into_iter().any(|shape| sizes::shaped("", skip, shape).is_ok()) {
            return Ok(());
        }
        let [whole, pooled, channels] = shapes.map(|shape| sizes::Sizes(shape).to_string());
        Err(Problem::expected("`skip`", skip, format_args!("shape {whole}, {pooled} or {channels}")))
    }
}

impl Operator for ImageGroups {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 4)?;
        let channels = self.channels(&x).cloned().unwrap_or_default();
        let count = i64::try_from(self.groups).unwrap_or(i64::MAX);
        sizes::multiple(("the input", &channels, "channels"), (count, "groups"))?;
        for (input, what) in [(1, "the scale"), (2, "the shift"), (4, "the bias")] {
            if cx.has(input) {
                let factor = cx.tensor(input)?;
                check_floats(what, &factor)?;
                sizes::shaped(what, &factor, std::slice::from_ref(&channels))?;
            }
        }
        if self.skips {
            self.check_skip(&cx.tensor(3)?, &x)?;
            cx.output(1, x.dtype, x.shape.clone());
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let x = cx.tensor_type(0)?;
        if self.channels(x).is_none_or(|size| size.number().is_none()) {
            cx.may_fail();
        }
        let (groups, epsilon) = (integer(self.groups), number(self.epsilon));
        let (channels_last, silu) = (self.channels_last, self.silu);
        let options = code! {
            ops::normalize::ImageGroups {
                groups: #groups, epsilon: #epsilon, channels_last: #channels_last, silu: #silu
            }
        };
        let (x, scale, shift) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        if !self.skips {
            return Ok(code!(ops::normalize::image_group_norm(#x, #scale, #shift, #options)));
        }
        let (skip, bias) = (cx.tensor(3)?, cx.optional(4)?);
        let both = code!(ops::normalize::skip_image_group_norm(#x, #scale, #shift, #skip, #bias, #options));
        Ok(match cx.outputs() {
            1 => code!(#both.0),
            _ if !cx.wants(1) => code!((#both.0, ())),
            _ => both,
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        if self.skips { None } else { rows.batch() }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn groups_divide_the_channels_of_images() {
        problems(
            &[
                r#"(float[n, 5, 5, 6] x, float[6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 3, activation = 1> (x, s, s) }"#,
                r#"(float[n, 6, 5, 5] x, float[6] s) => (float[n, 6, 5, 5] y) { y = com.microsoft.GroupNorm <groups = 3, activation = 0, channels_last = 0> (x, s, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 4, activation = 1> (x, s, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 3, activation = 2> (x, s, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 3> (x, s, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 0, activation = 1> (x, s, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[5] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 3, activation = 1> (x, s, s) }"#,
                r#"(float[n, 5, 6] x, float[6] s) => (float[n, 5, 6] y) { y = com.microsoft.GroupNorm <groups = 3, activation = 1> (x, s, s) }"#,
            ],
            expect![[r#"
                fine
                fine
                the input has 6 channels, expected a multiple of 4, the number of groups
                `activation` is 2, expected 0 or 1, which is Silu
                attribute `activation` is missing
                `groups` is 0, expected a positive integer
                the scale is float32[5], expected shape [6]
                input 0 is float32[n, 5, 6], expected rank 4
            "#]],
        );
    }

    #[test]
    fn skip_connections_have_the_shape_of_the_input_or_its_channels() {
        problems(
            &[
                r#"(float[n, 5, 5, 6] x, float[6] g, float[n, 5, 5, 6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.SkipGroupNorm <groups = 3, activation = 1> (x, g, g, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] g, float[n, 1, 1, 6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.SkipGroupNorm <groups = 3, activation = 1> (x, g, g, s) }"#,
                r#"(float[n, 6, 5, 5] x, float[6] g, float[n, 6] s) => (float[n, 6, 5, 5] y) { y = com.microsoft.SkipGroupNorm <groups = 3, activation = 1, channels_last = 0> (x, g, g, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] g, float[n, 5, 1, 6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.SkipGroupNorm <groups = 3, activation = 1> (x, g, g, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] g, float[6] s) => (float[n, 5, 5, 6] y) { y = com.microsoft.SkipGroupNorm <groups = 3, activation = 1> (x, g, g, s) }"#,
                r#"(float[n, 5, 5, 6] x, float[6] g, float[n, 6] s, float[5] b) => (float[n, 5, 5, 6] y) { y = com.microsoft.SkipGroupNorm <groups = 3, activation = 1> (x, g, g, s, b) }"#,
            ],
            expect![[r#"
                fine
                fine
                fine
                `skip` is float32[n, 5, 1, 6], expected shape [n, 5, 5, 6], [n, 1, 1, 6] or [n, 6]
                `skip` is float32[6], expected shape [n, 5, 5, 6], [n, 1, 1, 6] or [n, 6]
                the bias is float32[5], expected shape [6]
            "#]],
        );
    }
}
