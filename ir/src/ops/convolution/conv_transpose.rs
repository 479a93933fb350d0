//! Transposed convolution.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::window::filter::Filter;
use super::window::{Resolved, Window, list};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, counted};
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[row("ConvTranspose", &[1, 11, 22], read).arity("rro", "r")];

#[derive(Debug)]
pub struct ConvTranspose {
    window: Window,
    pub groups: i64,
    output_padding: Option<Vec<i64>>,
    /// Spatial sizes of the result, which determine the padding.
    output_shape: Option<Vec<i64>>,
}

attributes!(struct ConvTranspose { window, groups, output_padding, output_shape });

/// A window whose padding is known, or depends on sizes.
#[derive(Debug)]
enum Fit {
    Settled(Resolved, Vec<i64>),
    /// The padding depends on sizes. The last field contains the spatial sizes of the result.
    Open(Resolved, Vec<i64>, Vec<Dim>),
}

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(ConvTranspose {
        window: Window::read(a)?,
        groups: a.int_or("group", 1)?,
        output_padding: a.ints("output_padding")?,
        output_shape: a.ints("output_shape")?.filter(|sizes| !sizes.is_empty()),
    }))
}

impl Operator for ConvTranspose {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (cx.tensor(0)?, cx.tensor(1)?);
        let fit = self.fit(&x, &weight)?;
        let filter = Filter { x: &x, weight: &weight, groups: self.groups, transposed: true };
        filter.check(cx, &self.window, 2)?;
        let sizes = match fit {
            Fit::Settled(window, more) => spread(&x, &window, &more),
            Fit::Open(_, _, sizes) => sizes.into_iter().map(Some).collect(),
        };
        let groups = Dim::from(self.groups);
        let channels = weight.shape.get(1).and_then(|channels| channels.mul(&groups));
        let mut shape =
            vec![x.shape.first().cloned().unwrap_or_default(), cx.dim_or_fresh(channels, "channels")];
        for size in sizes {
            if let Some(size @ ..0) = size.as_ref().and_then(Dim::number) {
                let message =
                    format!("the padding reduces a size of the result to {size}, expected at least 1");
                return Err(Problem::new(message).help("export the model with smaller `pads`"));
            }
            shape.push(cx.dim_or_fresh(size, "conv"));
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, weight) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let input = cx.tensor(0)?;
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        let function = format_ident!("conv_transpose{}d", spatial.len());
        let groups = Literal::i64_unsuffixed(self.groups);
        let (window, more, sizes) = match self.fit(&x, &weight)? {
            Fit::Settled(window, more) => (window, more, None),
            Fit::Open(window, more, sizes) => (window, more, Some(sizes)),
        };
        let fits = sizes.is_some() || window.always_spreads(&spatial, &more);
        if !fits || x.shape.get(1) != weight.shape.first() {
            cx.may_fail();
        }
        let (odd, more) = (self.odd(&window), list(&more));
        let settled = window.with_pads(window.pads.clone()).emit(cx, &spatial);
        let Some(sizes) = sizes else {
            if let Some(layer) = self.layer(cx, spatial.len(), &settled, &more)? {
                return Ok(code!(#layer.forward(#input)));
            }
            let (weight, bias) = (cx.tensor(1)?, cx.optional(2)?);
            return Ok(code! {
                ops::conv_transpose::#function(#input, #weight, #bias, #settled, #more, #groups)
            });
        };
        let (weight, bias) = (cx.tensor(1)?, cx.optional(2)?);
        let (from, to) = (cx.shape(&spatial), cx.shape(&sizes));
        Ok(code!({
            let (window, output_padding) =
                ops::conv_transpose::fit_output(#settled, #more, #from, #to, #odd);
            ops::conv_transpose::#function(#input, #weight, #bias, window, output_padding, #groups)
        }))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl ConvTranspose {
    fn fit(&self, x: &TensorType, weight: &TensorType) -> Result<Fit, Problem> {
        if !(3..=5).contains(&x.rank()) || weight.rank() != x.rank() {
            return Err(Problem::new(format!(
                "the input is {x} and the weight is {weight}, expected equal ranks from 3 to 5"
            )));
        }
        let axes = x.rank() - 2;
        let kernel: Option<Vec<i64>> = weight.shape.iter().skip(2).map(Dim::number).collect();
        let window = self.window.resolve(axes, kernel)?;
        let more = self.output_padding.clone().unwrap_or_else(|| vec![0; axes]);
        if more.len() != axes || more.iter().any(|&size| !(0..1 << 31).contains(&size)) {
            let (found, expected) = (format!("{more:?}"), counted(axes, "non-negative 32-bit integers"));
            return Err(Problem::expected("`output_padding`", found, expected));
        }
        let spatial = x.shape.get(2..).unwrap_or_default();
        let sizes: Vec<Dim> = match &self.output_shape {
            // Some exporters also write the batch and the channels.
            Some(sizes) if sizes.len() == axes || sizes.len() == axes + 2 => {
                let skipped = sizes.len() - axes;
                sizes.iter().skip(skipped).map(|&size| Dim::from(size)).collect()
            }
            Some(sizes) => {
                let (found, expected) = (format!("{sizes:?}"), counted(axes, "sizes"));
                return Err(Problem::expected("`output_shape`", found, expected));
            }
            None if window.keeps_sizes() => {
                let strides = window.strides.iter().map(|&stride| Dim::from(stride));
                let sizes = spatial.iter().zip(strides);
                let sizes: Option<Vec<Dim>> = sizes.map(|(size, stride)| size.mul(&stride)).collect();
                sizes.ok_or_else(|| Problem::new("the sizes of the result are too large"))?
            }
            None => return Ok(Fit::Settled(window, more)),
        };
        Ok(match self.settle(&window, &more, spatial, &sizes) {
            Some((window, more)) => Fit::Settled(window, more),
            None => Fit::Open(window, more, sizes),
        })
    }

    /// Returns the padding for known sizes, as the kernels' `fit_output` computes it.
    fn settle(
        &self,
        window: &Resolved,
        more: &[i64],
        from: &[Dim],
        to: &[Dim],
    ) -> Option<(Resolved, Vec<i64>)> {
        let (mut pads, mut longer) = (Vec::new(), Vec::new());
        for (axis, &more) in more.iter().enumerate() {
            let reach = reach(window, axis)?;
            let steps = from.get(axis)?.number()?.checked_sub(1)?;
            let spread = steps.checked_mul(*window.strides.get(axis)?)?;
            let natural = spread.checked_add(reach)?.checked_add(more)?;
            let wanted = to.get(axis)?.number()?;
            let total = natural.checked_sub(wanted)?.max(0);
            let (less, rest) = (total / 2, total - total / 2);
            pads.push(if window.is_upper() { (less, rest) } else { (rest, less) });
            longer.push(more.checked_add(wanted.checked_sub(natural)?.max(0))?);
        }
        Some((window.with_pads(pads), longer))
    }

    fn odd(&self, window: &Resolved) -> Code {
        if window.is_upper() {
            code!(ops::conv_transpose::Odd::End)
        } else {
            code!(ops::conv_transpose::Odd::Begin)
        }
    }

    /// Returns the field that contains the weights, if they are weights of the model.
    fn layer(
        &self,
        cx: &mut Emit<'_, '_>,
        axes: usize,
        window: &Code,
        more: &Code,
    ) -> Result<Option<Code>, Problem> {
        let groups = Literal::i64_unsuffixed(self.groups);
        let name = format_ident!("ConvTranspose{axes}d");
        let rest = code!(#window, #more, #groups);
        cx.stored_layer(code!(layers::#name), [1, 2], rest, None)
    }
}

/// Returns the extent of a kernel along an axis, including dilation.
fn reach(window: &Resolved, axis: usize) -> Option<i64> {
    let kernel = window.kernel.get(axis)?.checked_sub(1)?;
    kernel.checked_mul(*window.dilations.get(axis)?)?.checked_add(1)
}

/// Returns the spatial sizes of the result.
fn spread(x: &TensorType, window: &Resolved, more: &[i64]) -> Vec<Option<Dim>> {
    let size = |(axis, size): (usize, &Dim)| {
        let steps = size.sub(&Dim::from(1))?.mul(&Dim::from(*window.strides.get(axis)?))?;
        let (begin, end) = *window.pads.get(axis)?;
        let rest = reach(window, axis)?.checked_add(*more.get(axis)?)?;
        steps.add(&Dim::from(rest.checked_sub(begin)?.checked_sub(end)?))
    };
    x.shape.iter().skip(2).enumerate().map(size).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, named, problems};

    #[test]
    fn sizes_follow_from_strides_padding_and_output_padding() {
        check(
            r#"g (float[n, 4, h, 5] x, float[4, 3, 3, 2] w) => (float[a, b, c, d] y, float[a, b, c, d] z) {
                y = ConvTranspose <group = 2, strides = [2, 3], pads = [1, 0, 0, 1], output_padding = [1, 0]> (x, w)
                z = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 3]> (x, w)
            }"#,
            expect![[r#"
                g (float32[n, 4, h, 5] x, float32[4, 3, 3, 2] w) => (float32[n, 6, 2*h + 1, 13] y, float32[n, 3, 2*h, 15] z)
                {
                    float32[n, 6, 2*h + 1, 13] y = ConvTranspose <window: {strides: [2, 3], pads: [1, 0, 0, 1], padding: Explicit}, groups: 2, output_padding: [1, 0]> (x, w)
                    float32[n, 3, 2*h, 15] z = ConvTranspose <window: {strides: [2, 3], padding: SameUpper}, groups: 1> (x, w)
                }
            "#]],
        );
    }

    #[test]
    fn a_padding_is_no_larger_than_the_result() {
        problems(
            &[
                "(float[1, 1, 1] x, float[1, 1, 2] w) => (float[1, 1, n] y) { y = ConvTranspose <pads = [1, 2]> (x, w) }",
                "(float[1, 1, 1] x, float[1, 1, 2] w) => (float[1, 1, n] y) { y = ConvTranspose <pads = [1, 1]> (x, w) }",
            ],
            expect![[r#"
                the padding reduces a size of the result to -1, expected at least 1
                fine
            "#]],
        );
    }

    #[test]
    fn a_padding_that_may_be_too_large_has_a_name() {
        named(
            &[
                "(float[1, 1, n] x, float[1, 1, 2] w) => (float[1, 1, m] y) { y = ConvTranspose <pads = [1, 2]> (x, w) }",
                "(float[1, 1, n] x, float[1, 1, 2] w) => (float[1, 1, m] y) { y = ConvTranspose <pads = [1, 1]> (x, w) }",
                "(float[1, c, n] x, float[1, 1, 2] w) => (float[1, 1, m] y) { y = ConvTranspose (x, w) }",
            ],
            expect![[r#"
                "y" , "ConvTranspose"
                none
                "y" , "ConvTranspose"
            "#]],
        );
    }

    #[test]
    fn channels_kernels_and_biases_must_fit() {
        problems(
            &[
                r#"(float[1, 4, 9, 9] x, float[3, 6, 2, 2] w) => (float[1, 6, 10, 10] y) { y = ConvTranspose (x, w) }"#,
                r#"(float[1, 4, 9, 9] x, float[4, 6, 2, 2] w) => (float[1, 6, 10, 10] y) { y = ConvTranspose <group = 3> (x, w) }"#,
                r#"(float[1, 4, 9, 9] x, float[4, 6, 2, 2] w, float[6] b) => (float[1, 12, 10, 10] y) { y = ConvTranspose <group = 2> (x, w, b) }"#,
                r#"(float[1, 4, 9, 9] x, float[4, 6, 2, 2] w) => (float[1, 6, 10, 10] y) { y = ConvTranspose <kernel_shape = [3, 3]> (x, w) }"#,
            ],
            expect![[r#"
                the weight has 3 input channels, but the input has 4 channels
                the input has 4 channels, expected a multiple of 3, the number of groups
                the bias has 6 elements, but the result has 12 channels
                `kernel_shape` is 3 along spatial axis 0, expected 2 as in the weight
            "#]],
        );
    }
}
