//! Resolution of the floats of a model.

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::inspect::{Constant, inspect};
use onnx_embed_ir::options::Options;

use crate::models::Model;
use crate::settings::Precision;

/// Returns the relative distance of adjacent floats if most float constants of the model have a type of 16 bits.
/// Otherwise returns 0.
///
/// Such a model permits rounding to 16 bits after each of its nodes, but does not require it. No smaller tolerance
/// makes sense: ONNX Runtime itself rounds before and after some operators and not between others. Its results are this
/// far from both the exact result and the one that is rounded everywhere.
pub fn resolution(model: &Model) -> f64 {
    match inspect(&model.path, &Options::default()) {
        Ok(inspection) => of(&inspection.constants),
        // The compiler reports the problems of the model.
        Err(_) => 0.0,
    }
}

/// Returns the error that computation in 16 bits may cause, relative to the largest element: some roundings of f16, and
/// the same number of roundings of bf16, which has three bits less.
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
