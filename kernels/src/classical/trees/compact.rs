//! Small nodes, whose children are adjacent, for trees with a single kind of test.
//!
//! A step needs no branch and no choice between two indices: the outcome of the test is added to the index of the first child.

use alloc::{collections::VecDeque, vec::Vec};
use core::ops::Range;

use super::{FEATURE, Mode, Node, Number};

/// Number of rows that walk a tree in lockstep.
pub const ROWS: usize = 8;
/// Minimum number of rows that walk a tree in lockstep. Fewer rows walk alone, each through several trees.
pub const MIN_ROWS: usize = 4;
/// Number of steps after which a walk ends if no row has moved in the last one: all are in leaves.
const STEPS: usize = 4;

/// Trees of small nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compact<T> {
    /// The nodes of each tree after one that is unused.
    nodes: Vec<Small<T>>,
    /// The leaf of each node, as an index of the forest's nodes; 0 for branches.
    leaves: Vec<u32>,
    trees: Vec<Tree>,
    /// A row passes a test if its feature is less, not if it is equal.
    strict: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Tree {
    nodes: Range<usize>,
    /// Number of steps to the deepest leaf.
    depth: usize,
}

/// Node of a tree, 8 bytes for `f32`. A leaf compares with NaN, fails, and so leads to itself.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Small<T> {
    value: T,
    feature: u16,
    /// Index in the tree of the node that follows if the test passes; the one after it follows if the test fails.
    passed: u16,
}

impl<T: Number> Compact<T> {
    /// Returns `None` if trees share nodes, or if nodes or features have no small indices. NaN fails all tests, even those that
    /// select the branch `yes` for it.
    pub fn new(nodes: &[Node<T>], branches: u32, roots: &[u32], mode: Option<Mode>) -> Option<Self> {
        let strict = match mode? {
            Mode::LessOrEqual => false,
            Mode::Less => true,
            _ => return None,
        };
        if branches == 0 {
            return None;
        }
        let mut all = Self { nodes: Vec::new(), leaves: Vec::new(), trees: Vec::new(), strict };
        for &root in roots {
            let start = all.nodes.len();
            let depth = all.add(root, nodes, branches)?;
            all.trees.push(Tree { nodes: start..all.nodes.len(), depth });
            // All nodes are distinct unless trees share them.
            if all.nodes.len() > nodes.len() + all.trees.len() {
                return None;
            }
        }
        Some(all)
    }

    /// Adds the nodes of a tree by their distance from the root, and returns the greatest one.
    fn add(&mut self, root: u32, nodes: &[Node<T>], branches: u32) -> Option<usize> {
        let nan = T::from_f64(f64::NAN);
        self.nodes.push(Small { value: nan, feature: 0, passed: 0 });
        self.leaves.push(0);
        let (mut waiting, mut next) = (VecDeque::from([(root, 0)]), 2u16);
        let (mut before, mut depth) = (0u16, 0);
        while let Some((at, distance)) = waiting.pop_front() {
            if at >= branches {
                self.nodes.push(Small { value: nan, feature: 0, passed: before });
                self.leaves.push(at);
            } else {
                let Node { value, test, next: [no, yes] } = nodes[at as usize];
                let feature = u16::try_from(test & FEATURE).ok()?;
                self.nodes.push(Small { value, feature, passed: next });
                self.leaves.push(0);
                waiting.extend([(yes, distance + 1), (no, distance + 1)]);
                next = next.checked_add(2)?;
            }
            before += 1;
            depth = distance;
        }
        Some(depth)
    }

    /// Calls `found(row, leaves)` for each tree and [`ROWS`] rows after the other, in the order of the trees for each row. The
    /// last rows are at least one.
    pub fn walk(&self, rows: &[T], width: usize, count: usize, found: impl FnMut(usize, &[u32])) {
        if self.strict {
            self.run(rows, width, count, |x, value| x < value, found);
        } else {
            self.run(rows, width, count, |x, value| x <= value, found);
        }
    }

    fn run(
        &self,
        rows: &[T],
        width: usize,
        count: usize,
        passes: impl Fn(T, T) -> bool,
        mut found: impl FnMut(usize, &[u32]),
    ) {
        for Tree { nodes, depth } in &self.trees {
            let (nodes, leaves) = (&self.nodes[nodes.clone()], &self.leaves[nodes.clone()]);
            for first in (0..count).step_by(ROWS) {
                let here = ROWS.min(count - first);
                // Rows that do not exist are the last one.
                let rows = core::array::from_fn(|row| &rows[(first + row.min(here - 1)) * width..][..width]);
                let mut ends = descend(nodes, *depth, rows, &passes);
                ends.iter_mut().for_each(|at| *at = leaves[*at as usize]);
                found(first, &ends[..here]);
            }
        }
    }
}

/// Returns the leaves of rows, as indices in the tree.
#[inline(always)]
fn descend<T: Number>(
    nodes: &[Small<T>],
    depth: usize,
    rows: [&[T]; ROWS],
    passes: &impl Fn(T, T) -> bool,
) -> [u32; ROWS] {
    let mut paths = [1u32; ROWS];
    let step = |at: u32, row: &[T]| {
        let node = &nodes[at as usize];
        u32::from(node.passed) + u32::from(!passes(row[usize::from(node.feature)], node.value))
    };
    let mut left = depth;
    while left > STEPS {
        for _ in 1..STEPS {
            for (at, row) in paths.iter_mut().zip(rows) {
                *at = step(*at, row);
            }
        }
        let mut moved = 0;
        for (at, row) in paths.iter_mut().zip(rows) {
            let next = step(*at, row);
            moved |= next ^ *at;
            *at = next;
        }
        if moved == 0 {
            return paths;
        }
        left -= STEPS;
    }
    for _ in 0..left {
        for (at, row) in paths.iter_mut().zip(rows) {
            *at = step(*at, row);
        }
    }
    paths
}
