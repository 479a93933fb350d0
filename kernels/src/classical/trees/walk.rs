//! Paths of rows from the roots of trees to leaves.
//!
//! Each step of a path waits for the load of the step before. Therefore several paths advance together, in lockstep: those of
//! several rows in one tree, or those of one row in several trees.

use core::slice;

use super::{FEATURE, Forest, MISSING, Mode, Node, Number};

/// Number of paths that are walked in lockstep.
const LANES: usize = 8;

impl<T: Number> Forest<T> {
    /// Calls `found(row, leaves)` for each tree and some rows from `row` on, in the order of the trees for each row.
    pub fn walk(&self, rows: &[T], width: usize, count: usize, found: impl FnMut(usize, &[u32])) {
        let (less, less_or_equal) = (|node: &Node<T>, x| x < node.value, |node: &Node<T>, x| x <= node.value);
        match (self.mode, self.is_missing(rows)) {
            (Some(Mode::LessOrEqual), false) => self.run(rows, width, count, less_or_equal, found),
            (Some(Mode::Less), false) => self.run(rows, width, count, less, found),
            _ => self.run(rows, width, count, Node::passes, found),
        }
    }

    fn run(
        &self,
        rows: &[T],
        width: usize,
        count: usize,
        test: impl Fn(&Node<T>, T) -> bool,
        mut found: impl FnMut(usize, &[u32]),
    ) {
        let grouped = count - count % LANES;
        for &root in &self.roots {
            for first in (0..grouped).step_by(LANES) {
                let mut paths = [root; LANES];
                self.descend(&mut paths, &rows[first * width..(first + LANES) * width], width, &test);
                found(first, &paths);
            }
        }
        for row in grouped..count {
            for roots in self.roots.chunks(LANES) {
                // Further paths begin at a leaf.
                let mut paths = [self.branches; LANES];
                paths[..roots.len()].copy_from_slice(roots);
                self.descend(&mut paths, &rows[row * width..(row + 1) * width], 0, &test);
                paths[..roots.len()].iter().for_each(|leaf| found(row, slice::from_ref(leaf)));
            }
        }
    }

    /// Walks paths from branches to leaves. The features of a path begin `distance` elements after those of the path before.
    #[inline(always)]
    fn descend(
        &self,
        paths: &mut [u32; LANES],
        rows: &[T],
        distance: usize,
        test: &impl Fn(&Node<T>, T) -> bool,
    ) {
        let (nodes, branches) = (self.nodes.as_slice(), self.branches);
        let mut walking = branches > 0;
        while walking {
            let mut least = u32::MAX;
            let mut start = 0;
            for at in paths.iter_mut() {
                let node = &nodes[*at as usize];
                let feature = rows[start + (node.test & FEATURE) as usize];
                let next = node.next[usize::from(test(node, feature))];
                *at = next;
                least = least.min(next);
                start += distance;
            }
            walking = least < branches;
        }
    }
}

impl<T: Number> Node<T> {
    pub fn mode(&self) -> u32 {
        (self.test >> 28) & 7
    }

    /// Returns `true` if a feature passes the test of a node.
    fn passes(&self, x: T) -> bool {
        let value = self.value;
        let passes = match self.mode() {
            0 => x <= value,
            1 => x < value,
            2 => x >= value,
            3 => x > value,
            4 => x == value,
            _ => x != value,
        };
        passes || (self.test & MISSING != 0 && x.is_nan())
    }
}
