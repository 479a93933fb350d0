//! Convolution.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::window::filter::Filter;
use super::window::{Resolved, Window};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::elementwise::activation::Fused;
use crate::ops::quantize::integer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub const ROWS: &[Row] = &[
    row("Conv", &[1, 11, 22], |a| Ok(Rc::new(conv(a)?))).half().arity("rro", "r"),
    row("FusedConv", &[1], |a| Ok(Rc::new(Conv { activation: Fused::of_conv(a)?, ..conv(a)? })))
        .half()
        .arity("rroo", "r")
        .of(MICROSOFT),
    row("NhwcConv", &[1], |a| Ok(Rc::new(ChannelsLast(conv(a)?)))).half().arity("rro", "r").of(MICROSOFT),
    row("NhwcFusedConv", &[1], |a| {
        Ok(Rc::new(ChannelsLast(Conv { activation: Fused::of_conv(a)?, ..conv(a)? })))
    })
    .half()
    .arity("rroo", "r")
    .of(MICROSOFT),
];

/// A convolution. Input 3, if any, is added before the activation.
#[derive(Clone, Debug)]
pub struct Conv {
    window: Window,
    groups: i64,
    activation: Option<Fused>,
}

attributes!(struct Conv { window, groups, activation });

/// A convolution of an input `[N, H, W, C]`.
#[derive(Debug)]
struct ChannelsLast(Conv);

attributes!(struct ChannelsLast(inner));

fn conv(a: &Attributes<'_>) -> Result<Conv, Problem> {
    Ok(Conv { window: Window::read(a)?, groups: a.int_or("group", 1)?, activation: None })
}

impl Operator for Conv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (cx.tensor(0)?, cx.tensor(1)?);
        let shape = self.shape(cx, &x, &weight)?;
        if cx.has(3) {
            sizes::shaped("the addend", &cx.tensor(3)?, &shape)?;
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        self.convolved(cx)
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let is_filter_whole = rows.is_whole(1) && rows.is_whole(2);
        let has_addend = rows.axis(3) == Some(0) || rows.tensor(3).is_none();
        (rows.axis(0) == Some(0) && is_filter_whole && has_addend).then(|| vec![0])
    }
}

