//! Checks of the inputs of RNN, GRU and LSTM.

use super::Recurrent;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::infer::Infer;
use crate::ops::sizes;
use crate::types::TensorType;

impl Recurrent {
    /// Checks ranks and types of the weights and optional inputs.
    pub(super) fn check_types(&self, cx: &Infer<'_>, x: &TensorType) -> Result<(), Problem> {
        if !x.dtype.is_float() {
            return Err(Problem::expected("the input", x, "floats"));
        }
        let ranks = [(1, 3), (2, 3), (3, 2), (4, 1), (5, 3), (6, 3), (7, 2)];
        for (input, rank) in ranks.into_iter().filter(|&(input, _)| cx.has(input)) {
            let tensor = cx.tensor_of_rank(input, rank)?;
            let what = format!("input {input}");
            match input {
                4 => {}
                1 | 2 if self.quantized => {
                    if !matches!(tensor.dtype, DType::U8 | DType::I8) {
                        return Err(Problem::expected(what, tensor, "uint8 or int8"));
                    }
                }
                _ => sizes::same_type((&what, &tensor), ("the input", x))?,
            }
        }
        let factors: &[usize] = if self.quantized { &[8, 9, 10, 11] } else { &[] };
        for &input in factors {
            let (operand, weight) = (cx.tensor(input)?, cx.tensor(if input < 10 { 1 } else { 2 })?);
            let dtype = if input % 2 == 0 { x.dtype } else { weight.dtype };
            if operand.dtype != dtype || !(1..=2).contains(&operand.rank()) {
                let expected = format_args!("{dtype} of rank 1 or 2");
                return Err(Problem::expected(format_args!("input {input}"), operand, expected));
            }
        }
        Ok(())
    }

