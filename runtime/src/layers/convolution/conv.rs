//! Convolutions with their weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::conv::{conv1d_then, conv2d_then, conv3d_then};
use onnx_embed_kernels::epilogue::{Activation, Epilogue};
use onnx_embed_kernels::window::Window;

use crate::weights::Weights;

macro_rules! conv {
    ($($name:ident $rank:literal $axes:literal $function:ident;)*) => {$(
        #[doc = concat!("A convolution over ", $axes, " spatial axes.")]
        #[derive(Module, Debug)]
        pub struct $name {
            pub weight: Param<Tensor<$rank>>,
            pub bias: Option<Param<Tensor<1>>>,
            #[module(skip)]
            window: Window<$axes>,
            groups: usize,
            #[module(skip)]
            epilogue: Epilogue,
        }

        impl $name {
            pub fn load(
                weights: &Weights<'_>,
                weight: &str,
                bias: Option<&str>,
                window: Window<$axes>,
                groups: usize,
            ) -> Self {
                let bias = bias.map(|name| weights.tensor(name));
                Self::new(weights.tensor(weight), bias, window, groups)
            }

            pub fn new(
                weight: Tensor<$rank>,
                bias: Option<Tensor<1>>,
                window: Window<$axes>,
                groups: usize,
            ) -> Self {
                let epilogue = Epilogue::of_layer();
                let weight = epilogue.pack_filters(weight, groups);
                Self {
                    weight: Param::from_tensor(weight),
                    bias: bias.map(Param::from_tensor),
                    window,
                    groups,
                    epilogue,
                }
            }

            /// Sets the activation of the result.
            pub fn activation(mut self, activation: Activation) -> Self {
                self.epilogue.activation = activation;
                self
            }

            pub fn forward(&self, x: Tensor<$rank>) -> Tensor<$rank> {
                self.run(x, None)
            }

            /// Runs the layer and adds `shortcut`, which has the shape of the result, before the activation.
            pub fn forward_add(&self, x: Tensor<$rank>, shortcut: Tensor<$rank>) -> Tensor<$rank> {
                self.run(x, Some(shortcut))
            }

            fn run(&self, x: Tensor<$rank>, sum: Option<Tensor<$rank>>) -> Tensor<$rank> {
                let bias = self.bias.as_ref().map(Param::val);
                let weight = self.weight.val();
                $function(x, weight, bias, sum, self.window, self.groups, self.epilogue.clone())
            }
        }
    )*};
}

conv! {
    Conv1d 3 1 conv1d_then;
    Conv2d 4 2 conv2d_then;
    Conv3d 5 3 conv3d_then;
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn a_shortcut_is_added_before_the_activation() {
        let device = Device::flex();
        let weight = Tensor::from_data([[[1f32, 1.0]]], &device);
        let layer = Conv1d::new(weight, None, Window::new([2]), 1).activation(Activation::Relu);
        let x = Tensor::from_data([[[1f32, -2.0, 4.0]]], &device);
        let y = layer.forward(x.clone()).into_data();
        assert_eq!(y, TensorData::from([[[0f32, 2.0]]]));
        let shortcut = Tensor::from_data([[[3f32, -3.0]]], &device);
        let y = layer.forward_add(x, shortcut).into_data();
        assert_eq!(y, TensorData::from([[[2f32, 0.0]]]));
    }
}
