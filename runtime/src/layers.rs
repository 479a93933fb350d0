//! Layers that hold their weights.

mod classes;
mod conv;
mod conv_transpose;
mod linear;
mod linear_model;
mod matmul_nbits;
mod norm;
mod recurrent;
mod spectrum;
mod svm;
mod trees;

pub use classes::Labels;
pub use conv::{Conv1d, Conv2d, Conv3d};
pub use conv_transpose::{ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use linear::Linear;
pub use linear_model::{LinearClassifier, LinearRegressor};
pub use matmul_nbits::MatMulNBits;
pub use norm::{BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm};
pub use recurrent::{Gru, Lstm, Rnn};
pub use spectrum::{Dft, Stft};
pub use svm::{Machine, SvmClassifier, SvmRegressor};
pub use trees::{TreeClassifier, TreeRegressor, Trees};
