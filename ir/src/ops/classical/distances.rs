//! DividedDistances, an operator that only rules create.

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::rust::{Code, code};

/// Name of the operator, which ONNX lacks.
pub const KIND: &str = "DividedDistances";

/// Sums of `(x - center)² / divisor` over the features of rows, for each row of `[rows, features]` and each of the centers and
/// divisors, `[centers, features]`.
#[derive(Debug)]
pub struct DividedDistances;

attributes!(struct DividedDistances);

impl Operator for DividedDistances {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 2)?;
        let (centers, divisors) = (cx.tensor_of_rank(1, 2)?, cx.tensor_of_rank(2, 2)?);
        if divisors != centers {
            return Err(Problem::expected("the divisors", divisors, centers));
        }
        let sizes = [&x.shape, &centers.shape].map(|shape| shape.first().cloned().unwrap_or_default());
        cx.output(0, x.dtype, sizes.into());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, centers, divisors) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        Ok(code!(ops::distances::divided_distances(#x, #centers, #divisors)))
    }
}
