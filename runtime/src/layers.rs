//! Layers that own their weights.
//!
//! Modules have the same names as those of the operators and kernels.

mod classical;
mod convolution;
mod normalize;
mod product;
mod quantize;
mod recurrent;
mod signal;

pub use classical::classes::Labels;
pub use classical::linear::{LinearClassifier, LinearRegressor};
pub use classical::svm::{Machine, SvmClassifier, SvmRegressor};
pub use classical::trees::{TreeClassifier, TreeRegressor, Trees};
pub use convolution::conv::{Conv1d, Conv2d, Conv3d};
pub use convolution::conv_transpose::{ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use normalize::batch::BatchNorm;
pub use normalize::group::{GroupNorm, InstanceNorm};
pub use normalize::layer::{LayerNorm, RmsNorm};
pub use onnx_embed_kernels::epilogue::Activation;
pub use product::linear::{Linear, SharedLinear};
pub use product::matmul_nbits::MatMulNBits;
pub use product::moe::{PackedExperts, QMoE};
pub use quantize::integer::{QuantizedWeight, SharedQuantizedWeight};
pub use recurrent::{Gru, Lstm, QuantizedLstm, Rnn};
pub use signal::dft::{Dft, Stft};
