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
                sizes::agree("the batch size", batch, other)?;
                let whose = if input == 1 { "the key" } else { "the value" };
                if sizes::differ(hidden, &wanted) {
                    let heads = self.kv_heads;
                    return Err(Problem::new(format!(
                        "the number of features of {whose} is {hidden}, expected {wanted} for `kv_num_heads` {heads}"
                    )));
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
            (NORMS, "the weight of the query norm", size.clone()),
            (NORMS + 1, "the weight of the key norm", size.clone()),
        ];
        for (input, what, length) in vectors.into_iter().filter(|&(input, ..)| cx.has(input)) {
            sizes::shaped(what, &cx.tensor(input)?, &[length])?;
        }
        if self.rotary {
            sizes::shaped("`sin_cache`", &cx.tensor(COSINE + 1)?, &cx.tensor(COSINE)?.shape)?;
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
            sizes::broadcasts("the attention bias", &cx.tensor(BIAS)?, &scores)?;
        }
        Ok(())
    }
}
