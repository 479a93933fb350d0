//! The transform as a product with a matrix.

use alloc::vec;
use core::f64::consts::TAU;

use burn::tensor::{DType, Device, Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::Dft;
use crate::shape::WithShape;

impl Dft {
    /// Returns the matrix by which signals of `size` numbers of `parts` parts each are multiplied from the
    /// right, all parts in one row; in f64 if `dtype` is, otherwise in f32.
    pub(super) fn matrix(&self, [size, parts]: [usize; 2], device: &Device, dtype: DType) -> Tensor<2> {
        let (outputs, out_parts) = (self.outputs(), self.parts());
        let columns = outputs * out_parts;
        let mut matrix = vec![0.0; size * parts * columns];
        for at in 0..size.min(self.inputs()) {
            for output in 0..outputs {
                let [real, imaginary] = self.factor(at, output);
                let factor = [[real, imaginary], [-imaginary, real]];
                for (part, factor) in factor.iter().enumerate().take(parts) {
                    for (column, value) in factor.iter().enumerate().take(out_parts) {
                        matrix[(at * parts + part) * columns + output * out_parts + column] = *value;
                    }
                }
            }
        }
        let dtype = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let data = TensorData::new(matrix, [size * parts, columns]).convert_dtype(dtype);
        Tensor::from_data(data, (device, dtype))
    }

    /// Returns the factor of an input number in an output number.
    fn factor(&self, at: usize, output: usize) -> [f64; 2] {
        let angle = TAU * ((at * output) % self.length) as f64 / self.length as f64;
        let angle = if self.inverse { angle } else { -angle };
        let whole = self.length as f64;
        let weight = match (self.inverse, self.onesided) {
            (false, _) => 1.0,
            (true, false) => 1.0 / whole,
            // The other half of the spectrum mirrors this one, without its ends.
            (true, true) if at == 0 || 2 * at == self.length => 1.0 / whole,
            (true, true) => 2.0 / whole,
        };
        [weight * angle.cos(), weight * angle.sin()]
    }
}

/// Returns the matrix for signals that are multiplied by a window first.
pub fn windowed(matrix: Tensor<2>, window: Option<Tensor<1>>) -> Tensor<2> {
    let Some(window) = window else { return matrix };
    let [rows, columns] = matrix.dims();
    let size = window.dims()[0];
    let window = window.cast(matrix.dtype()).with_shape([size, 1, 1]);
    let matrix = matrix.with_shape([size, rows / size, columns]) * window;
    matrix.with_shape([rows, columns])
}
