//! Ensembles of decision trees.
//!
//! Trees are walked on the host: their steps depend on the data, which no device does well. A
//! tensor of another device is read.

mod build;
mod vote;

use crate::ensure;

pub use build::{Indexed, Labelled, Mode};
pub use vote::{Aggregate, Classify, Regress};

/// The numbers that trees compare and add.
pub trait Number: Copy + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
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
    /// Where the weights of each leaf start, and the end of the last.
    starts: Vec<u32>,
    /// The target, or class, that a weight counts for.
    weights: Vec<(u32, T)>,
    /// The mode of all nodes, when it is one.
    mode: Option<Mode>,
    /// How many features a row must have.
    features: usize,
}

/// One branch, in 16 bytes for `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node<T> {
    value: T,
    /// The feature, the mode from bit 28 on and, in the highest bit, whether NaN goes to `yes`.
    test: u32,
    yes: u32,
    no: u32,
}

/// The bit of a node's place that says that it is a leaf's.
const LEAF: u32 = 1 << 31;
const FEATURE: u32 = (1 << 28) - 1;
const MISSING: u32 = 1 << 31;

impl<T: Number> Node<T> {
    fn mode(&self) -> u32 {
        (self.test >> 28) & 7
    }
}

/// Rows that go through one tree before the next, so that its nodes stay in the cache.
const BLOCK: usize = 64;
/// Steps that pay for a thread.
const STEPS: usize = 1 << 18;

