//! Operands of attention.

use super::{Operand, broadcast, broadcasts_to, equal_axes, multiple, operand, shaped, types::TensorType};
use crate::ensure;

/// Shape of an operand `[batch, heads, length, size]`.
type Heads = [usize; 4];

/// Fails unless queries, keys and values have one attention, and each head of keys serves the same number of query heads.
#[inline(never)]
pub fn heads(query: Heads, key: Heads, value: Heads) {
    let [query, key, value] = named(&query, &key, &value);
    equal_axes(key, 0, query, 0);
    equal_axes(value, 0, key, 0);
    factors(query, key);
    pairs(key, value);
}

/// [`heads`] whose batches, and one head of queries, may broadcast as in matrix products.
#[inline(never)]
pub fn joined_heads(query: Heads, key: Heads, value: Heads) {
    let [query, key, value] = named(&query, &key, &value);
    for (one, other) in [(query, key), (query, value), (key, value)] {
        ensure!(
            one.shape[0] == other.shape[0] || one.shape[0] == 1 || other.shape[0] == 1,
            "the batches of {one} and {other} do not broadcast"
        );
    }
    pairs(key, value);
    if query.shape[1] == 1 {
        equal_axes(key, 3, query, 3);
    } else {
        factors(query, key);
    }
}

/// Fails unless queries and keys have products.
#[inline(never)]
pub fn products(query: Heads, key: Heads) {
    let [query, key] = [operand("query", &query), operand("key", &key)];
    equal_axes(key, 0, query, 0);
    factors(query, key);
}

/// Fails unless there is a value for each probability.
#[inline(never)]
pub fn sums(probabilities: Heads, value: Heads) {
    let probabilities = operand("tensor of probabilities", &probabilities);
    let value = operand("value", &value);
    equal_axes(value, 0, probabilities, 0);
    multiple(probabilities, 1, value, 1);
    equal_axes(value, 2, probabilities, 3);
}

/// Fails unless a mask broadcasts to the scores. It may omit the last keys.
#[inline(never)]
pub fn short_mask(mask: Heads, scores: Heads) {
    let covered = [scores[0], scores[1], scores[2], mask[3].min(scores[3])];
    let fits = |axis: usize| mask[axis] == covered[axis] || axis < 3 && mask[axis] == 1;
    let (mask, scores) = (operand("mask", &mask), operand("tensor of scores", &scores));
    ensure!((0..4).all(fits), "{mask} does not broadcast to {scores}");
}

/// Fails unless a mask has as many keys as the scores; the other axes broadcast in both directions.
#[inline(never)]
pub fn joined_mask(mask: Heads, scores: Heads) {
    let (mask, scores) = (operand("mask", &mask), operand("tensor of scores", &scores));
    broadcast(mask, scores);
    ensure!(
        mask.shape[3] == 1 || mask.shape[3] == scores.shape[3],
        "expected axis 3 of {mask} to be 1 or to equal axis 3 of {scores}"
    );
}

/// Fails unless there is one value per element of the batch.
#[inline(never)]
pub fn per_batch(name: &str, shape: [usize; 1], query: Heads) {
    shaped(operand(name, &shape), &query[..1], operand("query", &query));
}

/// Fails unless past keys and values differ from the new ones in their number only.
#[inline(never)]
pub fn cache(past: Option<[Heads; 2]>, new: [Heads; 2]) {
    let Some(past) = past else { return };
    let [past_key, past_value] = [operand("past key", &past[0]), operand("past value", &past[1])];
    let new = [operand("key", &new[0]), operand("value", &new[1])];
    for (past, new) in [past_key, past_value].into_iter().zip(new) {
        for axis in [0, 1, 3] {
            equal_axes(past, axis, new, axis);
        }
    }
    equal_axes(past_value, 2, past_key, 2);
}

/// Fails unless a bias broadcasts to the scores.
#[inline(never)]
pub fn bias(bias: Heads, scores: Heads) {
    broadcasts_to(operand("bias", &bias), operand("tensor of scores", &scores));
}

fn named<'a>(query: &'a Heads, key: &'a Heads, value: &'a Heads) -> [Operand<'a>; 3] {
    [operand("query", query), operand("key", key), operand("value", value)]
}

/// Fails unless queries and keys have the same features, and heads that divide.
fn factors(query: Operand<'_>, key: Operand<'_>) {
    equal_axes(key, 3, query, 3);
    multiple(query, 1, key, 1);
}

/// Fails unless there is a value for each key.
fn pairs(key: Operand<'_>, value: Operand<'_>) {
    equal_axes(value, 1, key, 1);
    equal_axes(value, 2, key, 2);
}

/// Returns the type of the sums of values, `[batch, heads, queries, size]`.
pub fn result(query: &TensorType, value: &TensorType) -> TensorType {
    let mut shape = query.shape.clone();
    shape[3] = value.shape[3];
    TensorType::new(shape, query.dtype)
}
