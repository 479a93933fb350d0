//! Checks of the operands of GroupQueryAttention.

use super::GroupQueryInputs;
use crate::{
    ensure,
    spec::{self, operand},
};

impl GroupQueryInputs {
    /// Checks that the operands fit, and returns the number of keys of the longest sequence of the batch.
    pub fn checked(&self) -> usize {
        let [query, key, value] = [0, 1, 2].map(|at| self.heads[at].dims());
        spec::attention::heads(query, key, value);
        spec::equal_axes(operand("key", &key), 2, operand("query", &query), 2);
        let past = self.past.as_ref();
        let past = past.map(|(key, value)| [key.dims(), value.dims()]);
        spec::attention::cache(past, [key, value]);
        spec::attention::per_batch("tensor of last positions", self.last.dims(), query);
        let (cached, new) = (past.map_or(0, |[key, _]| key[2]), key[2]);
        let total = usize::try_from(self.total).unwrap_or_default();
        ensure!(
            total > 0 && (total <= cached || total == cached + new),
            "expected a total of at most {cached} cached keys, or of {cached} + {new} keys, found {}",
            self.total
        );
        let [batch, heads, queries, size] = query;
        let of_query = operand("query", &query);
        if let Some((query, key)) = &self.norms {
            spec::shaped(operand("norm of queries", &query.dims()), &[size], of_query);
            spec::shaped(operand("norm of keys", &key.dims()), &[size], of_query);
        }
        if let Some(positions) = &self.positions {
            let shape = [batch, queries];
            spec::broadcasts_to(
                operand("tensor of positions", &positions.dims()),
                operand("tensor of queries", &shape),
            );
        }
        if let Some(bias) = &self.bias {
            let (bias, scores) = (bias.dims(), [batch, heads, queries, total]);
            spec::attention::bias(bias, scores);
            let scores = operand("tensor of scores", &scores);
            spec::equal_axes(operand("bias", &bias), 3, scores, 3);
        }
        if let Some(sinks) = &self.sinks {
            spec::shaped(operand("tensor of sinks", &sinks.dims()), &[heads], of_query);
        }
        total
    }
}
