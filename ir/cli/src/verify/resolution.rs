//! How finely the numbers of a model lie.

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::inspect::{Constant, inspect};
use onnx_embed_ir::options::Options;

use crate::args::Precision;
use crate::models::Model;

/// The distance of neighbouring numbers, as a share of them, in the type of most of the model's floats where
/// that has 16 bits, else 0.
///
/// Such a model permits a rounding to 16 bits behind each of its nodes and asks for none. No tolerance below
/// this one makes sense: ONNX Runtime itself rounds before and behind some operators and not between others,
/// and both the exact result and the one that is rounded everywhere are as far from its answers.
pub fn resolution(model: &Model) -> f64 {
    match inspect(&model.path, &Options::default()) {
        Ok(inspection) => of(&inspection.constants),
        // The compiler tells what is wrong with the model.
        Err(_) => 0.0,
    }
}

/// What computing in 16 bits may cost, in shares of the largest element: some roundings of f16, and the same
/// number of bf16, which has three bits less.
pub fn of_precision(precision: Precision) -> f64 {
    match precision {
        Precision::AsIs => 0.0,
        Precision::F16 => 1e-2,
        Precision::Bf16 => 8e-2,
    }
}

fn of(constants: &[Constant]) -> f64 {
    let count = |dtype: DType| {
        let of_type = constants.iter().filter(|constant| constant.dtype == dtype);
        of_type.map(|constant| constant.sizes.iter().product::<usize>()).sum()
    };
    let wide: usize = [DType::F32, DType::F64].map(count).iter().sum();
    match [DType::F16, DType::Bf16].map(count) {
        [half, brain] if half > wide && half >= brain => 2f64.powi(-10),
        [_, brain] if brain > wide => 2f64.powi(-7),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(dtype: DType, size: usize) -> Constant {
        Constant { name: String::new(), dtype, sizes: vec![size], bytes: 0 }
    }

    #[test]
    fn most_floats_decide() {
        let few = [constant(DType::F16, 9), constant(DType::F32, 10)];
        assert_eq!(of(&few), 0.0);
        let most = [constant(DType::F16, 9), constant(DType::F32, 1)];
        assert_eq!(of(&most), 2f64.powi(-10));
        let whole = [constant(DType::I64, 9), constant(DType::Bf16, 1)];
        assert_eq!(of(&whole), 2f64.powi(-7));
        assert_eq!(of(&[]), 0.0);
    }
}
