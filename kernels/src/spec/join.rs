//! Tensors one behind another.

use super::types::TensorType;

/// Returns the type of tensors of one dtype, at least one, joined along an axis; their other sizes are equal.
pub fn result(parts: &[TensorType], axis: usize) -> TensorType {
    let mut joined = parts[0].clone();
    joined.shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    joined
}
