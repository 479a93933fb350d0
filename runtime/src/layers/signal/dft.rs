//! Fourier transforms, with their matrices where they need one.

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use onnx_embed_kernels::dft;
use onnx_embed_kernels::dtype::lowered;

use crate::ElementType;
use crate::weights::Weights;

/// A transform of signals of one size.
#[derive(Module, Debug)]
pub struct Dft {
    /// What there is no faster way for.
    matrix: Option<Tensor<2>>,
    #[module(skip)]
    options: dft::Dft,
}

/// A transform of the frames of a signal.
#[derive(Module, Debug)]
pub struct Stft {
    matrix: Tensor<2>,
    #[module(skip)]
    options: dft::Dft,
}

impl Dft {
    /// For signals of `size` numbers of `parts` parts each.
    pub fn load(
        weights: &Weights<'_>,
        dtype: ElementType,
        [size, parts]: [usize; 2],
        options: dft::Dft,
    ) -> Self {
        let device = weights.device();
        let matrix = || options.matrix(size, parts, device, of_device(device, dtype));
        Self {
            matrix: (!options.is_fast()).then(matrix),
            options,
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>, axis: usize) -> Tensor<D> {
        match self.matrix.clone() {
            Some(matrix) => dft::dft_by(x, axis, matrix, &self.options),
            None => dft::dft(x, axis, &self.options),
        }
    }
}

impl Stft {
    /// For signals of `parts` parts each, with the name of their window.
    pub fn load(
        weights: &Weights<'_>,
        dtype: ElementType,
        parts: usize,
        window: Option<&str>,
        options: dft::Dft,
    ) -> Self {
        let device = weights.device();
        let matrix = options.frame_matrix(parts, device, of_device(device, dtype));
        Self {
            matrix: dft::windowed(matrix, window.map(|name| weights.tensor(name))),
            options,
        }
    }

    pub fn forward(&self, x: Tensor<3>, step: usize) -> Tensor<4> {
        dft::stft_by(x, step, self.matrix.clone(), &self.options)
    }
}

fn of_device(device: &Device, dtype: ElementType) -> DType {
    lowered(device, dtype.carrier().unwrap_or(DType::F32))
}
