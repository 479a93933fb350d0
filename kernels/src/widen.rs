//! Half precision computed in single precision.

use burn::tensor::{DType, Tensor};

/// Casts f16 and bf16 to f32; other dtypes are unchanged.
pub fn widened<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::float;

    #[test]
    fn only_half_precision_is_widened() {
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
