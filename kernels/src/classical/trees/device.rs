//! Aggregated scores of all trees on devices.
//!
//! [`vote`](super::vote) computes those of rows on the host.

use alloc::vec;
use burn::tensor::{Bool, Device, Int, Tensor, kind::Basic};

use super::{Aggregate, Classify, Number, Regress, Tables};
use crate::classical::scores::{no_classes, no_scores, pair, transform};
use crate::reduce::arg_max::arg_max;
use crate::shape::WithShape;

/// The class of each row as a column, and the scores of all classes.
type Prediction = (Tensor<2, Int>, Tensor<2>);

impl<T: Number> Regress<T> {
    /// Copies the forest to a device. `None`: the host walks its trees.
    pub fn tables(&self, device: &Device) -> Option<Tables> {
        Tables::new(&self.forest, &self.base, device)
    }

    /// [`Regress::run`] on the device of the rows. `None`: the host has to read them.
    pub fn run_on<K: Basic>(&self, tables: &Tables, rows: Tensor<2, K>) -> Option<Tensor<2>> {
        if rows.dims()[0] == 0 {
            return Some(no_scores(self.targets, tables.dtype(), &rows.device()));
        }
        let by = match self.targets {
            1 => self.transform.of_one(),
            _ => self.transform,
        };
        let (mut scores, _) = tables.votes(rows, self.targets, self.aggregate)?;
        if self.aggregate == Aggregate::Average {
            scores = scores.div_scalar(self.forest.trees() as f64);
        }
        if let Some(base) = tables.base() {
            scores = scores.add(base);
        }
        Some(transform(scores, by))
    }
}

impl<T: Number> Classify<T> {
    /// Copies the forest to a device. `None`: the host walks its trees.
    pub fn tables(&self, device: &Device) -> Option<Tables> {
        Tables::new(&self.forest, &self.base, device)
    }

    /// [`Classify::run`] on the device of the rows. `None`: the host has to read them.
    pub fn run_on<K: Basic>(
        &self,
        tables: &Tables,
        rows: Tensor<2, K>,
    ) -> Option<(Tensor<1, Int>, Tensor<2>)> {
        let (count, device) = (rows.dims()[0], rows.device());
        if count == 0 {
            let scores = no_scores(self.classes, tables.dtype(), &device);
            return Some((no_classes(&device), scores));
        }
        let (scores, votes) = tables.votes(rows, self.classes, Aggregate::Sum)?;
        let voted = votes.greater_elem(0);
        let (classes, scores) = match self.classes {
            1 => self.single_on(scores),
            2 => self.pair_on(scores, voted),
            _ => self.many_on(tables.base(), scores, voted),
        };
        Some((classes.with_shape([count]), scores))
    }

    fn many_on(&self, base: Option<Tensor<2>>, scores: Tensor<2>, voted: Tensor<2, Bool>) -> Prediction {
        let (scores, known) = match base {
            Some(base) => {
                let scores = scores.add(base);
                (scores.clone(), scores)
            }
            None => {
                let least = f64::from(f32::MIN);
                (scores.clone(), scores.mask_fill(voted.bool_not(), least))
            }
        };
        (arg_max(known, 1, false), transform(scores, self.transform))
    }

    /// Returns the result of a model with a single class.
    fn single_on(&self, score: Tensor<2>) -> Prediction {
        match self.base.as_slice() {
            [_, base] => {
                let score = score.add_scalar(base.into_f64());
                let row = Tensor::cat(vec![score.clone().neg(), score.clone()], 1);
                let row = transform(row, self.transform);
                (score.greater_elem(0.0).int(), row.narrow(1, 0, 1))
            }
            &[base] => self.alone_on(score.add_scalar(base.into_f64()), false, 1),
            _ => self.alone_on(score, false, 1),
        }
    }

    /// Combines the result of rows in which the second class has a score with that of rows in which it has none.
    fn pair_on(&self, scores: Tensor<2>, voted: Tensor<2, Bool>) -> Prediction {
        let column = |at| scores.clone().narrow(1, at, 1);
        let (first, second) = (column(0), column(1));
        let silent = voted.clone().narrow(1, 0, 1).bool_not();
        let shown = |score: Tensor<2>| score.mask_fill(silent.clone(), 0.0);
        let add = |base: T| first.clone().add_scalar(base.into_f64());
        let ((class, row), (class_alone, row_alone)) = match *self.base.as_slice() {
            [first_base, base] => {
                let score = add(base);
                let alone = shown(add(first_base));
                (
                    self.both_on(shown(score.clone().neg()), score.clone(), score),
                    self.both_on(alone.clone(), alone.zeros_like(), alone),
                )
            }
            [base] => {
                (self.both_on(shown(add(base)), second.clone(), second), self.alone_on(add(base), false, 2))
            }
            _ => (self.both_on(first.clone(), second.clone(), second), self.alone_on(first, true, 2)),
        };
        let has_second = voted.narrow(1, 1, 1);
        let both = Tensor::cat(vec![has_second.clone(), has_second.clone()], 1);
        (class_alone.mask_where(has_second, class), row_alone.mask_where(both, row))
    }

    /// Returns two scores, and the class by the sign of `telling`.
    fn both_on(&self, first: Tensor<2>, second: Tensor<2>, telling: Tensor<2>) -> Prediction {
        let row = Tensor::cat(vec![first, second], 1);
        (self.positive_on(telling), transform(row, self.transform))
    }

    /// Returns the result of one score for two classes, as `alone` on the host does; `width` of the scores are kept.
    fn alone_on(&self, score: Tensor<2>, paired: bool, width: usize) -> Prediction {
        let class = self.positive_on(score.clone());
        let row = if self.one_column || paired {
            let other = score.clone().neg();
            let other = match self.one_column && self.positive {
                true => other.add_scalar(1.0),
                false => other,
            };
            pair(score, other, self.transform)
        } else {
            let alone = transform(score, self.transform.of_one());
            Tensor::cat(vec![alone.clone(), alone.zeros_like()], 1)
        };
        (class, row.narrow(1, 0, width))
    }

    fn positive_on(&self, score: Tensor<2>) -> Tensor<2, Int> {
        score.greater_elem(self.threshold()).int()
    }
}
