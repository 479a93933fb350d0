//! Layers that hold their weights.

mod conv;
mod conv_transpose;
mod linear;
mod matmul_nbits;
mod norm;
mod recurrent;
mod spectrum;

pub use conv::{Conv1d, Conv2d, Conv3d};
pub use conv_transpose::{ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use linear::Linear;
pub use matmul_nbits::MatMulNBits;
pub use norm::{BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm};
pub use recurrent::{Gru, Lstm, Rnn};
pub use spectrum::{Dft, Stft};
