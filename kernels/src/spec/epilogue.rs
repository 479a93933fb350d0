//! Epilogues of matrix products and convolutions.

use super::packed::Packed;

/// An elementwise function that a product or a convolution applies to its result.
///
/// Parameters are those of the ONNX operator of the same name, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Activation {
    #[default]
    Identity,
    Relu,
    /// Between two bounds.
    Clip(f64, f64),
    LeakyRelu(f64),
    ThresholdedRelu(f64),
    HardSigmoid(f64, f64),
    HardSwish,
    Sigmoid,
    Tanh,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x * sigmoid(alpha * x)`.
    Swish(f64),
    Gelu,
    /// Gelu with `approximate="tanh"`.
    GeluTanh,
    Softplus,
    Softsign,
    Mish,
    Elu(f64),
    Celu(f64),
    /// With `alpha` and `gamma`.
    Selu(f64, f64),
}

/// Epilogue of a matrix product, except for its bias and residual addend, and its packed weight.
#[derive(Clone, Debug, Default)]
pub struct Epilogue {
    pub activation: Activation,
    /// The packed weight, for a weight that is used again.
    pub packed: Option<Packed>,
}

impl Epilogue {
    /// Returns the epilogue of a layer, which keeps its weight.
    pub fn of_layer() -> Self {
        Self { activation: Activation::Identity, packed: Some(Packed::default()) }
    }
}

impl From<Activation> for Epilogue {
    fn from(activation: Activation) -> Self {
        Self { activation, packed: None }
    }
}

#[cfg(test)]
impl Activation {
    /// Returns one example of each function.
    pub fn examples() -> [Self; 19] {
        [
            Self::Identity,
            Self::Relu,
            Self::Clip(-0.5, 1.5),
            Self::LeakyRelu(0.1),
            Self::ThresholdedRelu(0.7),
            Self::HardSigmoid(0.2, 0.5),
            Self::HardSwish,
            Self::Sigmoid,
            Self::Tanh,
            Self::Silu,
            Self::Swish(1.702),
            Self::Gelu,
            Self::GeluTanh,
            Self::Softplus,
            Self::Softsign,
            Self::Mish,
            Self::Elu(1.5),
            Self::Celu(0.8),
            Self::Selu(1.7, 1.1),
        ]
    }
}
