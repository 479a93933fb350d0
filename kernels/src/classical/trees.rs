//! Ensembles of decision trees.
//!
//! The host walks one tree after the other, for some rows at a time.

mod build;
mod vote;

use alloc::vec::Vec;

use crate::ensure;

pub use build::{Indexed, Labeled};
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
pub trait Number: Copy + PartialOrd + Send + Sync + core::fmt::Debug + 'static {
    fn from_f64(value: f64) -> Self;
    fn into_f64(self) -> f64;
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

/// Trees that share an array of nodes and one of leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest<T> {
    nodes: Vec<Node<T>>,
    roots: Vec<u32>,
    /// Offset of the weights of each leaf, and the number of all weights.
    starts: Vec<u32>,
    /// Target or class of each weight, and the weight.
    weights: Vec<(u32, T)>,
    /// The mode of all nodes, if they have the same.
    mode: Option<Mode>,
    /// Minimum number of features of a row.
    features: usize,
}

/// Inner node of a tree, 16 bytes for `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node<T> {
    value: T,
    /// Index of the feature, the mode from bit 28 on and, in the highest bit, whether NaN takes the branch `yes`.
    test: u32,
    yes: u32,
    no: u32,
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

impl<T: Number> Node<T> {
    fn mode(&self) -> u32 {
        (self.test >> 28) & 7
    }
}

/// Bit of an index that marks a leaf.
const LEAF: u32 = 1 << 31;
/// Bits of the feature of a test.
const FEATURE: u32 = (1 << 28) - 1;
/// Bit of a test that selects its true branch for NaN.
const MISSING: u32 = 1 << 31;
/// Number of rows that walk one tree before the next, so that its nodes stay in the cache.
const BLOCK: usize = 64;

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
        #[cfg(feature = "flex")]
        {
            use crate::flex::{memory::on_chunks, plan::tuning::visits_per_thread, threads};

            let count = out.len().checked_div(per_row).unwrap_or(0);
            let steps = count.saturating_mul(self.trees()).saturating_mul(8);
            let parts = match steps / visits_per_thread() {
                0 | 1 => 1,
                most => most.min(threads::even_parts(threads::count())),
            };
            if parts > 1 {
                let share = count.div_ceil(parts);
                return on_chunks(out, share * per_row, |at, out| {
                    let start = at * share * width;
                    let rows = &rows[start..start + out.len() / per_row * width];
                    all(rows, out);
                });
            }
        }
        all(rows, out)
    }

    /// Calls `found(row, weights)` for each row and tree, tree by tree.
    fn walk(&self, rows: &[T], width: usize, count: usize, found: impl FnMut(usize, &[(u32, T)])) {
        match self.mode {
            Some(Mode::LessOrEqual) => self.run(rows, width, count, |_, x, v| x <= v, found),
            Some(Mode::Less) => self.run(rows, width, count, |_, x, v| x < v, found),
            _ => self.run(rows, width, count, |mode, x, v| compare(mode, x, v), found),
        }
    }

    fn run(
        &self,
        rows: &[T],
        width: usize,
        count: usize,
        test: impl Fn(u32, T, T) -> bool,
        mut found: impl FnMut(usize, &[(u32, T)]),
    ) {
        for &root in &self.roots {
            for row in 0..count {
                let features = &rows[row * width..(row + 1) * width];
                let mut at = root;
                while at & LEAF == 0 {
                    let node = &self.nodes[at as usize];
                    let x = features[(node.test & FEATURE) as usize];
                    let yes = test(node.mode(), x, node.value)
                        || (node.test & MISSING != 0 && x.partial_cmp(&x).is_none());
                    at = if yes { node.yes } else { node.no };
                }
                let leaf = (at & !LEAF) as usize;
                let weights = self.starts[leaf] as usize..self.starts[leaf + 1] as usize;
                found(row, &self.weights[weights]);
            }
        }
    }
}

/// Returns `true` if a feature passes the test of a node of this mode.
fn compare<T: Number>(mode: u32, x: T, value: T) -> bool {
    match mode {
        0 => x <= value,
        1 => x < value,
        2 => x >= value,
        3 => x > value,
        4 => x == value,
        _ => x != value,
    }
}

#[cfg(test)]
mod tests;
