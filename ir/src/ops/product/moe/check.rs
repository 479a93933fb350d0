//! Sizes of the operands of MoE and QMoE.

use super::{Experts, Fusion};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::sizes;

/// Sizes that the weights of all products share.
pub struct Sizes {
    pub experts: Dim,
    hidden: Dim,
    /// Number of inputs of the second product.
    inner: Dim,
    /// Number of outputs of the first product.
    first: Dim,
}

impl Sizes {
    /// Checks the operand and the scores, and which weights there are.
    pub fn new(cx: &Infer<'_>, experts: &Experts, [first, _, third]: [usize; 3]) -> Result<Self, Problem> {
        let (x, router) = (cx.tensor(0)?, cx.tensor_of_rank(1, 2)?);
        if ![2, 3].contains(&x.rank()) {
            return Err(Problem::expected("the input", x, "rank 2 or 3"));
        }
        let (Some((hidden, outer)), [rows, count]) = (x.shape.split_last(), router.shape.as_slice()) else {
            return Err(Problem::expected("`router_probs`", router, "rank 2"));
        };
        if let Some(all) = Dim::product(outer) {
            sizes::equal(("`router_probs`", rows, "rows"), ("the input", &all, "rows"))?;
        }
        if count.fixed().is_some_and(|count| experts.chosen > count) {
            let expected = format_args!("at most {count}, the number of experts");
            return Err(Problem::expected("`k`", experts.chosen, expected));
        }
        let has_third = cx.has(third);
        match experts.fusion {
            Some(Fusion::Third) if !has_third => {
                let problem =
                    Problem::new("`fc3_experts_weights` is missing, which `swiglu_fusion` of 0 requires");
                return Err(problem);
            }
            Some(Fusion::Odd | Fusion::SecondHalf) if has_third => {
                return Err(Problem::new(
                    "`fc3_experts_weights` is present, but the first product computes its results",
                ));
            }
            _ => {}
        }
        let weight = cx.tensor_of_rank(first, 3)?;
        let outputs = weight.shape.get(1).cloned().unwrap_or_default();
        let parts = experts.outputs_of_first();
        sizes::multiple(("`fc1_experts_weights`", &outputs, "outputs"), (parts, "parts"))?;
        let inner = match parts {
            1 => outputs.clone(),
            parts => outputs.div(&Dim::from(parts)).unwrap_or_else(Dim::any),
        };
        Ok(Sizes { experts: count.clone(), hidden: hidden.clone(), inner, first: outputs })
    }

    /// Returns the number of outputs and inputs of a product.
    pub fn of(&self, product: usize) -> [&Dim; 2] {
        match product {
            0 => [&self.first, &self.hidden],
            1 => [&self.hidden, &self.inner],
            _ => [&self.inner, &self.hidden],
        }
    }
}

/// Reports an input, if it is present, that is known to have another shape.
pub fn shaped(cx: &Infer<'_>, input: usize, shape: &[&Dim]) -> Result<(), Problem> {
    if !cx.has(input) {
        return Ok(());
    }
    let shape: Vec<Dim> = shape.iter().map(|&size| size.clone()).collect();
    sizes::shaped(&format!("input {input}"), &cx.tensor(input)?, &shape)
}

/// Sets the type of the output, which is that of the input.
pub fn output(cx: &mut Infer<'_>) -> Result<(), Problem> {
    let x = cx.tensor(0)?;
    cx.output(0, x.dtype, x.shape);
    Ok(())
}

/// Returns `true` if operands that fit at compile time fit in every run.
pub fn is_proven(cx: &Emit<'_, '_>) -> bool {
    let is_number = |dim: &Dim| dim.number().is_some();
    let shape =
        |input: usize| cx.tensor_type(input).map(|tensor| tensor.shape.as_slice()).unwrap_or_default();
    let weights = (2..cx.inputs()).filter(|&input| cx.has(input)).flat_map(shape);
    let (Some((hidden, outer)), [rows, experts]) = (shape(0).split_last(), shape(1)) else {
        return false;
    };
    let has_rows = Dim::product(outer).is_some_and(|all| all == *rows);
    has_rows && is_number(hidden) && is_number(experts) && weights.into_iter().all(is_number)
}
