//! What the inputs of RNN, GRU and LSTM must be.

use super::Recurrent;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::infer::Infer;
use crate::ops::sizes;

impl Recurrent {
    /// Ranks and types of the optional inputs.
    pub(super) fn check_types(&self, cx: &Infer<'_>, dtype: DType) -> Result<(), Problem> {
        if !dtype.is_float() {
            return Err(Problem::new(format!("the input is of type {dtype}")));
        }
        let ranks = [(1, 3), (2, 3), (3, 2), (4, 1), (5, 3), (6, 3), (7, 2)];
        for (input, rank) in ranks.into_iter().filter(|&(input, _)| cx.has(input)) {
            let held = cx.tensor_of_rank(input, rank)?;
            let fits = match input {
                4 => true,
                1 | 2 if self.quantized => matches!(held.dtype, DType::U8 | DType::I8),
                _ => held.dtype == dtype,
            };
            if !fits {
                return Err(Problem::new(format!(
                    "input {input} is {held}, while the first input is of type {dtype}"
                )));
            }
        }
        let factors: &[usize] = if self.quantized { &[8, 9, 10, 11] } else { &[] };
        for &input in factors {
            let (held, weight) = (
                cx.tensor(input)?,
                cx.tensor(if input < 10 { 1 } else { 2 })?,
            );
            let wanted = if input % 2 == 0 { dtype } else { weight.dtype };
            if held.dtype != wanted || !(1..=2).contains(&held.rank()) {
                return Err(Problem::new(format!(
                    "input {input} is {held}, not of type {wanted} for each direction"
                )));
            }
        }
        Ok(())
    }

    /// Sizes of weights, states and lengths.
    pub(super) fn check_sizes(
        &self,
        cx: &Infer<'_>,
        directions: &Dim,
        hidden: &Dim,
    ) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let [first, second, features] = x.shape.as_slice() else {
            return Ok(());
        };
        let (steps, batch) = if self.batch_first {
            (second, first)
        } else {
            (first, second)
        };
        let many = |count: i64| hidden.mul(&Dim::from(count));
        let gates = self.cell.gates();
        let (Some(rows), Some(biases), Some(peepholes)) = (many(gates), many(2 * gates), many(3))
        else {
            return Ok(());
        };
        let weight = |inputs: &Dim| {
            if self.quantized {
                [directions, inputs, &rows].map(Clone::clone)
            } else {
                [directions, &rows, inputs].map(Clone::clone)
            }
        };
        let state = if self.batch_first {
            [batch, directions, hidden].map(Clone::clone)
        } else {
            [directions, batch, hidden].map(Clone::clone)
        };
        let vector = |size: &Dim| [directions, size].map(Clone::clone);
        sizes::shaped("the weight", &cx.tensor(1)?, &weight(features))?;
        sizes::shaped("the recurrent weight", &cx.tensor(2)?, &weight(hidden))?;
        let optional: [(usize, &str, &[Dim]); 5] = [
            (3, "the bias", &vector(&biases)),
            (4, "`sequence_lens`", std::slice::from_ref(batch)),
            (5, "the initial state", &state),
            (6, "the initial cell", &state),
            (7, "the tensor of peepholes", &vector(&peepholes)),
        ];
        for (input, what, shape) in optional.into_iter().filter(|&(input, ..)| cx.has(input)) {
            sizes::shaped(what, &cx.tensor(input)?, shape)?;
        }
        for length in cx.ints(4).unwrap_or_default() {
            sizes::at_most(
                ("a sequence", &length, "steps"),
                ("the input", steps, "steps"),
            )?;
        }
        Ok(())
    }
}
