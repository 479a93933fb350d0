//! Agreement of the operands of Attention.

use super::{Attention, MASK, PAST, VALID};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::ops::attention::heads::{self, Sizes};
use crate::types::TensorType;

impl Attention {
    /// Returns `true` if operands cannot contradict each other in any run.
    pub(super) fn fits(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        let known = |input: usize, heads: Option<usize>| {
            Ok::<_, Problem>(heads::known(cx.tensor_type(input)?, heads))
        };
        let operands = [known(0, self.query_heads)?, known(1, self.key_heads)?, known(2, self.key_heads)?];
        let [Some(query), Some(key), Some(value)] = operands else {
            return Ok(false);
        };
        // The numbers of valid keys are data.
        if !heads::fit([&query, &key, &value]) || cx.has(VALID) {
            return Ok(false);
        }
        let mut keys = Some(key[2].clone());
        if PAST.iter().any(|&input| cx.has(input)) {
            let [past_key, past_value] = [cx.tensor_type(PAST[0])?, cx.tensor_type(PAST[1])?];
            let like = |past: &TensorType, new: &Sizes| {
                let mut axes = past.shape.iter().zip(new).enumerate();
                axes.all(|(axis, (past, new))| axis == 2 || past == new)
            };
            if !like(past_key, &key)
                || !like(past_value, &value)
                || past_key.shape.get(2) != past_value.shape.get(2)
            {
                return Ok(false);
            }
            keys = past_key.shape.get(2).and_then(|past| past.add(&key[2]));
        }
        match keys {
            Some(keys) if cx.has(MASK) => {
                let [batch, heads, queries, _] = query;
                let scores = [batch, heads, queries, keys];
                let mask = &cx.tensor_type(MASK)?.shape;
                let mut pairs = mask.iter().rev().zip(scores.iter().rev()).enumerate();
                Ok(pairs.all(|(axis, (own, size))| own == size || axis > 0 && own.is(1)))
            }
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }
}
