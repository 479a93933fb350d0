//! The axis of the batch that Scan of opset 8 has.

use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::ops::sizes;
use crate::types::TensorType;

/// Takes the axis of the batch away, whose size all have in common.
pub fn take(batch: &mut Option<Dim>, tensor: &mut TensorType) -> Result<(), Problem> {
    let own = without(tensor)?;
    if let Some(before) = batch.as_ref() {
        sizes::agree("the batch", before, &own)?;
    }
    *batch = Some(own);
    Ok(())
}

/// Takes the first axis away.
pub fn without(tensor: &mut TensorType) -> Result<Dim, Problem> {
    if tensor.shape.is_empty() {
        Err(Problem::new("a scalar has no axis for the batch"))
    } else {
        Ok(tensor.shape.remove(0))
    }
}
