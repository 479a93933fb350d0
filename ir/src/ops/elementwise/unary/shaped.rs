//! Activations with float parameters.

use std::rc::Rc;

use quote::format_ident;

use super::{Device, FLOAT, NUMBER, Plain};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::Operator;
use crate::ops::elementwise::cast::through_floats;
use crate::ops::elementwise::classes;
use crate::rust::{Code, code};

/// An activation with float parameters.
#[derive(Debug)]
pub struct Shaped {
    function: &'static str,
    parameters: Vec<f32>,
}

attributes!(struct Shaped { function, parameters });

/// Reads an activation. `defaults` are the names and defaults of its parameters.
pub fn shaped(
    attributes: &Attributes<'_>,
    function: &'static str,
    defaults: &[(&str, f32)],
) -> Result<Rc<dyn Operator>, Problem> {
    if attributes.version() < 6 {
        attributes.ignore(&["consumed_inputs"]);
    }
    // Selu's defaults had fewer digits before version 6.
    let default = |name: &str, default: f32| match (attributes.version(), function, name) {
        (..6, "selu", "alpha") => 1.6732,
        (..6, "selu", _) => 1.0507,
        _ => default,
    };
    let parameters = defaults.iter().map(|(name, value)| attributes.float_or(name, default(name, *value)));
    Ok(Rc::new(Shaped { function, parameters: parameters.collect::<Result<_, _>>()? }))
}

impl Shaped {
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Returns the parameters in the order of the operator's attributes.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }
}

impl Plain {
    /// Returns the name of the function that computes an element.
    pub fn function(&self) -> &'static str {
        match self.0.device {
            Device::Method(name) | Device::Kernel(_, name) => name,
        }
    }
}

impl Operator for Shaped {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let kinds = if self.function == "shrink" { NUMBER } else { FLOAT };
        if !kinds.contains(&x.dtype.kind()) {
            let (dtype, expected) = (x.dtype, classes(kinds));
            return Err(Problem::new(format!("the input has type {dtype}, expected {expected}")));
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, dtype) = (cx.tensor(0)?, cx.tensor_type(0)?.dtype);
        Ok(through_floats(x, dtype, |x| shaped_call(self.function, &x, dtype, &self.parameters)))
    }
}

/// Applies an activation with float parameters to `x`.
fn shaped_call(function: &str, x: &Code, dtype: DType, parameters: &[f32]) -> Code {
    if let ("swish", [1.0]) = (function, parameters) {
        return code!(ops::activation::silu(#x));
    }
    let name = format_ident!("{function}");
    let parameters = parameters.iter();
    let parameters = parameters.map(|&value| float_literal(f64::from(value), dtype));
    code!(ops::activation::#name(#x, #(#parameters),*))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn versions_have_their_own_defaults() {
        check(
            r#"<ir_version: 3, opset_import: ["": 5]> g (float[2] x) => (float[2] y, float[2] z) { y = Selu <consumed_inputs = [0]> (x) z = Elu <alpha = 2.0> (x) }"#,
            expect![[r#"
                g (float32[2] x) => (float32[2] y, float32[2] z)
                {
                    float32[2] y = Selu <function: "selu", parameters: [1.6732, 1.0507]> (x)
                    float32[2] z = Elu <function: "elu", parameters: [2.0]> (x)
                }
            "#]],
        );
    }

    #[test]
    fn later_versions_have_more_digits() {
        check(
            r#"g (float16[n] x) => (float16[n] y, float16[n] z) { y = Selu (x) z = HardSigmoid <beta = 0.25> (x) }"#,
            expect![[r#"
                g (float16[n] x) => (float16[n] y, float16[n] z)
                {
                    float16[n] y = Selu <function: "selu", parameters: [1.6732632, 1.050701]> (x)
                    float16[n] z = HardSigmoid <function: "hard_sigmoid", parameters: [0.2, 0.25]> (x)
                }
            "#]],
        );
    }

    #[test]
    fn only_shrink_takes_integers() {
        problems(
            &[
                r#"(int32[2] x) => (int32[2] y) { y = Elu (x) }"#,
                r#"(int32[2] x) => (int32[2] y) { y = Shrink (x) }"#,
                r#"(bool[2] x) => (bool[2] y) { y = Shrink (x) }"#,
            ],
            expect![[r#"
                the input has type int32, expected floats
                fine
                the input has type bool, expected floats or integers
            "#]],
        );
    }
}
