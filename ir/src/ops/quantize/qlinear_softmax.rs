//! QLinearSoftmax: softmax of quantized values.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::quantize::affine::{self, BYTE, WIDE};
use crate::ops::quantize::qlinear::other_type;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("QLinearSoftmax", &[1], softmax).arity("rrorr", "r").of(MICROSOFT)];

/// Softmax along an axis, or over all axes starting with it.
#[derive(Debug)]
struct Softmax {
    axis: i64,
    flat: bool,
    /// Whether it rounds like the sequence of DequantizeLinear, Softmax and QuantizeLinear. Requires the last axis.
    in_steps: bool,
}

attributes!(struct Softmax { axis, flat, in_steps });

/// Returns the operator that computes the same integers as a Softmax along the last axis between DequantizeLinear and
/// QuantizeLinear.
pub fn softmax_between_scales() -> Rc<dyn Operator> {
    Rc::new(Softmax { axis: -1, flat: false, in_steps: true })
}

/// Reads the operator, whose semantics depend on the version of Softmax from which it was created.
fn softmax(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let flat = a.required("opset", Attributes::int)? < 13;
    Ok(Rc::new(Softmax { axis: a.int_or("axis", -1)?, flat, in_steps: false }))
}

impl Operator for Softmax {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let bits = if self.in_steps { WIDE } else { BYTE };
        let x = affine::quantized_of(cx, 0, bits)?;
        axis(self.axis, x.rank())?;
        let dtype = affine::check_of(cx, 3, 4, bits)?.unwrap_or(x.dtype);
        if dtype != x.dtype && !self.in_steps {
            return Err(other_type(0, x.dtype, dtype));
        }
        cx.output(0, dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (rank, output) = (cx.tensor_type(0)?.rank(), cx.output_tensor(0)?.dtype);
        let (x, result) = (affine::pair(cx, 0, rank)?, affine::emit(cx, 3, 4, output)?);
        if self.in_steps {
            return Ok(code!(ops::quantize::steps::softmax(#x, #result)));
        }
        let axis = Literal::usize_unsuffixed(axis(self.axis, rank)?);
        let function = format_ident!("{}", if self.flat { "softmax_flat" } else { "softmax" });
        Ok(code!(ops::quantize::#function(#x, #result, #axis)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }
}
