//! Support vector machines.
//!
//! The host computes rows in double precision.

mod basis;

use crate::classical::{rows::share, scores::Transform};
use alloc::{vec, vec::Vec};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

pub use basis::{Basis, Kernel, Vectors};

/// Minimum distance of the probability of one of two classes from 0 and 1.
const NEAREST: f64 = 1e-7;
/// Error at which the iteration for the probabilities of classes ends, times their number.
const TOLERANCE: f64 = 0.005;
/// Maximum number of its steps.
const STEPS: usize = 100;

/// Support vector machine for regression.
#[derive(Clone, Debug)]
pub struct Regress {
    pub basis: Basis,
    /// One per vector.
    pub coefficients: Vec<f64>,
    pub rho: f64,
    /// The result is only the side of zero, 1 or -1.
    pub one_class: bool,
}

/// Support vector machine for classification.
#[derive(Clone, Debug)]
pub struct Classify {
    pub basis: Basis,
    pub classes: usize,
    pub transform: Transform,
    pub rho: Vec<f64>,
    pub votes: Votes,
}

/// Rule that determines the class.
#[derive(Clone, Debug)]
pub enum Votes {
    /// Each class has a vector, and the greatest product wins. `positive`: no element of the vectors is
    /// negative; `probable`: the model has probabilities, which are unused.
    Linear { positive: bool, probable: bool },
    /// Each pair of classes has a machine with one vote.
    Pairs {
        /// Number of vectors of each class.
        sizes: Vec<usize>,
        /// For each class but one, a row with a coefficient for each vector.
        coefficients: Vec<f64>,
        /// Slope and offset of the probability of each pair.
        probabilities: Option<(Vec<f64>, Vec<f64>)>,
    },
}

impl Regress {
    /// Returns a value for each row of `width` features.
    pub fn run(&self, rows: &[f64], width: usize, count: usize) -> Vec<f64> {
        self.basis.check(width);
        let mut results = vec![0.0; count];
        share(&mut results, 1, self.basis.work(count), |first, results| {
            let rows = &rows[first * width..(first + results.len()) * width];
            self.basis.each_row(rows, results.len(), |row, products| results[row] = self.result(products));
        });
        results
    }

    fn result(&self, products: &[f64]) -> f64 {
        let pairs = products.iter().zip(&self.coefficients);
        let sum = pairs.map(|(a, b)| a * b).sum::<f64>() + self.rho;
        match self.one_class {
            false => sum,
            true if sum > 0.0 => 1.0,
            true => -1.0,
        }
    }
}

impl Classify {
    /// Returns the number of scores of a row: one per class, or for pairs without probabilities one per pair,
    /// and two if there is one pair.
    pub fn width(&self) -> usize {
        match &self.votes {
            Votes::Pairs { probabilities: None, .. } => self.pairs().max(2),
            _ => self.classes,
        }
    }

    /// Returns the index of each row's class among the labels, and its scores.
    pub fn run(&self, rows: &[f64], width: usize, count: usize) -> (Vec<usize>, Vec<f64>) {
        self.basis.check(width);
        let mut results = vec![(0, Vec::new()); count];
        share(&mut results, 1, self.basis.work(count), |first, results| {
            let rows = &rows[first * width..(first + results.len()) * width];
            self.basis.each_row(rows, results.len(), |row, products| results[row] = self.vote(products));
        });
        let (classes, scores): (Vec<usize>, Vec<Vec<f64>>) = results.into_iter().unzip();
        (classes, scores.concat())
    }

    /// Returns the class of a row and its scores.
    fn vote(&self, products: &[f64]) -> (usize, Vec<f64>) {
        match &self.votes {
            Votes::Linear { positive, probable } => self.linear(products, *positive, *probable),
            Votes::Pairs { sizes, coefficients, probabilities } => {
                self.paired(products, sizes, coefficients, probabilities.as_ref())
            }
        }
    }

    fn pairs(&self) -> usize {
        self.classes * (self.classes - 1) / 2
    }

    fn linear(&self, products: &[f64], positive: bool, probable: bool) -> (usize, Vec<f64>) {
        let mut scores: Vec<f64> = products.iter().map(|product| product + self.rho[0]).collect();
        let mut class = first_highest(&scores);
        if self.classes == 2 && !probable {
            let above = if positive { scores[class] >= 0.5 } else { scores[class] > 0.0 };
            class = if above { 1 } else { class };
        }
        self.transform.apply(&mut scores);
        (class, scores)
    }

