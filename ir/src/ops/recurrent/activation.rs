//! Activation functions of recurrent layers.

use quote::format_ident;

use crate::attributes::{Attributes, any_of, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::float_literal;
use crate::ops::sizes;
use crate::rust::{Code, code};

/// A variant of the kernels' `Activation`, and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    pub name: &'static str,
    alpha: Option<f32>,
    beta: Option<f32>,
}

attributes!(struct Activation { name, alpha, beta });

/// ONNX's activations, and the defaults of their parameters.
const ACTIVATIONS: [(&str, Option<f32>, Option<f32>); 11] = [
    ("Affine", Some(1.0), Some(0.0)),
    ("Elu", Some(1.0), None),
    ("HardSigmoid", Some(0.2), Some(0.5)),
    ("LeakyRelu", Some(0.01), None),
    ("Relu", None, None),
    ("ScaledTanh", Some(1.0), Some(1.0)),
    ("Sigmoid", None, None),
    ("Softplus", None, None),
    ("Softsign", None, None),
    ("Tanh", None, None),
    ("ThresholdedRelu", Some(1.0), None),
];

/// Reads the activations. The lists of parameters apply to the functions that have them, in order; the remaining
/// functions use defaults.
pub fn read(a: &Attributes<'_>, count: usize) -> Result<Option<Vec<Activation>>, Problem> {
    let mut alphas = a.floats("activation_alpha")?.unwrap_or_default().into_iter();
    let mut betas = a.floats("activation_beta")?.unwrap_or_default().into_iter();
    let Some(names) = a.strings("activations")?.filter(|names| !names.is_empty()) else {
        return Ok(None);
    };
    sizes::length("`activations`", names.len(), count)?;
    let function = |wanted: &String| {
        let same = |row: &&(&str, _, _)| row.0.eq_ignore_ascii_case(wanted);
        let row = ACTIVATIONS.iter().find(same);
        let &(name, alpha, beta) = row.ok_or_else(|| {
            let known = ACTIVATIONS.map(|row| format!("`{}`", row.0));
            Problem::new(format!("`activations` contains `{wanted}`, expected {}", any_of(&known)))
        })?;
        Ok(Activation {
            name,
            alpha: alpha.map(|default| alphas.next().unwrap_or(default)),
            beta: beta.map(|default| betas.next().unwrap_or(default)),
        })
    };
    names.iter().map(function).collect::<Result<_, _>>().map(Some)
}

impl Activation {
    /// Generates `ops::recurrent::Activation::Tanh`.
    pub fn emit(&self) -> Code {
        let name = format_ident!("{}", self.name);
        let number = |value: f32| float_literal(f64::from(value), DType::F32);
        let alpha = self.alpha.map(number).map(|alpha| code!(alpha: #alpha));
        let beta = self.beta.map(number).map(|beta| code!(beta: #beta));
        let parameters: Vec<Code> = alpha.into_iter().chain(beta).collect();
        if parameters.is_empty() {
            code!(ops::recurrent::Activation::#name)
        } else {
            code!(ops::recurrent::Activation::#name { #(#parameters),* })
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn activations_are_known_and_one_for_each_gate() {
        problems(
            &[
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3, activations = ["tanh"]> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3, activations = ["Sine"]> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3, activations = ["Tanh", "Tanh"]> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3, activations = ["Affine"], activation_alpha = [2.0], activation_beta = [0.5]> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3, activations = ["Sigmoid", "Tanh"]> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3, activations = ["Sigmoid", "HardSigmoid", "Softsign"]> (x, w, r) }"#,
            ],
            expect![[r#"
                fine
                `activations` contains `Sine`, expected `Affine`, `Elu`, `HardSigmoid`, `LeakyRelu`, `Relu`, `ScaledTanh`, `Sigmoid`, `Softplus`, `Softsign`, `Tanh` or `ThresholdedRelu`
                `activations` has 2 elements, expected 1
                fine
                `activations` has 2 elements, expected 3
                fine
            "#]],
        );
    }
}
