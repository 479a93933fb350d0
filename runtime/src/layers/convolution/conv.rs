//! Convolutions with their weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::conv::{conv1d, conv2d, conv3d};
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
                Self {
                    weight: Param::from_tensor(weight),
                    bias: bias.map(Param::from_tensor),
                    window,
                    groups,
                }
            }

            pub fn forward(&self, x: Tensor<$rank>) -> Tensor<$rank> {
                let bias = self.bias.as_ref().map(Param::val);
                $function(x, self.weight.val(), bias, self.window, self.groups)
            }
        }
    )*};
}

conv! {
    Conv1d 3 1 conv1d;
    Conv2d 4 2 conv2d;
    Conv3d 5 3 conv3d;
}