impl Operator for ChannelsLast {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (channels_second(cx.tensor(0)?), cx.tensor(1)?);
        let weight = if self.0.keeps_channels_last(&x, &weight) { channels_second(weight) } else { weight };
        let mut shape = self.0.shape(cx, &x, &weight)?;
        if let Some(inner) = shape.get_mut(1..) {
            inner.rotate_left(1);
        }
        if cx.has(3) {
            sizes::shaped("the addend", &cx.tensor(3)?, &shape)?;
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, weight) = (channels_second(cx.tensor_type(0)?.clone()), cx.tensor_type(1)?.clone());
        let channels_last = self.0.keeps_channels_last(&x, &weight);
        let weight = if channels_last { channels_second(weight) } else { weight };
        let window = self.0.resolve(&x, &weight)?;
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        if !window.always_fits(&spatial) || !self.0.has_channels(&x, &weight) {
            cx.may_fail();
        }
        let window = window.emit(cx, &spatial);
        let groups = Literal::i64_unsuffixed(self.0.groups);
        let function = format_ident!("conv{}d", spatial.len());
        let last = Literal::usize_unsuffixed(x.rank().saturating_sub(1));
        let (input, weight, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
        let weight = if channels_last { code!(#weight.movedim(#last, 1)) } else { weight };
        let input = code!(#input.movedim(#last, 1));
        let mut result = code! {
            ops::conv::#function(#input, #weight, #bias, #window, #groups).movedim(1, #last)
        };
        if cx.has(3) {
            let more = cx.tensor(3)?;
            result = code!(#result.add(#more));
        }
        Ok(Fused::after(self.0.activation.as_ref(), result, x.dtype))
    }
}

/// Moves the last axis after the first.
pub fn channels_second(x: TensorType) -> TensorType {
    let mut shape = x.shape;
    if let Some(inner) = shape.get_mut(1..) {
        inner.rotate_right(1);
    }
    TensorType { shape, ..x }
}

impl Conv {
    /// Returns `true` if the convolution has no activation.
    pub fn is_plain(&self) -> bool {
        self.activation.is_none()
    }

    /// Appends an activation, unless there is one.
    pub fn followed_by(&self, activation: Fused) -> Option<Self> {
        self.activation.is_none().then(|| Conv { activation: Some(activation), ..self.clone() })
    }

    /// Adds zeros before and after each axis.
    pub fn padded(&self, more: &[(i64, i64)]) -> Option<Self> {
        let window = self.window.padded(more)?;
        Some(Conv { window, ..self.clone() })
    }

    /// Returns the convolution of integers, unless there is an activation.
    pub fn of_integers(&self) -> Option<Rc<dyn Operator>> {
        let operator = || integer::between_scales(self.window.clone(), self.groups);
        self.activation.is_none().then(operator)
    }

    /// Returns `true` if nothing is padded.
    pub fn is_unpadded(&self) -> bool {
        self.window.is_unpadded()
    }

    /// Returns `true` if an input has as many channels as the weight requires in every run.
    fn has_channels(&self, x: &TensorType, weight: &TensorType) -> bool {
        let channels = weight.shape.get(1);
        let channels = channels.and_then(|size| size.mul(&Dim::from(self.groups)));
        channels.is_some() && x.shape.get(1) == channels.as_ref()
    }

    fn convolved(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, weight) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let window = self.resolve(&x, &weight)?;
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        let fits = window.always_fits(&spatial) && self.has_channels(&x, &weight);
        if !fits || cx.has(3) && cx.tensor_type(3)?.shape != cx.output_tensor(0)?.shape {
            cx.may_fail();
        }
        let window = window.emit(cx, &spatial);
        let groups = Literal::i64_unsuffixed(self.groups);
        let function = format_ident!("conv{}d", spatial.len());
        let name = format_ident!("Conv{}d", spatial.len());
        let activation = self.activation.as_ref().map(|fused| fused.code(x.dtype));
        let (ty, rest) = (code!(layers::#name), code!(#window, #groups));
        // A window that depends on sizes is passed in each call.
        if !self.resolve(&x, cx.tensor_type(1)?)?.keeps_sizes()
            && let Some(layer) = cx.stored_layer(ty, [1, 2], rest, activation.clone())?
        {
            let input = cx.tensor(0)?;
            return Ok(if cx.has(3) {
                let sum = cx.tensor(3)?;
                code!(#layer.forward_add(#input, #sum))
            } else {
                code!(#layer.forward(#input))
            });
        }
        let (input, weight, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
        if activation.is_none() && !cx.has(3) {
            return Ok(code!(ops::conv::#function(#input, #weight, #bias, #window, #groups)));
        }
        let (function, sum) = (format_ident!("{function}_then"), cx.optional(3)?);
        let activation = activation.unwrap_or_else(|| code!(Activation::Identity));
        Ok(code! {
            ops::conv::#function(#input, #weight, #bias, #sum, #window, #groups, #activation.into())
        })
    }

    /// Returns `true` if the weight is `[M, kH, kW, C]`, as in files, instead of `[M, C, kH, kW]`, as in the operator's
    /// description. The channels of `x`, `[N, C, H, W]`, determine this.
    fn keeps_channels_last(&self, x: &TensorType, weight: &TensorType) -> bool {
        let channels = x.shape.get(1).and_then(Dim::number);
        let fits = |channels_of: Option<&Dim>| {
            let channels_per_group = channels_of.and_then(Dim::number);
            channels_per_group.and_then(|per_group| per_group.checked_mul(self.groups)) == channels
        };
        channels.is_none() || fits(weight.shape.last()) || !fits(weight.shape.get(1))
    }

    fn shape(&self, cx: &mut Infer<'_>, x: &TensorType, weight: &TensorType) -> Result<Shape, Problem> {
        let window = self.resolve(x, weight)?;
        let filter = Filter { x, weight, groups: self.groups, transposed: false };
        filter.check(cx, &self.window, 2)?;
        let channels = weight.shape.first().cloned().unwrap_or_default();
        let positions = window.positions(x.shape.get(2..).unwrap_or_default());
        let mut shape = vec![x.shape.first().cloned().unwrap_or_default(), channels];
        match positions {
            Some(positions) => shape.extend(positions),
            None => shape.extend((2..x.rank()).map(|_| cx.fresh("conv"))),
        }
        Ok(shape)
    }

    fn resolve(&self, x: &TensorType, weight: &TensorType) -> Result<Resolved, Problem> {
        if !(3..=5).contains(&x.rank()) || weight.rank() != x.rank() {
            return Err(Problem::new(format!(
                "the input is {x} and the weight is {weight}, expected equal ranks from 3 to 5"
            )));
        }
        let kernel: Option<Vec<i64>> = weight.shape.iter().skip(2).map(Dim::number).collect();
        self.window.resolve(x.rank() - 2, kernel)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn channels_kernels_and_biases_must_fit() {
        problems(
            &[
                r#"(float[1, 4, 9, 9] x, float[6, 3, 2, 2] w) => (float[1, 6, 8, 8] y) { y = Conv (x, w) }"#,
                r#"(float[1, 4, 9, 9] x, float[6, 4, 2, 2] w) => (float[1, 6, 8, 8] y) { y = Conv <group = 2> (x, w) }"#,
                r#"(float[1, 4, 9, 9] x, float[5, 2, 2, 2] w) => (float[1, 6, 8, 8] y) { y = Conv <group = 2> (x, w) }"#,
                r#"(float[1, 4, 9, 9] x, float[6, 4, 2, 2] w) => (float[1, 6, 8, 8] y) { y = Conv <group = 0> (x, w) }"#,
                r#"(float[1, 4, 9, 9] x, float[6, 4, 2, 2] w, float[5] b) => (float[1, 6, 8, 8] y) { y = Conv (x, w, b) }"#,
                r#"(float[1, 4, 9, 9] x, float[6, 4, 2, 2] w) => (float[1, 6, 8, 8] y) { y = Conv <kernel_shape = [2, 3]> (x, w) }"#,
                r#"(float[1, c, 9, 9] x, float[6, 4, 2, 2] w, float[b] b) => (float[1, 6, 8, 8] y) { y = Conv (x, w, b) }"#,
                r#"(float[1, 4, 9] x, float[6, 4, 2] w, float[1, 6, 9] z) => (float[1, 6, 8] y) { y = com.microsoft.FusedConv <activation = "Relu"> (x, w, , z) }"#,
                r#"(float[1, 9, 9, 4] x, float[6, 3, 2, 2] w) => (float[1, 8, 8, 6] y) { y = com.microsoft.NhwcConv (x, w) }"#,
            ],
            expect![[r#"
                the weight has 3 input channels, but the input has 4 channels
                the weight for 2 groups has 8 input channels, but the input has 4 channels
                the weight has 5 output channels, expected a multiple of 2, the number of groups
                `group` is 0, expected a positive integer
                the bias has 5 elements, but the result has 6 channels
                `kernel_shape` is 3 along spatial axis 1, expected 2 as in the weight
                fine
                the addend is float32[1, 6, 9], expected shape [1, 6, 8]
                the weight has 2 input channels, but the input has 4 channels
            "#]],
        );
    }
}