    fn paired(
        &self,
        products: &[f64],
        sizes: &[usize],
        coefficients: &[f64],
        probabilities: Option<&(Vec<f64>, Vec<f64>)>,
    ) -> (usize, Vec<f64>) {
        let starts: Vec<usize> =
            sizes.iter().scan(0, |end, size| Some(core::mem::replace(end, *end + size))).collect();
        // Sum over the vectors of class `of`, weighted by row `row` of the coefficients.
        let side = |of: usize, row: usize| -> f64 {
            let range = starts[of]..starts[of] + sizes[of];
            let weights = &coefficients[row * products.len()..(row + 1) * products.len()];
            let pairs = weights[range.clone()].iter().zip(&products[range]);
            pairs.map(|(a, b)| a * b).sum()
        };
        let mut votes = vec![0.0; self.classes];
        let mut scores = Vec::with_capacity(self.pairs());
        for (first, second) in pairs(self.classes) {
            let score = side(first, second - 1) + side(second, first) + self.rho[scores.len()];
            votes[if score > 0.0 { first } else { second }] += 1.0;
            scores.push(score);
        }
        let scores = match (probabilities, scores.as_slice()) {
            (Some((slopes, offsets)), _) => {
                let line = scores.iter().zip(slopes).zip(offsets);
                let line = line.map(|((score, slope), offset)| score * slope + offset);
                let mut scores = coupled(self.classes, line);
                self.transform.apply(&mut scores);
                scores
            }
            (None, &[score]) => {
                let other = match self.transform {
                    Transform::None => -score,
                    _ => 1.0 - score,
                };
                self.transform.pair(score, other).to_vec()
            }
            _ => {
                self.transform.apply(&mut scores);
                scores
            }
        };
        (first_highest(&votes), scores)
    }
}

/// Returns every pair of classes, in the order of their machines.
fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |first| (first + 1..classes).map(move |second| (first, second)))
}

fn first_highest(scores: &[f64]) -> usize {
    let higher = |best: usize, at: usize| if scores[at] > scores[best] { at } else { best };
    (0..scores.len()).fold(0, higher)
}

/// Returns probabilities of classes from pairwise probabilities, after Wu, Lin and Weng, "Probability
/// estimates for multi-class classification by pairwise coupling", second approach.
fn coupled(classes: usize, line: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut pairwise = vec![vec![0.0; classes]; classes];
    for ((first, second), line) in pairs(classes).zip(line) {
        let probability = 1.0 / (1.0 + line.exp());
        let probability = probability.clamp(NEAREST, 1.0 - NEAREST);
        pairwise[first][second] = probability;
        pairwise[second][first] = 1.0 - probability;
    }
    let quadratic = |a: usize, b: usize| {
        if a == b {
            (0..classes).filter(|&j| j != a).map(|j| pairwise[j][a].powi(2)).sum()
        } else {
            -pairwise[b][a] * pairwise[a][b]
        }
    };
    let form: Vec<Vec<f64>> = (0..classes).map(|a| (0..classes).map(|b| quadratic(a, b)).collect()).collect();
    let mut p = vec![1.0 / classes as f64; classes];
    for _ in 0..STEPS {
        let dot = |row: &Vec<f64>| row.iter().zip(&p).map(|(a, b)| a * b).sum::<f64>();
        let mut gradient: Vec<f64> = form.iter().map(dot).collect();
        let mut value: f64 = gradient.iter().zip(&p).map(|(a, b)| a * b).sum();
        let error = gradient.iter().map(|part| (part - value).abs());
        if error.fold(0.0, f64::max) < TOLERANCE / classes as f64 {
            break;
        }
        for at in 0..classes {
            let step = (value - gradient[at]) / form[at][at];
            p[at] += step;
            let scale = 1.0 + step;
            value = (value + step * (step * form[at][at] + 2.0 * gradient[at])) / scale / scale;
            for other in 0..classes {
                gradient[other] = (gradient[other] + step * form[at][other]) / scale;
                p[other] /= scale;
            }
        }
    }
    p
}

#[cfg(test)]
mod tests;
