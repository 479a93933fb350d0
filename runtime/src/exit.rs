//! Conversion of the outputs of a typed `forward`.

use crate::ElementType;
use crate::entry::Item;

/// Rounds 16-bit floats of an output to their precision, in the dtype in which its device stores them.
pub fn rounded<T: Item>(output: T, dtype: ElementType) -> T {
    match dtype.carrier() {
        Some(carrier) => output.leave(carrier),
        None => output,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, Tensor, TensorData};
    use half::{bf16, f16};

    use super::*;

    fn computed() -> Tensor<1> {
        Tensor::from_data([2049.0, 1e5], (&Device::flex(), DType::F32))
    }

    #[test]
    fn results_get_as_many_bits_as_the_model_says() {
        let half = rounded(computed(), ElementType::Float16);
        let expected = [2048.0, f32::INFINITY].map(f16::from_f32);
        assert_eq!(half.into_data(), TensorData::from(expected));
        let half = rounded(computed(), ElementType::BFloat16);
        let expected = [2048.0, 1e5].map(bf16::from_f32);
        assert_eq!(half.into_data(), TensorData::from(expected));
    }

    #[test]
    fn items_of_containers_are_rounded() {
        let items = rounded(vec![Some(computed()), None], ElementType::Float16);
        let dtypes: Vec<_> = items.iter().flatten().map(Tensor::dtype).collect();
        assert_eq!(dtypes, [DType::F16]);
    }
}
