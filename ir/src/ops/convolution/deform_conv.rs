//! DeformConv: a convolution whose taps have offsets.

use std::rc::Rc;

use proc_macro2::Literal;

use super::window::filter::Filter;
use super::window::{Resolved, Window};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, counted};
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[row("DeformConv", &[19, 22], read).arity("rrroo", "r")];

#[derive(Debug)]
struct DeformConv {
    window: Window,
    groups: i64,
    /// Number of groups of channels with separate offsets.
    offset_groups: i64,
}

attributes!(struct DeformConv { window, groups, offset_groups });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let (groups, offset_groups) = (a.int_or("group", 1)?, a.int_or("offset_group", 1)?);
    for (name, count) in [("group", groups), ("offset_group", offset_groups)] {
        if count < 1 {
            return Err(Problem::expected(format_args!("`{name}`"), count, "a positive integer"));
        }
    }
    Ok(Rc::new(DeformConv { window: Window::read(a)?, groups, offset_groups }))
}

impl Operator for DeformConv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let [x, weight, offset] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
        let window = self.resolve(&x, &weight)?;
        let filter = Filter { x: &x, weight: &weight, groups: self.groups, transposed: false };
        filter.check(cx, &self.window, 3)?;
        let channels = x.shape.get(1).cloned().unwrap_or_default();
        sizes::multiple(("the input", &channels, "channels"), (self.offset_groups, "offset groups"))?;
        let positions = window.positions(x.shape.get(2..).unwrap_or_default());
        let mut taps = vec![("the offset", offset, i64::try_from(x.rank() - 2).ok())];
        if cx.has(4) {
            taps.push(("the mask", cx.tensor(4)?, Some(1)));
        }
        for (what, tensor, each) in taps {
            let count =
                window.kernel.iter().try_fold(self.offset_groups, |count, &size| count.checked_mul(size));
            let count = count.zip(each).and_then(|(count, each)| count.checked_mul(each));
            let channels = tensor.shape.get(1).and_then(Dim::number);
            let fits = channels.is_none_or(|channels| Some(channels) == count);
            if tensor.rank() != x.rank() || tensor.dtype != x.dtype || !fits {
                let (dtype, rank, count) = (x.dtype, x.rank(), count.unwrap_or(i64::MAX));
                let channels = counted(count, "channels");
                let expected = format!("type {dtype}, rank {rank} and {channels}");
                return Err(Problem::expected(what, tensor, expected));
            }
            let mut expected_shape: Vec<Dim> = tensor.shape.iter().take(2).cloned().collect();
            if let (Some(first), Some(batch)) = (expected_shape.first_mut(), x.shape.first()) {
                *first = batch.clone();
            }
            if let Some(positions) = &positions {
                expected_shape.extend(positions.iter().cloned());
                sizes::shaped(what, &tensor, &expected_shape)?;
            }
        }
        let mut shape: Vec<Dim> = x.shape.iter().take(1).cloned().collect();
        shape.extend(weight.shape.first().cloned());
        match positions {
            Some(positions) => shape.extend(positions),
            None => shape.extend((2..x.rank()).map(|_| cx.fresh("conv"))),
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (x, weight) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let window = self.resolve(&x, &weight)?;
        let window = window.emit(cx, x.shape.get(2..).unwrap_or_default());
        let (input, weight, offset) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let (bias, mask) = (cx.optional(3)?, cx.optional(4)?);
        let groups = Literal::i64_unsuffixed(self.groups);
        let offset_groups = Literal::i64_unsuffixed(self.offset_groups);
        Ok(code! {
            ops::deform_conv::deform_conv(
                #input,
                #weight,
                #bias,
                ops::deform_conv::Taps {
                    offset: #offset,
                    mask: #mask,
                    groups: #offset_groups,
                },
                #window,
                #groups,
            )
        })
    }
}

impl DeformConv {
    fn resolve(&self, x: &TensorType, weight: &TensorType) -> Result<Resolved, Problem> {
        if x.rank() < 3 || weight.rank() != x.rank() || !x.dtype.is_float() {
            return Err(Problem::new(format!(
                "the input is {x} and the weight is {weight}, expected floats of equal ranks of 3 or more"
            )));
        }
        let kernel = weight.shape.iter().skip(2).map(Dim::number).collect();
        self.window.resolve(x.rank() - 2, kernel)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn positions_are_those_of_a_convolution() {
        check(
            "g (float[n, 4, h, 9] x, float[6, 2, 3, 3] w, float[n, 36, h, 9] o, float[n, 18, h, 9] m) => (float[a, b, c, d] y) {
                y = DeformConv<group: int = 2, offset_group: int = 2, pads: ints = [1, 1, 1, 1]>(x, w, o, , m)
            }",
            expect![[r#"
                g (float32[n, 4, h, 9] x, float32[6, 2, 3, 3] w, float32[n, 36, h, 9] o, float32[n, 18, h, 9] m) => (float32[n, 6, h, 9] y)
                {
                    float32[n, 6, h, 9] y = DeformConv <window: {pads: [1, 1, 1, 1], padding: Explicit}, groups: 2, offset_groups: 2> (x, w, o, , m)
                }
            "#]],
        );
    }

    #[test]
    fn every_tap_has_an_offset_along_every_axis() {
        check(
            "g (float[1, 4, 5, 5] x, float[6, 4, 2, 2] w, float[1, 4, 4, 4] o) => (float[a, b, c, d] y) {
                y = DeformConv(x, w, o)
            }",
            expect![[r#"
                cannot compile `model`

                  the offset is float32[1, 4, 4, 4], expected type float32, rank 4 and 8 channels
                    at node `y` (DeformConv version 19)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn channels_and_sizes_of_the_offset_must_fit() {
        problems(
            &[
                r#"(float[1, 4, 5, 5] x, float[6, 3, 2, 2] w, float[1, 8, 4, 4] o) => (float[1, 6, 4, 4] y) { y = DeformConv (x, w, o) }"#,
                r#"(float[1, 4, 5, 5] x, float[6, 4, 2, 2] w, float[1, 24, 4, 4] o) => (float[1, 6, 4, 4] y) { y = DeformConv <offset_group = 3> (x, w, o) }"#,
                r#"(float[1, 4, 5, 5] x, float[6, 4, 2, 2] w, float[1, 8, 5, 4] o) => (float[1, 6, 4, 4] y) { y = DeformConv (x, w, o) }"#,
                r#"(float[1, 4, 5, 5] x, float[6, 4, 2, 2] w, float[2, 8, 4, 4] o) => (float[1, 6, 4, 4] y) { y = DeformConv (x, w, o) }"#,
                r#"(float[1, 4, 5, 5] x, float[6, 4, 2, 2] w, float[1, 8, 4, 4] o, float[5] b) => (float[1, 6, 4, 4] y) { y = DeformConv (x, w, o, b) }"#,
            ],
            expect![[r#"
                the weight has 3 input channels, but the input has 4 channels
                the input has 4 channels, expected a multiple of 3, the number of offset groups
                the offset is float32[1, 8, 5, 4], expected shape [1, 8, 4, 4]
                the offset is float32[2, 8, 4, 4], expected shape [1, 8, 4, 4]
                the bias has 5 elements, but the result has 6 channels
            "#]],
        );
    }
}
