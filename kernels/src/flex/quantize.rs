//! Operators on quantized integers, each a single pass over its tensors.

mod dynamic;
mod element;
mod linear;
mod max_pool;
mod mean;
mod pair;
mod parts;
mod softmax;
mod unary;

pub use dynamic::quantize_dynamic;
pub(super) use element::{Integer, ROUNDING, by_dtype};
pub use linear::{dequantize, dequantize_along, quantize, quantize_along};
pub use max_pool::max_pool;
pub use mean::mean;
pub use pair::combine;
pub(super) use parts::elements;
pub use unary::compute;
