//! Half precision computed in single precision.

use burn::tensor::{DType, Device, Tensor};

/// The same values in f32 where they are f16 or bf16, else unchanged.
pub fn widened<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}

/// Runs a convolution in f32 where the device would sum halves in halves and lose digits with every term.
pub fn in_wide_sums<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<D>,
    bias: Option<Tensor<1>>,
    run: impl FnOnce(Tensor<D>, Tensor<D>, Option<Tensor<1>>) -> Tensor<D>,
) -> Tensor<D> {
    let dtype = x.dtype();
    if matches!(dtype, DType::F16 | DType::BF16) && is_flex(&x.device()) {
        run(widened(x), widened(weight), bias.map(widened)).cast(dtype)
    } else {
        run(x, weight, bias)
    }
}

#[cfg(feature = "flex")]
pub fn is_flex(device: &Device) -> bool {
    *device == Device::flex()
}

#[cfg(not(feature = "flex"))]
pub fn is_flex(_: &Device) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::float;

    #[test]
    fn only_halves_are_widened() {
        let x = float::<1>([1.5f32, -2.0]);
        for (dtype, widest) in [
            (DType::F16, DType::F32),
            (DType::BF16, DType::F32),
            (DType::F32, DType::F32),
            (DType::F64, DType::F64),
        ] {
            assert_eq!(widened(x.clone().cast(dtype)).dtype(), widest);
        }
    }
}
