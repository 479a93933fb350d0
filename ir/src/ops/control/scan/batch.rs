//! The batch axis of Scan in opset 8.

use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::ops::sizes;
use crate::types::TensorType;

/// Removes the batch axis of a tensor and checks that its size is the same in all tensors.
pub fn take(batch: &mut Option<Dim>, tensor: &mut TensorType) -> Result<(), Problem> {
    let own = without(tensor)?;
    if let Some(before) = batch.as_ref() {
        sizes::agree("the batch size", before, &own)?;
    }
    *batch = Some(own);
    Ok(())
}

/// Removes the first axis and returns its size.
pub fn without(tensor: &mut TensorType) -> Result<Dim, Problem> {
    if tensor.shape.is_empty() {
        Err(Problem::new(format!("an input is {tensor}, expected a tensor with a batch axis")))
    } else {
        Ok(tensor.shape.remove(0))
    }
}
