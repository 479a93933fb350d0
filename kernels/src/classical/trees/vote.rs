//! Aggregated scores of all trees.

use super::{Aggregate, Forest, Number};
use crate::classical::scores::Transform;
use alloc::{vec, vec::Vec};

/// Forest for regression.
#[derive(Clone, Debug)]
pub struct Regress<T> {
    pub forest: Forest<T>,
    pub targets: usize,
    pub aggregate: Aggregate,
    pub transform: Transform,
    /// One per target, or empty.
    pub base: Vec<T>,
}

/// Forest for classification, with the rules of ONNX Runtime for two classes.
#[derive(Clone, Debug)]
pub struct Classify<T> {
    pub forest: Forest<T>,
    pub classes: usize,
    pub transform: Transform,
    pub base: Vec<T>,
    /// There are two classes, and all weights are for one of them: the class is determined by the sign of its
    /// score, or by whether the score exceeds one half.
    pub one_column: bool,
    /// No weight is negative.
    pub positive: bool,
}

impl<T: Number> Regress<T> {
    /// Returns the scores of rows of `width` features, row by row.
    pub fn run(&self, rows: &[T], width: usize, count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count * self.targets];
        let transform = match self.targets {
            1 => self.transform.of_one(),
            _ => self.transform,
        };
        let trees = T::from_f64(self.forest.trees() as f64).into_f64();
        self.forest.each_block(rows, width, &mut out, self.targets, |rows, out| {
            let scores = self.scores(rows, width, out.len());
            for (at, (out, score)) in out.iter_mut().zip(scores).enumerate() {
                let mut score = score.unwrap_or(0.0);
                if self.aggregate == Aggregate::Average {
                    score /= trees;
                }
                let base = self.base.get(at % self.targets);
                *out = T::from_f64(score + base.map_or(0.0, |base| base.into_f64())).into_f64();
            }
            out.chunks_mut(self.targets).for_each(|row| transform.apply(row));
        });
        out
    }

    /// Returns `length` aggregated weights, `None` if no leaf has a weight.
    fn scores(&self, rows: &[T], width: usize, length: usize) -> Vec<Option<f64>> {
        let (forest, targets) = (&self.forest, self.targets);
        match self.aggregate {
            Aggregate::Average | Aggregate::Sum => {
                gathered(forest, rows, width, length, targets, |a, b| a + b)
            }
            Aggregate::Min => {
                gathered(forest, rows, width, length, targets, |a, b| if b < a { b } else { a })
            }
            Aggregate::Max => {
                gathered(forest, rows, width, length, targets, |a, b| if b > a { b } else { a })
            }
        }
    }
}

impl<T: Number> Classify<T> {
    /// Returns the index of each row's class among the labels, and the scores of all classes.
    pub fn run(&self, rows: &[T], width: usize, count: usize) -> (Vec<usize>, Vec<f64>) {
        // Each row has the class before the scores.
        let wide = self.classes + 1;
        let mut out = vec![0.0; count * wide];
        self.forest.each_block(rows, width, &mut out, wide, |rows, out| {
            let length = out.len() / wide * self.classes;
            let scores = gathered(&self.forest, rows, width, length, self.classes, |a, b| a + b);
            for (out, scores) in out.chunks_mut(wide).zip(scores.chunks(self.classes)) {
                let (class, row) = self.vote(scores);
                out[0] = class as f64;
                let kept = out[1..].iter_mut().zip(row);
                kept.for_each(|(out, score)| *out = score);
            }
        });
        let classes = out.chunks(wide).map(|row| row[0] as usize).collect();
        let scores = out.chunks(wide).flat_map(|row| row[1..].iter().copied());
        (classes, scores.collect())
    }

