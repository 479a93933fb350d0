//! Activations that are fused into another operator.

use quote::format_ident;

use crate::attributes::{Attributes, any_of, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::float_literal;
use crate::graph::Node;
use crate::ops::elementwise::unary::{Plain, Shaped};
use crate::rust::{Code, code};

/// An activation and its parameters.
#[derive(Clone, Debug)]
pub struct Fused {
    /// Variant of the kernels' `Activation`.
    name: String,
    parameters: Vec<f32>,
}

attributes!(struct Fused { name, parameters });

/// Names of activations in files, and the defaults of their parameters.
const ACTIVATIONS: &[(&str, &[f32])] = &[
    ("Relu", &[]),
    ("Sigmoid", &[]),
    ("Silu", &[]),
    ("Softplus", &[]),
    ("Softsign", &[]),
    ("Tanh", &[]),
    ("Celu", &[1.0]),
    ("Clip", &[f32::MIN, f32::MAX]),
    ("Elu", &[1.0]),
    ("HardSigmoid", &[0.2, 0.5]),
    ("LeakyRelu", &[0.01]),
    ("Selu", &[1.673_263_2, 1.050_701]),
    ("ThresholdedRelu", &[1.0]),
];

impl Fused {
    /// Returns an activation that clamps to two bounds.
    pub fn clip(low: f32, high: f32) -> Self {
        Fused { name: "Clip".to_owned(), parameters: vec![low, high] }
    }

    /// Reads the activation of a convolution, with a list of parameters.
    pub fn of_conv(a: &Attributes<'_>) -> Result<Option<Self>, Problem> {
        let parameters = a.floats("activation_params")?.unwrap_or_default();
        let name = a.string_or("activation", "")?;
        Self::new(&name, parameters.into_iter().map(Some))
    }

    /// Reads the activation of a matrix product, with an attribute for each parameter.
    pub fn of_gemm(a: &Attributes<'_>) -> Result<Option<Self>, Problem> {
        let parameters = ["alpha", "beta", "gamma"].map(|name| a.float(&format!("activation_{name}")));
        let [alpha, beta, gamma] = parameters;
        let name = a.string_or("activation", "")?;
        // Selu's second parameter is its gamma.
        let second = if name == "Selu" { gamma? } else { beta? };
        Self::new(&name, [alpha?, second].into_iter())
    }

    fn new(name: &str, parameters: impl Iterator<Item = Option<f32>>) -> Result<Option<Self>, Problem> {
        if name.is_empty() {
            return Ok(None);
        }
        let Some(&(name, defaults)) = ACTIVATIONS.iter().find(|(known, _)| *known == name) else {
            let names: Vec<_> = ACTIVATIONS.iter().map(|(name, _)| format!("`{name}`")).collect();
            return Err(Problem::expected("`activation`", format_args!("`{name}`"), any_of(&names)));
        };
        let parameters = parameters.chain(std::iter::repeat(None));
        let parameters = defaults.iter().zip(parameters);
        Ok(Some(Fused {
            name: name.to_owned(),
            parameters: parameters.map(|(default, parameter)| parameter.unwrap_or(*default)).collect(),
        }))
    }

    /// Returns the function of a node whose operator has the fact `activation`.
    pub fn of(node: &Node) -> Option<Self> {
        let (function, parameters) = match node.operator_as::<Shaped>() {
            Some(shaped) => (shaped.function(), shaped.parameters()),
            None => (node.operator_as::<Plain>()?.function(), &[][..]),
        };
        Some(match (function, parameters) {
            ("swish", [1.0]) => Fused { name: "Silu".to_owned(), parameters: Vec::new() },
            _ => Fused { name: variant(function), parameters: parameters.to_vec() },
        })
    }

    /// Generates `Activation::Clip(0.0, 6.0)`, for results of this type.
    pub fn code(&self, dtype: DType) -> Code {
        let name = format_ident!("{}", self.name);
        let parameters = self.parameters.iter().map(|&value| {
            let value = f64::from(value);
            float_literal(value, if value.is_finite() { dtype } else { DType::F64 })
        });
        let parameters: Vec<Code> = parameters.collect();
        if parameters.is_empty() {
            code!(Activation::#name)
        } else {
            code!(Activation::#name(#(#parameters),*))
        }
    }

    /// Applies the activation, if any, to the result `x` of this type.
    pub fn after(fused: Option<&Self>, x: Code, dtype: DType) -> Code {
        match fused {
            Some(fused) => {
                let activation = fused.code(dtype);
                code!(ops::epilogue::finish(#x, None, #activation))
            }
            None => x,
        }
    }
}

/// Returns the variant of `Activation` for a function of the kernels: `HardSwish` for `hard_swish`.
fn variant(function: &str) -> String {
    let words = function.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + rest
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn parameters_are_those_of_the_activation() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]> g (float[1, 1, 4] x, float[1, 1, 2] w, float[2, 2] a) => (float[1, 1, 3] y, float[2, 2] z) { y = com.microsoft.FusedConv <activation = "HardSigmoid", activation_params = [0.5]> (x, w) z = com.microsoft.FusedGemm <activation = "Selu", activation_alpha = 2.0, activation_gamma = 3.0> (a, a) }"#,
            expect![[r#"
                g (float32[1, 1, 4] x, float32[1, 1, 2] w, float32[2, 2] a) => (float32[1, 1, 3] y, float32[2, 2] z)
                {
                    float32[1, 1, 3] y = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1, activation: {name: "HardSigmoid", parameters: [0.5, 0.5]}> (x, w)
                    float32[2, 2] z = com.microsoft.FusedGemm <alpha: 1.0, beta: 1.0, transposed: [false, false], activation: {name: "Selu", parameters: [2.0, 3.0]}> (a, a)
                }
            "#]],
        );
    }

    #[test]
    fn activations_are_known() {
        problems(
            &[
                r#"(float[1, 1, 4] x, float[1, 1, 2] w) => (float[1, 1, 3] y) { y = com.microsoft.FusedConv <activation = "Sine"> (x, w) }"#,
                r#"(float[2, 2] x) => (float[2, 2] y) { y = com.microsoft.FusedGemm <activation = "Clip", activation_alpha = 0.0, activation_beta = 6.0> (x, x) }"#,
            ],
            expect![[r#"
                `activation` is `Sine`, expected `Relu`, `Sigmoid`, `Silu`, `Softplus`, `Softsign`, `Tanh`, `Celu`, `Clip`, `Elu`, `HardSigmoid`, `LeakyRelu`, `Selu` or `ThresholdedRelu`
                fine
            "#]],
        );
    }
}
