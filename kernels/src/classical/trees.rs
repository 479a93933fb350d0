//! Ensembles of decision trees.
//!
//! The host walks the trees for some rows at a time.

mod bit_vectors;
mod build;
mod compact;
mod vote;
mod walk;

use alloc::vec::Vec;
use core::{ops::Add, slice};

use crate::{
    classical::rows::{Work, share},
    ensure,
};

use bit_vectors::BitVectors;
pub use build::{Indexed, Labeled};
use compact::Compact;
pub use vote::{Classify, Regress};

/// Comparison of a node, numbered as in TreeEnsemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    LessOrEqual = 0,
    Less = 1,
    GreaterOrEqual = 2,
    Greater = 3,
    Equal = 4,
    NotEqual = 5,
    /// The feature is one of a list.
    Member = 6,
    Leaf = 7,
}

/// Reduction of the weights of several trees to one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    Average,
    #[default]
    Sum,
    Min,
    Max,
}

/// Element type that trees compare and add.
pub trait Number: Copy + PartialOrd + Add<Output = Self> + Send + Sync + core::fmt::Debug + 'static {
    fn from_f64(value: f64) -> Self;
    fn into_f64(self) -> f64;

    fn is_nan(self) -> bool {
        self.partial_cmp(&self).is_none()
    }
}

impl Number for f32 {
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    fn into_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Number for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }

    fn into_f64(self) -> f64 {
        self
    }
}

/// Trees that share an array of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest<T> {
    /// Branches, then leaves.
    nodes: Vec<Node<T>>,
    /// Number of branches.
    branches: u32,
    roots: Vec<u32>,
    /// Offset of the weights of each leaf, and the number of all weights.
    starts: Vec<u32>,
    /// Target or class of each weight, and the weight.
    weights: Vec<(u32, T)>,
    /// Each leaf has one weight.
    is_single: bool,
    /// The tests of trees of few leaves.
    vectors: Option<BitVectors<T>>,
    /// The nodes of other trees that several rows walk in lockstep.
    compact: Option<Compact<T>>,
    /// The mode of all nodes, if they have the same.
    mode: Option<Mode>,
    /// NaN takes the branch `yes` of some node.
    missing: bool,
    /// Minimum number of features of a row.
    features: usize,
}

/// Node of a tree, 16 bytes for `f32`. A leaf leads to itself.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node<T> {
    value: T,
    /// Index of the feature, the mode from bit 28 on and, in the highest bit, whether NaN takes the branch `yes`.
    test: u32,
    /// The nodes that follow if the test fails, and if it passes.
    next: [u32; 2],
}

impl Mode {
    /// Returns the mode of this name in TreeEnsembleClassifier and TreeEnsembleRegressor.
    pub fn named(name: &str) -> Option<Mode> {
        Some(match name {
            "BRANCH_LEQ" => Mode::LessOrEqual,
            "BRANCH_LT" => Mode::Less,
            "BRANCH_GTE" => Mode::GreaterOrEqual,
            "BRANCH_GT" => Mode::Greater,
            "BRANCH_EQ" => Mode::Equal,
            "BRANCH_NEQ" => Mode::NotEqual,
            "LEAF" => Mode::Leaf,
            _ => return None,
        })
    }

    /// Returns the mode of this number in TreeEnsemble.
    pub fn numbered(number: u8) -> Option<Mode> {
        Some(match number {
            0 => Mode::LessOrEqual,
            1 => Mode::Less,
            2 => Mode::GreaterOrEqual,
            3 => Mode::Greater,
            4 => Mode::Equal,
            5 => Mode::NotEqual,
            6 => Mode::Member,
            _ => return None,
        })
    }
}

/// Bits of the feature of a test.
const FEATURE: u32 = (1 << 28) - 1;
/// Bit of a test that selects its true branch for NaN.
const MISSING: u32 = 1 << 31;
/// Number of rows that walk one tree before the next, so that its nodes stay in the cache.
const BLOCK: usize = 64;
/// Number of nodes of a path, for an estimate of the work.
const DEPTH: usize = 8;

impl<T: Number> Forest<T> {
    /// Returns the number of trees.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Calls `visit` with each block of rows and its part of `out`, which has `per_row` elements for each
    /// row. Blocks are computed in parallel if there are enough rows and the kernels have threads.
    ///
    /// # Panics
    ///
    /// If rows have fewer features than the trees use.
    fn each_block<S: Send + Sync>(
        &self,
        rows: &[T],
        width: usize,
        out: &mut [S],
        per_row: usize,
        visit: impl Fn(&[T], &mut [S]) + Send + Sync,
    ) {
        ensure!(width >= self.features, "expected at least {} features, found {width}", self.features);
        let all = |rows: &[T], out: &mut [S]| {
            for (at, out) in out.chunks_mut(BLOCK * per_row).enumerate() {
                let start = at * BLOCK * width;
                let end = start + out.len() / per_row * width;
                visit(&rows[start..end], out);
            }
        };
        let count = out.len().checked_div(per_row).unwrap_or(0);
        let visits = count.saturating_mul(self.trees()).saturating_mul(DEPTH);
        share(out, per_row, Work::Visits(visits), |first, out| {
            let rows = &rows[first * width..first * width + out.len() / per_row * width];
            all(rows, out);
        });
    }

    /// Calls `found(row, leaves)` for each tree and some rows from `row` on, in the order of the trees for each row.
    fn each_leaf(&self, rows: &[T], width: usize, count: usize, mut found: impl FnMut(usize, &[u32])) {
        // The number of rows in groups of `size`. The last group may be incomplete, but has at least `least` rows.
        let in_groups = |size, least| if count % size < least { count - count % size } else { count };
        let mut grouped = 0;
        if let Some(vectors) = &self.vectors {
            grouped = in_groups(bit_vectors::ROWS, bit_vectors::MIN_ROWS);
            if grouped > 0 {
                vectors.find(rows, width, grouped, &mut found);
            }
        } else if let Some(trees) = &self.compact
            && !self.is_missing(rows)
        {
            grouped = in_groups(compact::ROWS, compact::MIN_ROWS);
            trees.walk(rows, width, grouped, &mut found);
        }
        if grouped < count {
            self.walk(&rows[grouped * width..], width, count - grouped, |row, leaves| {
                found(grouped + row, leaves)
            });
        }
    }

    /// Returns `true` if a row has NaN, which takes the branch `yes` of some node.
    fn is_missing(&self, rows: &[T]) -> bool {
        self.missing && rows.iter().any(|x| x.is_nan())
    }

    /// Returns the weights of a leaf.
    fn weights(&self, leaf: u32) -> &[(u32, T)] {
        let at = (leaf - self.branches) as usize;
        if self.is_single {
            slice::from_ref(&self.weights[at])
        } else {
            &self.weights[self.starts[at] as usize..self.starts[at + 1] as usize]
        }
    }
}

#[cfg(test)]
mod tests;
