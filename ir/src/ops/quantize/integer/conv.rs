//! Convolutions of quantized integers.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::{Ended, INTEGER, InputLayout, QUANTIZED, Side, check_factor, filters, is_zero};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::ops::convolution::window::filter::Filter;
use crate::ops::convolution::window::{Resolved, Window, channels};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

/// A convolution whose result is the accumulators, or integers of another scale.
#[derive(Debug)]
struct Conv {
    layout: InputLayout,
    window: Window,
    groups: i64,
    channels_last: bool,
}

attributes!(struct Conv { layout, window, groups, channels_last });

pub fn conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, INTEGER, false)
}

pub fn quantized_conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, WITH_BIAS, false)
}

pub fn quantized_conv_of_microsoft(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, WITH_BIAS, a.flag("channels_last", false)?)
}

/// Returns QLinearConv with this window.
pub fn between_scales(window: Window, groups: i64) -> Rc<dyn Operator> {
    Rc::new(Conv { layout: WITH_BIAS, window, groups, channels_last: false })
}

const WITH_BIAS: InputLayout = InputLayout { bias: Some(8), ..QUANTIZED };

fn read(a: &Attributes<'_>, layout: InputLayout, channels_last: bool) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Conv { layout, window: Window::read(a)?, groups: a.int_or("group", 1)?, channels_last }))
}

impl Operator for Conv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (mut x, weight, result) = self.layout.types(cx)?;
        x.shape = channels::first(&x.shape, self.channels_last);
        let window = self.resolve(&x, &weight)?;
        let filter = Filter { x: &x, weight: &weight, groups: self.groups, transposed: false };
        filter.check(cx, &self.window, self.layout.bias.unwrap_or(usize::MAX))?;
        let channels_of = weight.shape.first().cloned().unwrap_or_default();
        for factor in self.layout.factors(1) {
            check_factor(cx, factor, (&channels_of, "output channels"))?;
        }
        let mut shape: Shape = x.shape.iter().take(1).cloned().collect();
        shape.extend(weight.shape.first().cloned());
        match window.positions(x.shape.get(2..).unwrap_or_default()) {
            Some(positions) => shape.extend(positions),
            None => shape.extend((2..x.rank()).map(|_| cx.fresh("conv"))),
        }
        cx.output(0, result, channels::back(&shape, self.channels_last));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let [input, filter] = self.layout.operands;
        let (mut x, weight) = (cx.tensor_type(input)?.clone(), cx.tensor_type(filter)?.clone());
        x.shape = channels::first(&x.shape, self.channels_last);
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        let window = self.resolve(&x, &weight)?;
        let channels = weight.shape.get(1);
        let channels = channels.and_then(|size| size.mul(&Dim::from(self.groups)));
        if !window.always_fits(&spatial) || x.shape.get(1) != channels.as_ref() {
            cx.may_fail();
        }
        let window = window.emit(cx, &spatial);
        let zeros =
            self.layout.zeros.map(|zero| if is_zero(cx, zero) { Ok(code!(None)) } else { cx.optional(zero) });
        let [x_zero, weight_zero] = zeros;
        let (x_zero, weight_zero) = (x_zero?, weight_zero?);
        let rank = x.rank();
        let x = channels::transposed_first(cx.tensor(input)?, rank, self.channels_last);
        let (weight, groups) = (filters(cx, filter)?, Literal::i64_unsuffixed(self.groups));
        let axes = spatial.len();
        let ended = self.layout.ended(cx, 1, [Side::Last; 3], 1.0)?;
        let y = match ended {
            Ended::Quantized { bias, to } => {
                let function = format_ident!("qlinear_conv{axes}d");
                code! {
                    ops::quantize::#function(
                        #x, #weight, (#x_zero, #weight_zero), #bias, #window, #groups, #to
                    )
                }
            }
            Ended::Sums | Ended::Float { .. } => {
                let function = format_ident!("conv_integer{axes}d");
                code! {
                    ops::quantize::#function(
                        #x, #weight, (#x_zero, #weight_zero), #window, #groups
                    )
                }
            }
        };
        Ok(channels::transposed_back(y, rank, self.channels_last))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl Conv {
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

    use crate::testing::{check, problems};

    #[test]
    fn sums_are_of_32_bits_and_results_of_the_zero_point() {
        check(
            r#"g (uint8[n, 2, 9] x, int8[4, 2, 3] w, float s, uint8 z, int8 o) => (int32[a, b, c] y, int8[a, b, c] q) { y = ConvInteger <strides = [2]> (x, w, z) q = QLinearConv <pads = [1, 1]> (x, s, z, w, s, o, s, o) }"#,
            expect![[r#"
                g (uint8[n, 2, 9] x, int8[4, 2, 3] w, float32[] s, uint8[] z, int8[] o) => (int32[n, 4, 4] y, int8[n, 4, 9] q)
                {
                    int32[n, 4, 4] y = ConvInteger <layout: {operands: [0, 1], zeros: [2, 3], end: Sums}, window: {strides: [2], padding: Explicit}, groups: 1> (x, w, z)
                    int8[n, 4, 9] q = QLinearConv <layout: {operands: [0, 3], zeros: [2, 5], bias: 8, end: {scales: [1, 4, 6], zero: 7}}, window: {pads: [1, 1], padding: Explicit}, groups: 1> (x, s, z, w, s, o, s, o)
                }
            "#]],
        );
    }

    #[test]
    fn weights_and_factors_fit() {
        problems(
            &[
                r#"(uint8[1, 3, 9] x, int8[4, 2, 3] w) => (int32[a, b, c] y) { y = ConvInteger (x, w) }"#,
                r#"(uint8[1, 2, 9] x, int8[4, 2, 3] w, uint8 z, int8[3] o) => (int32[a, b, c] y) { y = ConvInteger (x, w, z, o) }"#,
                r#"(uint8[1, 2, 9] x, int8[4, 2, 3] w, uint8 z, int8[4] o) => (int32[a, b, c] y) { y = ConvInteger (x, w, z, o) }"#,
                r#"(float[1, 2, 9] x, int8[4, 2, 3] w) => (int32[a, b, c] y) { y = ConvInteger (x, w) }"#,
                r#"(uint8[1, 2] x, int8[4, 2] w) => (int32[a, b] y) { y = ConvInteger (x, w) }"#,
                r#"(uint8[1, 2, 9] x, int8[4, 2, 3] w, float s, uint8 z, int8 o, int32[5] b) => (uint8[a, b, c] y) { y = QLinearConv (x, s, z, w, s, o, s, z, b) }"#,
            ],
            expect![[r#"
                the weight has 2 input channels, but the input has 3 channels
                input 3 has 3 elements, but the operand it belongs to has 4 output channels
                fine
                input 0 is float32[1, 2, 9], expected integers of at most 8 bits
                the input is uint8[1, 2] and the weight is int8[4, 2], expected equal ranks from 3 to 5
                the bias has 5 elements, but the result has 4 channels
            "#]],
        );
    }
}