impl<T: Number> Forest<T> {
    /// How many trees there are.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Gives each block of rows, and its part of `out`, to `visit`; `out` has `per_row` elements for
    /// each row. Many rows are shared among threads.
    ///
    /// # Panics
    ///
    /// If rows are shorter than the features that the trees look at.
    fn each_block<S: Send>(
        &self,
        rows: &[T],
        width: usize,
        out: &mut [S],
        per_row: usize,
        visit: impl Fn(&[T], &mut [S]) + Sync,
    ) {
        ensure!(
            width >= self.features,
            "the trees look at {} features, the input has {width}",
            self.features
        );
        let count = out.len().checked_div(per_row).unwrap_or(0);
        let steps = count.saturating_mul(self.trees()).saturating_mul(8);
        let threads = match std::thread::available_parallelism() {
            Ok(most) => most.get().min(steps / STEPS).max(1),
            Err(_) => 1,
        };
        let all = |rows: &[T], out: &mut [S]| {
            for (at, out) in out.chunks_mut(BLOCK * per_row).enumerate() {
                let start = at * BLOCK * width;
                let end = start + out.len() / per_row * width;
                visit(&rows[start..end], out);
            }
        };
        if threads == 1 {
            return all(rows, out);
        }
        let share = count.div_ceil(threads);
        std::thread::scope(|scope| {
            for (at, out) in out.chunks_mut(share * per_row).enumerate() {
                let start = at * share * width;
                let rows = &rows[start..start + out.len() / per_row * width];
                scope.spawn(move || all(rows, out));
            }
        });
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

/// Whether a feature passes the test of a node whose mode has this number.
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
mod tests {
    use super::*;
    use crate::classical::scores::Transform;

    const NAN: f32 = f32::NAN;

    /// One branch over `value` with the leaves `[1]` for yes and `[2]` for no.
    fn stump(mode: Mode, value: f32, missing: i64, members: &[f32]) -> Indexed<f32> {
        Indexed {
            roots: vec![0],
            modes: vec![mode],
            features: vec![0],
            values: vec![value],
            yes: vec![0],
            no: vec![1],
            yes_leaves: vec![1],
            no_leaves: vec![1],
            missing: vec![missing],
            members: members.to_vec(),
            weight_targets: vec![0, 0],
            weights: vec![1.0, 2.0],
        }
    }

    fn run(trees: Indexed<f32>, rows: &[f32], aggregate: Aggregate) -> Vec<f64> {
        let regress = Regress {
            forest: trees.build(1).unwrap(),
            targets: 1,
            aggregate,
            transform: Transform::None,
            base: vec![],
        };
        regress.run(rows, 1, rows.len())
    }

    #[test]
    fn every_mode_compares_its_way() {
        let rows = [1.0, 2.0, 3.0, NAN];
        let table = [
            (Mode::LessOrEqual, [1.0, 1.0, 2.0, 2.0]),
            (Mode::Less, [1.0, 2.0, 2.0, 2.0]),
            (Mode::GreaterOrEqual, [2.0, 1.0, 1.0, 2.0]),
            (Mode::Greater, [2.0, 2.0, 1.0, 2.0]),
            (Mode::Equal, [2.0, 1.0, 2.0, 2.0]),
            (Mode::NotEqual, [1.0, 2.0, 1.0, 1.0]),
        ];
        for (mode, expected) in table {
            let found = run(stump(mode, 2.0, 0, &[]), &rows, Aggregate::Sum);
            assert_eq!(found, expected, "{mode:?}");
            let missing = run(stump(mode, 2.0, 1, &[]), &rows, Aggregate::Sum);
            assert_eq!(missing[3], 1.0, "{mode:?}");
        }
    }

    #[test]
    fn members_are_listed_up_to_nan() {
        let rows = [1.0, 2.0, 3.0, NAN];
        let trees = stump(Mode::Member, 0.0, 0, &[1.0, 3.0, NAN]);
        assert_eq!(run(trees, &rows, Aggregate::Sum), [1.0, 2.0, 1.0, 2.0]);
        let trees = stump(Mode::Member, 0.0, 1, &[NAN]);
        assert_eq!(run(trees, &rows, Aggregate::Sum), [2.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn a_tree_may_be_one_leaf() {
        let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
        trees.no = vec![0];
        assert_eq!(run(trees, &[-1.0, 1.0], Aggregate::Sum), [1.0, 1.0]);
    }

    #[test]
    fn weights_are_aggregated() {
        let twice = || {
            let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
            trees.roots = vec![0, 1];
            trees.modes.push(Mode::Less);
            trees.features.push(0);
            trees.values.push(5.0);
            trees.yes.push(1);
            trees.no.push(0);
            trees.yes_leaves.push(1);
            trees.no_leaves.push(1);
            trees.missing.push(0);
            trees
        };
        let rows = [-1.0, 1.0];
        assert_eq!(run(twice(), &rows, Aggregate::Sum), [3.0, 4.0]);
        assert_eq!(run(twice(), &rows, Aggregate::Average), [1.5, 2.0]);
        assert_eq!(run(twice(), &rows, Aggregate::Min), [1.0, 2.0]);
        assert_eq!(run(twice(), &rows, Aggregate::Max), [2.0, 2.0]);
    }

    #[test]
    fn a_branch_that_leads_back_is_refused() {
        let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
        (trees.yes, trees.yes_leaves) = (vec![0], vec![0]);
        assert_eq!(
            trees.build(1).unwrap_err(),
            "has a node that leads back to itself"
        );
        let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
        trees.no = vec![2];
        assert_eq!(
            trees.build(1).unwrap_err(),
            "has a node whose child is not there"
        );
    }

    #[test]
    fn many_rows_are_shared_among_threads() {
        let rows: Vec<f32> = (0..300_000).map(|at| (at % 3) as f32).collect();
        let found = run(stump(Mode::Less, 2.0, 0, &[]), &rows, Aggregate::Sum);
        let right = |(at, &found): (usize, &f64)| found == if at % 3 == 2 { 2.0 } else { 1.0 };
        assert!(found.iter().enumerate().all(right));
        assert!(run(stump(Mode::Less, 2.0, 0, &[]), &[], Aggregate::Sum).is_empty());
    }

    /// A stump whose leaves, below 0.5 and above, weigh for the classes of `ids`.
    fn classes(
        ids: [i64; 2],
        weights: [f32; 2],
        base: &[f32],
        transform: Transform,
    ) -> Classify<f32> {
        let trees = Labelled {
            trees: vec![0; 3],
            nodes: vec![0, 1, 2],
            modes: vec![Mode::LessOrEqual, Mode::Leaf, Mode::Leaf],
            features: vec![0; 3],
            values: vec![0.5, 0.0, 0.0],
            yes: vec![1, 0, 0],
            no: vec![2, 0, 0],
            missing: vec![],
            weight_trees: vec![0; 2],
            weight_nodes: vec![1, 2],
            weight_targets: ids.to_vec(),
            weights: weights.to_vec(),
        };
        Classify {
            forest: trees.build(2).unwrap(),
            classes: 2,
            transform,
            base: base.to_vec(),
            one_column: ids[0] == ids[1],
            positive: weights.iter().all(|&weight| weight >= 0.0),
        }
    }

    /// The sums of the trees' weights for rows of one number.
    fn sums(trees: Labelled<f32>, rows: &[f32]) -> Vec<f64> {
        let regress = Regress {
            forest: trees.build(1).unwrap(),
            targets: 1,
            aggregate: Aggregate::Sum,
            transform: Transform::None,
            base: vec![],
        };
        regress.run(rows, 1, rows.len())
    }

    /// A node after the first sends on to `second`: the branch 0, or the leaf 2.
    fn first_node_sends_to(second: i64) -> Vec<f64> {
        let (branch, leaf) = (Mode::LessOrEqual, Mode::Leaf);
        let trees = Labelled {
            trees: vec![7; 5],
            nodes: vec![4, 0, 1, 2, 3],
            modes: vec![branch, branch, leaf, leaf, leaf],
            features: vec![0; 5],
            values: vec![0.5, 1.5, 0.0, 0.0, 0.0],
            yes: vec![1, 2, 0, 0, 0],
            no: vec![second, 3, 0, 0, 0],
            missing: vec![],
            weight_trees: vec![7; 3],
            weight_nodes: vec![1, 2, 3],
            weight_targets: vec![0; 3],
            weights: vec![1.0f32, 2.0, 4.0],
        };
        sums(trees, &[0.0, 1.0, 2.0])
    }

    #[test]
    fn a_tree_is_what_its_first_node_leads_to() {
        assert_eq!(first_node_sends_to(0), [1.0, 2.0, 4.0]);
        assert_eq!(first_node_sends_to(2), [1.0, 2.0, 2.0]);
    }

    #[test]
    fn nodes_may_be_listed_in_any_order() {
        let trees = Labelled {
            trees: vec![0; 3],
            nodes: vec![2, 0, 1],
            modes: vec![Mode::Leaf, Mode::LessOrEqual, Mode::Leaf],
            features: vec![0; 3],
            values: vec![0.0, 0.5, 0.0],
            yes: vec![0, 1, 0],
            no: vec![0, 2, 0],
            missing: vec![],
            weight_trees: vec![0; 2],
            weight_nodes: vec![1, 2],
            weight_targets: vec![0; 2],
            weights: vec![1.0f32, 2.0],
        };
        assert_eq!(sums(trees, &[0.0, 1.0]), [1.0, 2.0]);
    }

    /// The class and scores of a row below the stump's value.
    fn below(classify: Classify<f32>) -> (usize, [f64; 2]) {
        let (classes, scores) = classify.run(&[0.0], 1, 1);
        (
            classes[0],
            [scores[0], scores[1]].map(|score| (score * 1e4).round() / 1e4),
        )
    }

    #[test]
    fn one_column_of_weights_tells_two_classes() {
        use Transform::{Logistic, None, Softmax};
        let probability = classes([0, 0], [0.2, 0.7], &[], None);
        assert_eq!(below(probability), (0, [0.8, 0.2]));
        let margin = classes([0, 0], [-0.2, 0.7], &[], Softmax);
        assert_eq!(below(margin), (0, [0.2, -0.2]));
        let logit = classes([0, 0], [-0.2, 0.7], &[0.25], Logistic);
        assert_eq!(below(logit), (1, [0.4875, 0.5125]));
        let second = classes([1, 1], [0.2, 0.7], &[0.1, 0.25], None);
        assert_eq!(below(second), (0, [0.0, 0.25]));
    }

    #[test]
    fn two_columns_are_two_scores() {
        let both = classes([0, 1], [0.2, 0.7], &[0.1, 0.25], Transform::None);
        assert_eq!(below(both), (1, [0.3, 0.0]));
        let both = classes([1, 0], [0.2, 0.7], &[], Transform::Softmax);
        assert_eq!(below(both), (1, [0.4502, 0.5498]));
    }
}
