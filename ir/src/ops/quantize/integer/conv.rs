//! Convolutions of quantized integers.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::{INTEGER, Places, QUANTIZED, Side, check_factor, is_zero};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::ops::convolution::window::filter::Filter;
use crate::ops::convolution::window::{Resolved, Window, channels};
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

/// A convolution whose sums are the result, or are brought to the scale of the result.
#[derive(Debug)]
struct Conv {
    places: Places,
    window: Window,
    groups: i64,
    channels_last: bool,
}

attributes!(struct Conv { places, window, groups, channels_last });

pub fn conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, INTEGER, false)
}

pub fn quantized_conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, WITH_BIAS, false)
}

pub fn quantized_conv_of_microsoft(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, WITH_BIAS, a.flag("channels_last", false)?)
}

/// QLinearConv with this window.
pub fn between_scales(window: Window, groups: i64) -> Rc<dyn Operator> {
    Rc::new(Conv {
        places: WITH_BIAS,
        window,
        groups,
        channels_last: false,
    })
}

const WITH_BIAS: Places = Places {
    bias: Some(8),
    ..QUANTIZED
};

fn read(
    a: &Attributes<'_>,
    places: Places,
    channels_last: bool,
) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Conv {
        places,
        window: Window::read(a)?,
        groups: a.int_or("group", 1)?,
        channels_last,
    }))
}

impl Operator for Conv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (mut x, weight, result) = self.places.types(cx)?;
        x.shape = channels::first(&x.shape, self.channels_last);
        let window = self.resolve(&x, &weight)?;
        let filter = Filter {
            x: &x,
            weight: &weight,
            groups: self.groups,
            transposed: false,
        };
        filter.check(cx, &self.window, self.places.bias.unwrap_or(usize::MAX))?;
        let channels_of = weight.shape.first().cloned().unwrap_or_default();
        for factor in self.places.factors(1) {
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
        let [input, filter] = self.places.operands;
        let (mut x, weight) = (
            cx.tensor_type(input)?.clone(),
            cx.tensor_type(filter)?.clone(),
        );
        x.shape = channels::first(&x.shape, self.channels_last);
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        let window = self.resolve(&x, &weight)?.emit(cx, &spatial);
        let zeros = self.places.zeros.map(|zero| {
            if is_zero(cx, zero) {
                Ok(code!(None))
            } else {
                cx.optional(zero)
            }
        });
        let [x_zero, weight_zero] = zeros;
        let (x_zero, weight_zero) = (x_zero?, weight_zero?);
        let rank = x.rank();
        let x = channels::turned_first(cx.tensor(input)?, rank, self.channels_last);
        let (weight, groups) = (cx.tensor(filter)?, Literal::i64_unsuffixed(self.groups));
        let function = format_ident!("conv_integer{}d", spatial.len());
        let sums = code! {
            ops::quantize::#function(#x, #weight, #x_zero, #weight_zero, #window, #groups)
        };
        let channels = Side::Before(1);
        let y = self
            .places
            .ended(cx, sums, [channels, channels, channels], 1.0)?;
        Ok(channels::turned_back(y, rank, self.channels_last))
    }
}

impl Conv {
    fn resolve(&self, x: &TensorType, weight: &TensorType) -> Result<Resolved, Problem> {
        if !(3..=5).contains(&x.rank()) || weight.rank() != x.rank() {
            return Err(Problem::new(format!(
                "the input is {x} and the weight {weight}; convolution has 1 to 3 spatial axes"
            )));
        }
        let kernel: Option<Vec<i64>> = weight.shape.iter().skip(2).map(Dim::number).collect();
        self.window.resolve(x.rank() - 2, kernel)
    }
}
