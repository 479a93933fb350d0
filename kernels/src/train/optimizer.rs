//! Steps of optimizers: Adagrad, Adam, Momentum.

use burn::tensor::Tensor;
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::spec::{equal_shapes, operand};

/// Gradient descent, divided by the root of the accumulated squared gradients.
#[derive(Clone, Copy, Debug)]
pub struct Adagrad {
    /// Decayed learning rate.
    pub rate: f64,
    pub regularization: f64,
    pub epsilon: f64,
}

/// Descent along the running mean of the gradients, divided by the root of the running mean of their squares.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// Learning rate, corrected for the bias of means that have just begun.
    pub rate: f64,
    /// Decay factors (beta) of the means of the gradients and of their squares.
    pub keep: [f64; 2],
    /// L2 regularization of the gradient, and decay of the weights after the step.
    pub regularization: [f64; 2],
    pub epsilon: f64,
}

/// Gradient descent with momentum.
#[derive(Clone, Copy, Debug)]
pub struct Momentum {
    pub rate: f64,
    /// Factor on the previous momentum (alpha), and on the gradient (beta).
    pub keep: f64,
    pub take: f64,
    pub regularization: f64,
    /// Nesterov momentum: the gradient step is applied on top of the new momentum.
    pub nesterov: bool,
}

impl Adagrad {
    /// Returns the step after `count` others; the rate is `rate / (1 + count * decay)`.
    pub fn new([rate, decay]: [f64; 2], count: i64, regularization: f64, epsilon: f64) -> Self {
        Self { rate: rate / (1.0 + count as f64 * decay), regularization, epsilon }
    }

    /// Returns the new tensor and accumulated squares.
    #[inline(never)]
    pub fn step<const D: usize>(
        &self,
        x: Tensor<D>,
        gradient: Tensor<D>,
        squares: Tensor<D>,
    ) -> (Tensor<D>, Tensor<D>) {
        ensure_alike(&x, &gradient, [("tensor of squares", &squares)]);
        let gradient = regularized(&x, gradient, self.regularization);
        let squares = squares + gradient.clone().square();
        let scale = squares.clone().sqrt().add_scalar(self.epsilon);
        (x - gradient.mul_scalar(self.rate) / scale, squares)
    }
}

impl Adam {
    /// Returns the step after `count` others.
    pub fn new(rate: f64, count: i64, keep: [f64; 2], regularization: [f64; 2], epsilon: f64) -> Self {
        let left = keep.map(|keep| 1.0 - keep.powf(count as f64));
        let adjusted = if count > 0 { rate * left[1].sqrt() / left[0] } else { rate };
        Self { rate: adjusted, keep, regularization, epsilon }
    }

    /// Returns the new tensor, mean of gradients and mean of squares.
    #[inline(never)]
    pub fn step<const D: usize>(
        &self,
        x: Tensor<D>,
        gradient: Tensor<D>,
        mean: Tensor<D>,
        squares: Tensor<D>,
    ) -> (Tensor<D>, Tensor<D>, Tensor<D>) {
        let means = [("mean", &mean), ("tensor of squares", &squares)];
        ensure_alike(&x, &gradient, means);
        let gradient = regularized(&x, gradient, self.regularization[0]);
        let mixed =
            |old: Tensor<D>, new: Tensor<D>, keep: f64| old.mul_scalar(keep) + new.mul_scalar(1.0 - keep);
        let squares = mixed(squares, gradient.clone().square(), self.keep[1]);
        let mean = mixed(mean, gradient, self.keep[0]);
        let scale = squares.clone().sqrt().add_scalar(self.epsilon);
        let x = x - (mean.clone() / scale).mul_scalar(self.rate);
        let x = match self.regularization[1] {
            0.0 => x,
            after => x.mul_scalar(1.0 - after),
        };
        (x, mean, squares)
    }
}

