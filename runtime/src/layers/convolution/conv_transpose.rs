//! Transposed convolutions with their weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::conv_transpose::{
    conv_transpose1d_packed, conv_transpose2d_packed, conv_transpose3d_packed,
};
use onnx_embed_kernels::epilogue::Packed;
use onnx_embed_kernels::window::Window;

use crate::weights::Weights;

macro_rules! conv_transpose {
    ($($name:ident $rank:literal $axes:literal $function:ident;)*) => {$(
        #[doc = concat!("A transposed convolution over ", $axes, " spatial axes.")]
        #[derive(Module, Debug)]
        pub struct $name {
            pub weight: Param<Tensor<$rank>>,
            pub bias: Option<Param<Tensor<1>>>,
            #[module(skip)]
            window: Window<$axes>,
            #[module(skip)]
            output_padding: [usize; $axes],
            groups: usize,
            #[module(skip)]
            packed: Packed,
        }

        impl $name {
            pub fn load(
                weights: &Weights<'_>,
                weight: &str,
                bias: Option<&str>,
                window: Window<$axes>,
                output_padding: [usize; $axes],
                groups: usize,
            ) -> Self {
                let bias = bias.map(|name| weights.tensor(name));
                Self::new(weights.tensor(weight), bias, window, output_padding, groups)
            }

            pub fn new(
                weight: Tensor<$rank>,
                bias: Option<Tensor<1>>,
                window: Window<$axes>,
                output_padding: [usize; $axes],
                groups: usize,
            ) -> Self {
                Self {
                    weight: Param::from_tensor(weight),
                    bias: bias.map(Param::from_tensor),
                    window,
                    output_padding,
                    groups,
                    packed: Packed::default(),
                }
            }

            pub fn forward(&self, x: Tensor<$rank>) -> Tensor<$rank> {
                let bias = self.bias.as_ref().map(Param::val);
                let weight = self.weight.val();
                let packed = Some(self.packed.clone());
                let (window, more) = (self.window, self.output_padding);
                $function(x, weight, bias, window, more, self.groups, packed)
            }
        }
    )*};
}

conv_transpose! {
    ConvTranspose1d 3 1 conv_transpose1d_packed;
    ConvTranspose2d 4 2 conv_transpose2d_packed;
    ConvTranspose3d 5 3 conv_transpose3d_packed;
}
