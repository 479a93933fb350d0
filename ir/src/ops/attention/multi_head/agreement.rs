//! Agreement of the operands of MultiHeadAttention.

use super::mask::additions_fit;
use super::{Forms, MultiHead};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;

impl MultiHead {
    /// Returns `true` if operands cannot contradict each other in any run.
    pub(super) fn fits(
        &self,
        cx: &Emit<'_, '_>,
        types: [Option<&[Dim]>; 3],
        forms: &Forms,
    ) -> Result<bool, Problem> {
        let heads = Dim::from(self.0.heads);
        let whole = |hidden: &Dim, size: &Dim| size.mul(&heads).as_ref() == Some(hidden);
        let Forms { batch, keys, size, value, .. } = forms;
        let operands = match types {
            [Some([_, _, own, parts, _]), None, None] => *own == heads && parts.is(3),
            [Some([_, _, hidden]), Some([other, _, own, parts, _]), None] => {
                other == batch && *own == heads && parts.is(2) && whole(hidden, size)
            }
            [Some([_, _, hidden]), Some([other, _, features]), Some([third, values, last])] => {
                [other, third] == [batch; 2]
                    && features == hidden
                    && values == keys
                    && whole(hidden, size)
                    && whole(last, value)
            }
            [Some([_, _, hidden]), Some([other, own, _, features]), Some([third, its, values, _])] => {
                [other, third] == [batch; 2]
                    && [own, its] == [&heads; 2]
                    && features == size
                    && values == keys
                    && whole(hidden, size)
            }
            _ => false,
        };
        let mut total = Some(keys.clone());
        let mut past = true;
        if cx.has(6) {
            let caches = [cx.tensor_type(6)?, cx.tensor_type(7)?];
            let length = caches[0].shape.get(2);
            past = caches.iter().zip([size, value]).all(|(cache, size)| {
                let wanted = [Some(batch), Some(&heads), length, Some(size)];
                cache.shape.iter().map(Some).eq(wanted)
            });
            total = length.and_then(|length| length.add(keys));
        }
        let Some(total) = total.filter(|_| operands && past) else {
            return Ok(false);
        };
        let scores = [batch, &heads, &forms.queries, &total];
        additions_fit(cx, 4, 5, scores)
    }
}