impl Momentum {
    /// Returns the step after `count` others; the first one takes the whole gradient.
    pub fn new(rate: f64, count: i64, [keep, take]: [f64; 2], regularization: f64, nesterov: bool) -> Self {
        Self { rate, keep, take: if count > 0 { take } else { 1.0 }, regularization, nesterov }
    }

    /// Returns the new tensor and momentum.
    #[inline(never)]
    pub fn step<const D: usize>(
        &self,
        x: Tensor<D>,
        gradient: Tensor<D>,
        momentum: Tensor<D>,
    ) -> (Tensor<D>, Tensor<D>) {
        ensure_alike(&x, &gradient, [("momentum", &momentum)]);
        let gradient = regularized(&x, gradient, self.regularization);
        let taken = gradient.clone().mul_scalar(self.take);
        let momentum = momentum.mul_scalar(self.keep) + taken;
        let way =
            if self.nesterov { gradient + momentum.clone().mul_scalar(self.keep) } else { momentum.clone() };
        (x - way.mul_scalar(self.rate), momentum)
    }
}

/// Fails unless the gradient and the state of the optimizer have the shape of the trained tensor.
fn ensure_alike<const D: usize, const N: usize>(
    x: &Tensor<D>,
    gradient: &Tensor<D>,
    kept: [(&str, &Tensor<D>); N],
) {
    let dims = x.dims();
    let trained = operand("trained tensor", &dims);
    equal_shapes(operand("gradient", &gradient.dims()), trained);
    for (name, kept) in kept {
        equal_shapes(operand(name, &kept.dims()), trained);
    }
}

/// Returns the gradient plus `regularization * x`, the gradient of L2 regularization.
fn regularized<const D: usize>(x: &Tensor<D>, gradient: Tensor<D>, regularization: f64) -> Tensor<D> {
    match regularization {
        0.0 => gradient,
        _ => x.clone().mul_scalar(regularization) + gradient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near};

    #[test]
    fn adagrad_divides_by_the_root_of_the_squares() {
        let step = Adagrad::new([1.0, 0.5], 2, 1.0, 1.0);
        assert_eq!(step.rate, 0.5);
        let (x, squares) = step.step(float::<1>([1.0f64, 0.0]), float([1.0f64, 3.0]), float([5.0f64, 16.0]));
        near(x, [1.0 - 0.5 * 2.0 / 4.0, -0.5 * 3.0 / 6.0], 1e-12);
        near(squares, [9.0f64, 25.0], 1e-12);
    }

    #[test]
    fn adam_adjusts_its_rate_after_the_first_step() {
        assert_eq!(Adam::new(0.5, 0, [0.9, 0.99], [0.0; 2], 0.0).rate, 0.5);
        let step = Adam::new(0.5, 2, [0.5, 0.75], [0.0, 0.5], 1.0);
        let rate = 0.5 * (1.0f64 - 0.5625).sqrt() / 0.75;
        let (x, mean, squares) =
            step.step(float::<2>([[2.0f32]]), float([[4.0f32]]), float([[2.0f32]]), float([[0.0f32]]));
        near(x, [[(0.5 * (2.0 - rate * 3.0 / 3.0)) as f32]], 1e-6);
        near(mean, [[3.0f32]], 1e-6);
        near(squares, [[4.0f32]], 1e-6);
    }

    #[test]
    fn momentum_takes_the_whole_first_gradient() {
        let tensors = || (float::<1>([1.0f32]), float([2.0f32]), float([4.0f32]));
        let run = |count, nesterov| {
            let step = Momentum::new(0.5, count, [0.25, 0.125], 0.0, nesterov);
            let (x, gradient, momentum) = tensors();
            step.step(x, gradient, momentum)
        };
        let (x, momentum) = run(0, false);
        near(x, [1.0f32 - 0.5 * 3.0], 1e-6);
        near(momentum, [3.0f32], 1e-6);
        let (x, momentum) = run(1, true);
        near(x, [1.0f32 - 0.5 * (2.0 + 0.25 * 1.25)], 1e-6);
        near(momentum, [1.25f32], 1e-6);
    }
}
