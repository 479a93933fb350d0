//! LRN: normalization over adjacent channels.

use burn::tensor::{Tensor, ops::PadMode};

pub use crate::spec::normalize::Lrn;
use crate::{
    backend::{Outcome, call},
    elementwise::elementary::power_by,
    sizes,
    widen::widened,
};

/// Returns `x / (bias + alpha / size * squares)^beta`, where `squares` is the sum of squares over `size`
/// channels around each one.
pub fn lrn<const D: usize>(x: Tensor<D>, size: usize, alpha: f32, beta: f32, bias: f32) -> Tensor<D> {
    if x.dims().contains(&0) {
        return x;
    }
    let (dtype, channels) = (x.dtype(), x.dims()[1]);
    let options = Lrn { size, alpha, beta, bias };
    let same = x.clone();
    if size > 0
        && let Outcome::Float(y) = call!(lrn(same; options))
    {
        return Tensor::from_dispatch(y);
    }
    let x = widened(x);
    let mut pads = [(0, 0); D];
    pads[1] = ((size - 1) / 2, size / 2);
    sizes::padded(&x.dims(), 0, &pads, x.dtype().size());
    let padded = x.clone().square().pad(pads, PadMode::Constant(0.0));
    let squares = (0..size)
        .map(|offset| padded.clone().narrow(1, offset, channels))
        .reduce(|sum, neighbor| sum + neighbor)
        .expect("a neighborhood has elements");
    let base = squares.mul_scalar(alpha / size as f32).add_scalar(bias);
    (x / power_by(base, f64::from(beta))).cast(dtype)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::testing::{float, near, same};

    #[test]
    fn an_input_without_channels_is_empty() {
        let empty = || TensorData::new(Vec::<f32>::new(), [2, 0, 3]);
        same(lrn(float::<3>(empty()), 3, 1.0, 1.0, 1.0), empty());
    }

    #[test]
    fn an_even_window_extends_further_to_the_end() {
        let x = float::<2>([[1f32, 2.0, 3.0]]);
        near(lrn(x, 2, 2.0, 1.0, 1.0), [[1.0 / 6.0, 2.0 / 14.0, 3.0 / 10.0f32]], 1e-6);
    }

    #[test]
    fn windows_end_at_the_first_and_last_channel() {
        let x = float::<3>([[[1f32], [2.0], [3.0]]]);
        near(
            lrn(x, 3, 3.0, 0.5, 0.0),
            [[[1.0 / 5f32.sqrt()], [2.0 / 14f32.sqrt()], [3.0 / 13f32.sqrt()]]],
            1e-6,
        );
    }
}