    /// Returns the class and the scores of a row. There may be fewer scores than classes; the others are 0.
    fn vote(&self, scores: &[Option<f64>]) -> (usize, Vec<f64>) {
        let add = |score: f64, base: T| T::from_f64(score + base.into_f64()).into_f64();
        match *scores {
            [score] => self.single(score.unwrap_or(0.0), add),
            [first, second] => self.pair(first, second, add),
            _ => {
                let mut scores = scores.to_vec();
                for (score, &base) in scores.iter_mut().zip(&self.base) {
                    *score = Some(add(score.unwrap_or(0.0), base));
                }
                let mut best: Option<(usize, f64)> = None;
                for (class, score) in scores.iter().enumerate() {
                    if let Some(score) = *score
                        && best.is_none_or(|(_, most)| score > most)
                    {
                        best = Some((class, score));
                    }
                }
                let mut row: Vec<f64> = scores.iter().map(|score| score.unwrap_or(0.0)).collect();
                self.transform.apply(&mut row);
                (best.map_or(0, |(class, _)| class), row)
            }
        }
    }

    /// Returns the result of a model with a single class.
    fn single(&self, score: f64, add: impl Fn(f64, T) -> f64) -> (usize, Vec<f64>) {
        match *self.base.as_slice() {
            [_, base] => {
                let score = add(score, base);
                let mut row = [-score, score];
                self.transform.apply(&mut row);
                (usize::from(score > 0.0), vec![row[0]])
            }
            [base] => self.alone(add(score, base), false),
            _ => self.alone(score, false),
        }
    }

    fn pair(
        &self,
        first: Option<f64>,
        second: Option<f64>,
        add: impl Fn(f64, T) -> f64,
    ) -> (usize, Vec<f64>) {
        // A class without a score has score 0, whatever its base value.
        let both = |first: Option<f64>, second: Option<f64>| {
            let mut row = vec![first.unwrap_or(0.0), second.unwrap_or(0.0)];
            self.transform.apply(&mut row);
            (self.positive_class(second.or(first).unwrap_or(0.0)), row)
        };
        match (self.base.as_slice(), second) {
            (&[_, base], Some(_)) => {
                let score = add(first.unwrap_or(0.0), base);
                both(first.map(|_| -score), Some(score))
            }
            (&[base, _], None) => both(first.map(|first| add(first, base)), None),
            (&[base], Some(_)) => both(first.map(|first| add(first, base)), second),
            (&[base], None) => self.alone(add(first.unwrap_or(0.0), base), false),
            (_, Some(_)) => both(first, second),
            (_, None) => self.alone(first.unwrap_or(0.0), true),
        }
    }

    /// Returns the result of one score for two classes; `paired`: the other's score is its negative, whatever
    /// the weights.
    fn alone(&self, score: f64, paired: bool) -> (usize, Vec<f64>) {
        let other = match self.positive {
            true if self.one_column => 1.0 - score,
            _ => -score,
        };
        let row = if self.one_column || paired {
            self.transform.pair(score, other).to_vec()
        } else {
            let mut row = vec![score];
            self.transform.of_one().apply(&mut row);
            row
        };
        (self.positive_class(score), row)
    }

    fn positive_class(&self, score: f64) -> usize {
        usize::from(score > self.threshold())
    }

    /// Returns the score above which the second of two classes is selected.
    fn threshold(&self) -> f64 {
        if self.one_column && self.positive { 0.5 } else { 0.0 }
    }
}

/// Returns the scores of rows, `None` if no leaf has a weight; accumulated in the precision of the weights.
fn gathered<T: Number>(
    forest: &Forest<T>,
    rows: &[T],
    width: usize,
    length: usize,
    targets: usize,
    combine: impl Fn(T, T) -> T,
) -> Vec<Option<f64>> {
    let mut scores: Vec<Option<T>> = vec![None; length];
    forest.each_leaf(rows, width, length / targets, |row, leaves| {
        for (scores, &leaf) in scores[row * targets..].chunks_mut(targets).zip(leaves) {
            for &(target, weight) in forest.weights(leaf) {
                let total = &mut scores[target as usize];
                *total = Some(total.map_or(weight, |score| combine(score, weight)));
            }
        }
    });
    scores.into_iter().map(|score| score.map(T::into_f64)).collect()
}
