//! ScaleChannels, an operator that only rules create.

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::elementwise::activation::Fused;
use crate::ops::normalize::floats;
use crate::ops::{Facts, Operator, Width};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::TensorType;

/// Name of the operator, which ONNX lacks.
pub const KIND: &str = "ScaleChannels";

pub const FACTS: Facts = Facts { width: Width::Operands, ..Facts::NONE };

/// `activation(x * factor + offset)`. Inputs 1 and 2 have one element for each channel of `[batch, channels, ..]`.
#[derive(Clone, Debug, Default)]
pub struct ScaleChannels {
    pub activation: Option<Fused>,
}

attributes!(struct ScaleChannels { activation });

impl Operator for ScaleChannels {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = floats(cx, 2)?;
        let expected = TensorType::new(x.dtype, x.shape.get(1).cloned().into_iter().collect());
        for input in [1, 2] {
            let (values, expected) = (cx.tensor_of_rank(input, 1)?, &expected);
            if values != *expected {
                return Err(Problem::expected(format_args!("input {input}"), values, expected));
            }
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let dtype = cx.output_tensor(0)?.dtype;
        let activation = match &self.activation {
            Some(activation) => activation.code(dtype),
            None => code!(Activation::Identity),
        };
        let (x, factor, offset) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        Ok(code!(ops::normalize::scale_channels(#x, #factor, #offset, #activation)))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.alone().filter(|&axis| axis != 1).map(|axis| vec![axis])
    }
}
