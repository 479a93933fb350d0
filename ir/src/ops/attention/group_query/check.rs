//! Checks of the inputs of GroupQueryAttention.

use super::{BIAS, CACHE, COSINE, GroupQuery, LENGTHS, NORMS, POSITIONS, SINKS, TOTAL};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::infer::Infer;
use crate::ops::sizes;

impl GroupQuery {
    /// Reports inputs whose sizes contradict those of the query.
    pub(super) fn check(&self, cx: &Infer<'_>, batch: &Dim, size: &Dim) -> Result<(), Problem> {
        let shared = Dim::from(self.kv_heads);
        for input in [1, 2].into_iter().filter(|&input| cx.has(input)) {
            if let ([other, _, hidden], Some(wanted)) =
                (cx.tensor(input)?.shape.as_slice(), size.mul(&shared))
            {
                sizes::agree("the batch", batch, other)?;
                let whose = if input == 1 { "the key" } else { "the value" };
                if sizes::differ(hidden, &wanted) {
                    let problem =
                        format!("{whose} has {hidden} features, but all its heads together have {wanted}");
                    return Err(Problem::new(problem));
                }
            }
        }
        for input in [CACHE, CACHE + 1].into_iter().filter(|&input| cx.has(input)) {
            let cache = cx.tensor(input)?;
            let length = cache.shape.get(2).cloned().unwrap_or_default();
            let wanted = [batch.clone(), shared.clone(), length, size.clone()];
            sizes::shaped("the cache", &cache, &wanted)?;
        }
        let vectors = [
            (LENGTHS, "`seqlens_k`", batch.clone()),
            (SINKS, "`head_sink`", self.heads.into()),
            (NORMS, "the norm of queries", size.clone()),
            (NORMS + 1, "the norm of keys", size.clone()),
        ];
        for (input, what, length) in vectors.into_iter().filter(|&(input, ..)| cx.has(input)) {
            sizes::shaped(what, &cx.tensor(input)?, &[length])?;
        }
        if self.rotary {
            sizes::shaped("the cache of sines", &cx.tensor(COSINE + 1)?, &cx.tensor(COSINE)?.shape)?;
        }
        Ok(())
    }

    /// Reports positions and a bias whose sizes do not match the queries.
    pub(super) fn check_positions(&self, cx: &Infer<'_>, batch: &Dim, queries: &Dim) -> Result<(), Problem> {
        if cx.has(POSITIONS) {
            let wanted = [batch, queries].map(Clone::clone);
            sizes::broadcasts("`position_ids`", &cx.tensor(POSITIONS)?, &wanted)?;
        }
        if cx.has(BIAS) {
            let total = cx.ints(TOTAL).and_then(|values| values.first().cloned());
            let scores = [batch.clone(), self.heads.into(), queries.clone(), total.unwrap_or_else(Dim::any)];
            sizes::broadcasts("the bias of the scores", &cx.tensor(BIAS)?, &scores)?;
        }
        Ok(())
    }
}
