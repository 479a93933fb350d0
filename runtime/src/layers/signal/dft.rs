//! Fourier transforms and their windows.

use burn::module::Module;
use burn::tensor::Tensor;
use onnx_embed_kernels::dft;

use crate::weights::Weights;

/// A transform of signals of equal length.
#[derive(Module, Debug)]
pub struct Dft {
    #[module(skip)]
    plan: dft::Plan,
}

/// A transform of the frames of a signal.
#[derive(Module, Debug)]
pub struct Stft {
    window: Option<Tensor<1>>,
    #[module(skip)]
    plan: dft::Plan,
}

impl Dft {
    pub fn new(options: dft::Dft) -> Self {
        Self { plan: dft::Plan::new(options) }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>, axis: usize) -> Tensor<D> {
        self.plan.dft(x, axis)
    }
}

impl Stft {
    /// Loads the window that frames are multiplied by, if any.
    pub fn load(weights: &Weights<'_>, window: Option<&str>, options: dft::Dft) -> Self {
        Self { window: window.map(|name| weights.tensor(name)), plan: dft::Plan::new(options) }
    }

    pub fn forward(&self, x: Tensor<3>, step: usize) -> Tensor<4> {
        self.plan.stft(x, step, self.window.clone())
    }
}