    /// Checks the sizes of weights, states and lengths.
    pub(super) fn check_sizes(&self, cx: &Infer<'_>, directions: &Dim, hidden: &Dim) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let [first, second, features] = x.shape.as_slice() else {
            return Ok(());
        };
        let (steps, batch) = if self.batch_first { (second, first) } else { (first, second) };
        let many = |count: i64| hidden.mul(&Dim::from(count));
        let gates = self.cell.gates();
        let (Some(rows), Some(biases), Some(peepholes)) = (many(gates), many(2 * gates), many(3)) else {
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
            (5, "the initial hidden state", &state),
            (6, "the initial cell state", &state),
            (7, "the peephole weight", &vector(&peepholes)),
        ];
        for (input, what, shape) in optional.into_iter().filter(|&(input, ..)| cx.has(input)) {
            sizes::shaped(what, &cx.tensor(input)?, shape)?;
        }
        for length in cx.ints(4).unwrap_or_default() {
            sizes::at_most(("a sequence", &length, "time steps"), ("the input", steps, "time steps"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn weights_fit_the_input_and_each_other() {
        problems(
            &[
                r#"(float[5, 2, 4] x, float[1, 12, 5] w, float[1, 12, 3] r) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 9, 4] w, float[1, 12, 3] r) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 4] r) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[2, 9, 4] w, float[2, 9, 3] r) => (float[a, b, c, d] y) { y = GRU <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[2, 9, 4] w, float[2, 9, 3] r) => (float[a, b, c, d] y) { y = GRU <hidden_size = 3, direction = "bidirectional"> (x, w, r) }"#,
                r#"(int32[5, 2, 4] x, int32[1, 3, 4] w, int32[1, 3, 3] r) => (int32[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, double[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r) }"#,
            ],
            expect![[r#"
                the weight is float32[1, 12, 5], expected shape [1, 12, 4]
                the weight is float32[1, 9, 4], expected shape [1, 12, 4]
                `hidden_size` is 3, expected 4 as in the recurrent weight
                the weight is float32[2, 9, 4], expected shape [1, 9, 4]
                fine
                the input is int32[5, 2, 4], expected floats
                input 1 has type float64, but the input has type float32
            "#]],
        );
    }

    #[test]
    fn biases_states_and_lengths_fit_too() {
        problems(
            &[
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, float[1, 6] b) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r, b) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, float[1, 3] b) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r, b) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, int32[2] l) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r, , l) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, int32[3] l) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r, , l) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, float[1, 2, 3] h) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r, , , h) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, float[2, 1, 3] h) => (float[a, b, c, d] y) { y = RNN <hidden_size = 3> (x, w, r, , , h) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r, float[1, 2, 4] c) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3> (x, w, r, , , , c) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r, float[1, 12] p) => (float[a, b, c, d] y) { y = LSTM <hidden_size = 3> (x, w, r, , , , , p) }"#,
            ],
            expect![[r#"
                fine
                the bias is float32[1, 3], expected shape [1, 6]
                fine
                `sequence_lens` is int32[3], expected shape [2]
                fine
                the initial hidden state is float32[2, 1, 3], expected shape [1, 2, 3]
                the initial cell state is float32[1, 2, 4], expected shape [1, 2, 3]
                the peephole weight is float32[1, 12], expected shape [1, 9]
            "#]],
        );
    }

    #[test]
    fn no_sequence_is_longer_than_the_input() {
        problems(
            &[
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) <int32[2] l = {5, 6}> { y = RNN <hidden_size = 3> (x, w, r, , l) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[a, b, c, d] y) <int32[2] l = {5, 0}> { y = RNN <hidden_size = 3> (x, w, r, , l) }"#,
            ],
            expect![[r#"
                a sequence has 6 time steps, but the input has only 5 time steps
                fine
            "#]],
        );
    }

    #[test]
    fn sizes_must_fit() {
        problems(
            &[
                r#"(float[5, 2, 4] x, float[1, 12, 3] w, float[1, 12, 3] r) => (float[5, 1, 2, 3] y) { y = LSTM <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r) => (float[5, 1, 2, 3] y) { y = LSTM <hidden_size = 99> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 12, 4] w, float[1, 9, 3] r) => (float[5, 1, 2, 3] y) { y = LSTM <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[2, 12, 4] w, float[2, 12, 3] r) => (float[5, 1, 2, 3] y) { y = LSTM <hidden_size = 3> (x, w, r) }"#,
                r#"(float[5, 2, 4] x, float[1, 9, 4] w, float[1, 9, 3] r, float[1, 9] b) => (float[5, 1, 2, 3] y) { y = GRU <hidden_size = 3> (x, w, r, b) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, int32[3] l) => (float[5, 1, 2, 3] y) { y = RNN <hidden_size = 3> (x, w, r, , l) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[5, 1, 2, 3] y) <int32[2] l = {5, 6}> { y = RNN <hidden_size = 3> (x, w, r, , l) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, float[2, 1, 3] h) => (float[5, 1, 2, 3] y) { y = RNN <hidden_size = 3> (x, w, r, , , h) }"#,
                r#"(float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r, float[5, 1, 3] h) => (float[5, 2, 1, 3] y) { y = RNN <hidden_size = 3, layout = 1> (x, w, r, , , h) }"#,
                r#"(float[5, n, 4] x, float[1, 12, 4] w, float[1, 12, 3] r, float[1, 1, 3] h, float[1, 8] p) => (float[5, 1, 2, 3] y) { y = LSTM <hidden_size = 3> (x, w, r, , , h, h, p) }"#,
            ],
            expect![[r#"
                the weight is float32[1, 12, 3], expected shape [1, 12, 4]
                `hidden_size` is 99, expected 3 as in the recurrent weight
                the recurrent weight is float32[1, 9, 3], expected shape [1, 12, 3]
                the weight is float32[2, 12, 4], expected shape [1, 12, 4]
                the bias is float32[1, 9], expected shape [1, 18]
                `sequence_lens` is int32[3], expected shape [2]
                a sequence has 6 time steps, but the input has only 5 time steps
                the initial hidden state is float32[2, 1, 3], expected shape [1, 2, 3]
                fine
                the peephole weight is float32[1, 8], expected shape [1, 9]
            "#]],
        );
    }
}
