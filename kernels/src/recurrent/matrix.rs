//! Weights of recurrent layers, float or quantized.

use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use crate::{
    backend::{self, Given, Operand},
    ensure,
    product::matmul::product,
    quantize::matmul_dynamic,
    widen::widened,
};

/// The weights of all directions.
pub trait Matrices: Clone {
    type Matrix: Matrix;

    /// A row of a product depends on all rows of the operand, because they are quantized together.
    const SPANS: bool;

    /// Returns the matrix of one direction.
    fn of(&self, direction: usize) -> Self::Matrix;

    /// Returns the number of directions, inputs and outputs.
    fn sizes(&self) -> [usize; 3];

    fn into_operands(self) -> backend::Matrices<Dispatch>;
}

/// Operand B of a matrix product.
pub trait Matrix {
    fn product(&self, x: Tensor<2>) -> Tensor<2>;
}

/// Integers with scales and zero points. The other operand is quantized to 8 bits over its range.
#[derive(Clone, Debug)]
pub struct Quantized {
    /// `[directions, input, outputs]`
    pub weight: Tensor<3, Int>,
    /// `[directions, outputs]`, or 1 for all outputs.
    pub scale: Tensor<2>,
    /// Of the shape of the scales.
    pub zero: Tensor<2, Int>,
}

/// The integers of one direction.
pub struct QuantizedMatrix {
    weight: Tensor<2, Int>,
    scale: Tensor<2>,
    zero: Tensor<2, Int>,
}

impl Matrices for Tensor<3> {
    type Matrix = Tensor<2>;

    const SPANS: bool = false;

    fn of(&self, direction: usize) -> Tensor<2> {
        widened(self.clone().narrow(0, direction, 1).squeeze_dim(0)).transpose()
    }

    fn sizes(&self) -> [usize; 3] {
        let [directions, outputs, inputs] = self.dims();
        [directions, inputs, outputs]
    }

    fn into_operands(self) -> backend::Matrices<Dispatch> {
        backend::Matrices { weight: Some(self).into_primitive(), scale: Given::Missing, zero: Given::Missing }
    }
}

impl Matrix for Tensor<2> {
    fn product(&self, x: Tensor<2>) -> Tensor<2> {
        product(x, self.clone())
    }
}

impl Matrices for Quantized {
    type Matrix = QuantizedMatrix;

    const SPANS: bool = true;

    fn of(&self, direction: usize) -> QuantizedMatrix {
        QuantizedMatrix {
            weight: self.weight.clone().narrow(0, direction, 1).squeeze_dim(0),
            scale: self.scale.clone().narrow(0, direction, 1),
            zero: self.zero.clone().narrow(0, direction, 1),
        }
    }

    fn sizes(&self) -> [usize; 3] {
        let [directions, inputs, outputs] = self.weight.dims();
        for factor in [self.scale.dims(), self.zero.dims()] {
            ensure!(
                factor == [directions, outputs] || factor == [directions, 1],
                "expected a scale or zero point of shape [{directions}, 1] or [{directions}, {outputs}], \
                 found {factor:?}"
            );
        }
        [directions, inputs, outputs]
    }

    fn into_operands(self) -> backend::Matrices<Dispatch> {
        backend::Matrices {
            weight: Some(self.weight).into_primitive(),
            scale: Some(self.scale).into_primitive(),
            zero: Some(self.zero).into_primitive(),
        }
    }
}

impl Matrix for QuantizedMatrix {
    fn product(&self, x: Tensor<2>) -> Tensor<2> {
        let (weight, zero) = (self.weight.clone(), self.zero.clone());
        matmul_dynamic(x, weight, self.scale.clone(), Some(zero), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrent::{Direction, Lstm, State, Weights, lstm};
    use crate::shape::expand::to_shape;
    use crate::testing::{float, has_all, int, near, noise};

    #[test]
    fn quantized_weights_are_those_of_the_second_direction() {
        let weights = Quantized {
            weight: int([[[1u8, 2]], [[13, 14]]]),
            scale: float([[1f32], [0.5]]),
            zero: int([[0u8], [10]]),
        };
        assert_eq!(weights.sizes(), [2, 1, 2]);
        let y = weights.of(1).product(float([[255f32], [0.0]]));
        near(y, [[382.5f32, 510.0], [0.0, 0.0]], 1e-6);
    }

    #[test]
    fn quantized_weights_give_about_the_same_as_floats() {
        if !has_all(&[burn::tensor::DType::I8]) {
            return;
        }
        let floats = |shape, seed| noise(shape, seed).mul_scalar(100.0).round().div_scalar(100.0);
        let quantized = |x: Tensor<3>| {
            let dtype: burn::tensor::IntDType = burn::tensor::DType::I8.into();
            let directions = x.dims()[0];
            Quantized {
                weight: x.swap_dims(1, 2).mul_scalar(100.0).round().cast(dtype),
                scale: to_shape(float::<2>([[0.01f32]]), [directions, 1]),
                zero: to_shape(int::<2>([[0i8]]), [directions, 1]),
            }
        };
        let (input, recurrent) = (floats([2, 8, 3], 1), floats([2, 8, 2], 2));
        let options = Lstm::new(Direction::Bidirectional);
        let x = noise([4, 2, 3], 3);
        let weights = Weights {
            input: quantized(input.clone()),
            recurrent: quantized(recurrent.clone()),
            bias: None,
            peepholes: None,
            packed: None,
        };
        let (y, _, _) = lstm(x.clone(), weights, State::default(), &options);
        let weights = Weights { input, recurrent, bias: None, peepholes: None, packed: None };
        let (expected, _, _) = lstm(x, weights, State::default(), &options);
        near(y, expected.into_data(), 0.01);
    }
}
