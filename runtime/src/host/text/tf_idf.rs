//! ONNX's `TfIdfVectorizer` operator.

use crate::Array;
use alloc::{vec, vec::Vec};

/// The n-grams to count, and the rule for counting them.
#[derive(Clone, Copy, Debug)]
pub struct Grams {
    /// Number of elements of a row of the result.
    pub size: usize,
    pub shortest: usize,
    pub longest: usize,
    /// Maximum number of items between two consecutive items of an n-gram.
    pub skips: usize,
    /// Whether an n-gram counts only once, even if it occurs repeatedly.
    pub once: bool,
}

/// Returns the number of occurrences of each n-gram of a pool in each row of `x`, multiplied by its weight.
///
/// `pool` contains n-grams, their indices in the result, and their weights, sorted by n-gram.
pub fn tf_idf<K: Ord + Copy>(x: &Array<K>, pool: &[(&[K], usize, f32)], grams: Grams) -> Array<f32> {
    let (rows, length) = match x.shape() {
        [rows, length] => (*rows, *length),
        _ => (1, x.len()),
    };
    let mut counts = vec![0.0; rows * grams.size];
    for row in 0..rows {
        let items = &x.data()[row * length..(row + 1) * length];
        let counts = &mut counts[row * grams.size..(row + 1) * grams.size];
        for gram in all(items, grams) {
            if let Ok(found) = pool.binary_search_by(|entry| entry.0.cmp(&gram)) {
                let (_, at, weight) = pool[found];
                counts[at] = if grams.once { weight } else { counts[at] + weight };
            }
        }
    }
    match x.rank() {
        2 => Array::new([rows, grams.size], counts),
        _ => Array::vector(counts),
    }
}

/// Returns every n-gram of a row, with every spacing of its items. An n-gram of one item has no spacing.
fn all<K: Copy>(items: &[K], grams: Grams) -> impl Iterator<Item = Vec<K>> {
    let lengths = (grams.shortest..=grams.longest).filter(|&length| length > 0);
    let spaced = lengths.flat_map(move |length| {
        let steps = if length == 1 { 1 } else { grams.skips + 1 };
        (1..=steps).map(move |step| (length, step))
    });
    spaced.flat_map(move |(length, step)| {
        let span = (length - 1).saturating_mul(step);
        (0..items.len().saturating_sub(span)).map(move |start| {
            let gram = (0..length).map(|at| items[start + at * step]);
            gram.collect()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMS: Grams = Grams { size: 5, shortest: 1, longest: 2, skips: 1, once: false };

    const POOL: &[(&[i64], usize, f32)] =
        &[(&[1], 2, 10.0), (&[1, 2], 4, 40.0), (&[2], 0, 20.0), (&[2, 3], 3, 50.0), (&[3], 1, 30.0)];

    #[test]
    fn n_grams_count_with_their_weights() {
        let rows = Array::new([2, 4], vec![1, 2, 2, 3, 3, 3, 1, 2]);
        let found = tf_idf(&rows, POOL, GRAMS);
        assert_eq!(found.shape(), [2, 5]);
        let expected = [40.0, 30.0, 10.0, 100.0, 80.0, 20.0, 60.0, 10.0, 0.0, 40.0];
        assert_eq!(found.data(), expected);
        let once = tf_idf(&rows, POOL, Grams { once: true, ..GRAMS });
        let expected = [20.0, 30.0, 10.0, 50.0, 40.0, 20.0, 30.0, 10.0, 0.0, 40.0];
        assert_eq!(once.data(), expected);
    }

    #[test]
    fn nothing_has_no_n_grams() {
        assert_eq!(tf_idf(&Array::vector([]), POOL, GRAMS).data(), [0.0; 5]);
        let rows = Array::new([2, 0], vec![]);
        assert_eq!(tf_idf(&rows, POOL, GRAMS), Array::new([2, 5], vec![0.0; 10]));
    }

    #[test]
    fn strings_are_items_too() {
        let words = Array::vector(["a", "b", "a"]);
        let grams = Grams { size: 1, shortest: 2, skips: 0, ..GRAMS };
        let found = tf_idf(&words, &[(&["b", "a"], 0, 1.0)], grams);
        assert_eq!(found.data(), [1.0]);
    }
}
