//! Matrix product with a weight and a bias.

use burn::module::{Module, Param};
use burn::tensor::{DType, Tensor};
use onnx_embed_kernels::dtype::computed;
use onnx_embed_kernels::epilogue::{Activation, Epilogue};
use onnx_embed_kernels::matmul::linear_then;

use crate::weights::Weights;

/// `x * weight + bias` over the last axis of `x`.
#[derive(Module, Debug)]
pub struct Linear {
    /// Weight of shape `[inputs, outputs]`.
    pub weight: Param<Tensor<2>>,
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    epilogue: Epilogue,
}

impl Linear {
    /// Loads a weight stored as `[inputs, outputs]`.
    pub fn load(weights: &Weights<'_>, weight: &str, bias: Option<&str>) -> Self {
        let bias = bias.map(|name| weights.tensor(name));
        Self::new(weights.tensor(weight), bias)
    }

    /// Loads a weight stored as `[outputs, inputs]`.
    pub fn load_transposed(weights: &Weights<'_>, weight: &str, bias: Option<&str>) -> Self {
        let bias = bias.map(|name| weights.tensor(name));
        Self::new(weights.tensor::<2>(weight).transpose(), bias)
    }

    /// Creates a layer with a weight of shape `[inputs, outputs]`.
    pub fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        let epilogue = Epilogue::of_layer();
        let weight = epilogue.pack_matrix(weight);
        Self { weight: Param::from_tensor(weight), bias: bias.map(Param::from_tensor), epilogue }
    }

    /// Converts weights of half precision to single precision.
    pub fn widened(self) -> Self {
        if self.weight.val().dtype() == DType::F32 {
            return self;
        }
        let wide = |x: Tensor<1>| computed(x, DType::F32);
        let bias = self.bias.as_ref().map(|bias| wide(bias.val()));
        Self::new(computed(self.weight.val(), DType::F32), bias)
    }

    /// Sets the activation of the result.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.epilogue.activation = activation;
        self
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        self.run(x, None)
    }

    /// Runs the layer and adds `shortcut`, which has the shape of the result, before the activation.
    pub fn forward_add<const D: usize>(&self, x: Tensor<D>, shortcut: Tensor<D>) -> Tensor<D> {
        self.run(x, Some(shortcut))
    }

    fn run<const D: usize>(&self, x: Tensor<D>, sum: Option<Tensor<D>>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        linear_then(x, self.weight.val(), bias, sum, self.epilogue.clone())
    }
}

/// `x * weight + bias` with operands that another part of the model contains. The layer keeps the packed weight.
#[derive(Module, Debug)]
pub struct SharedLinear {
    #[module(skip)]
    epilogue: Epilogue,
}

impl SharedLinear {
    /// Creates a layer that applies `activation` last.
    pub fn new(activation: Activation) -> Self {
        Self { epilogue: Epilogue { activation, ..Epilogue::of_layer() } }
    }

    /// Computes the product with a weight of shape `[inputs, outputs]`, plus `sum`, which has the shape of the result.
    pub fn forward<const D: usize>(
        &self,
        x: Tensor<D>,
        weight: Tensor<2>,
        bias: Option<Tensor<1>>,
        sum: Option<Tensor<D>>,
    ) -> Tensor<D> {
        linear_then(x, weight, bias, sum, self.epilogue.clone())
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn an_empty_batch_stays_empty() {
        let device = Device::flex();
        let layer = Linear::new(Tensor::ones([2, 3], &device), None);
        let x = Tensor::<3>::zeros([0, 4, 2], &device);
        assert_eq!(layer.forward(x).dims(), [0, 4, 3]);
    }

    #[test]
    fn a_shortcut_is_added_before_the_activation() {
        let device = Device::flex();
        let weight = Tensor::from_data([[1f32, -1.0]], &device);
        let layer = Linear::new(weight, None).activation(Activation::Relu);
        let x = Tensor::<2>::from_data([[2f32], [3.0]], &device);
        let y = layer.forward(x.clone()).into_data();
        assert_eq!(y, TensorData::from([[2f32, 0.0], [3.0, 0.0]]));
        let shortcut = Tensor::from_data([[-5f32, 5.0], [1.0, 1.0]], &device);
        let y = layer.forward_add(x, shortcut).into_data();
        assert_eq!(y, TensorData::from([[0f32, 3.0], [4.0, 0.0]]));
    }

    #[test]
    fn a_shared_weight_may_change_between_calls() {
        let device = Device::flex();
        let layer = SharedLinear::new(Activation::Relu);
        let x = || Tensor::<2>::from_data([[2f32], [3.0]], &device);
        let bias = || Some(Tensor::from_data([1f32, 1.0], &device));
        for (weight, expected) in
            [([[1f32], [-1.0]], [[3f32, 0.0], [4.0, 0.0]]), ([[0.0], [2.0]], [[1.0, 5.0], [1.0, 7.0]])]
        {
            let weight = Tensor::<2>::from_data(weight, &device);
            for _ in 0..2 {
                let y = layer.forward(x(), weight.clone().transpose(), bias(), None);
                assert_eq!(y.into_data(), TensorData::from(expected));
            }
        }
    }
}
