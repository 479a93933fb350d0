//! Function of the operator in `custom_swish.onnx`, as in the guide.

use onnx_embed::{Tensor, burn::tensor::activation};

/// Returns `y * sigmoid(beta * y)` of `y = x + bias`.
pub fn bias_swish(x: Tensor<2>, bias: Tensor<1>, beta: f32) -> Tensor<2> {
    let y = x + bias.unsqueeze();
    y.clone() * activation::sigmoid(y * beta)
}
