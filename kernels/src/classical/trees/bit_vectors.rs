//! Leaves of many rows by bit vectors, after QuickScorer (Lucchese et al., 2015).
//!
//! Each leaf of a tree is a bit of the tree's words, the leaves of the branch `yes` before those of `no`. A test that a row fails
//! excludes the leaves below its branch `yes`; the first bit that remains after all tests is the leaf of the row. Tests of a
//! feature are sorted by their values: a row fails the first ones and passes the others. Nothing depends on a comparison but
//! the bits, and several rows are compared at once.

use alloc::{vec, vec::Vec};

use super::{FEATURE, MISSING, Mode, Node, Number};
use crate::classical::rows::vectorized;

/// Number of rows that are compared at once.
pub const ROWS: usize = 16;
/// Minimum number of rows for which this is faster than a walk of each.
pub const MIN_ROWS: usize = 9;
/// Maximum number of words of a group of trees, so that those of all rows stay in the first cache.
const MAX_WORDS: usize = 256;
/// Maximum number of exclusions of a tree, on average. With more, it is faster to walk.
const MAX_EXCLUSIONS: usize = 128;
/// Number of leaves of a word.
const BITS: usize = u32::BITS as usize;

/// Tests of all trees, by features.
#[derive(Clone, Debug, PartialEq)]
pub struct BitVectors<T> {
    groups: Vec<Group>,
    exclusions: Vec<Exclusion<T>>,
    /// The leaves of all trees, as indices of nodes.
    leaves: Vec<u32>,
    /// Features that trees test.
    features: Vec<u32>,
    /// A row passes a test if its feature is less, not if it is equal.
    strict: bool,
}

/// Trees whose bits are computed together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    lists: Vec<List>,
    trees: Vec<Tree>,
    /// Number of words of all trees.
    words: usize,
}

/// Exclusions by tests of one feature.
#[derive(Clone, Debug, PartialEq)]
struct List {
    /// Index in `features`.
    feature: usize,
    /// NaN passes these tests.
    missing: bool,
    /// First of its exclusions, and the first after them.
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tree {
    /// Its first word in the group, and the number of its words.
    word: usize,
    words: usize,
    /// Its first leaf.
    leaf: usize,
}

/// The leaves of one word that a row cannot reach if it fails a test.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exclusion<T> {
    value: T,
    /// Bits of the other leaves.
    kept: u32,
    word: u32,
}

/// An exclusion of a group, with the feature and the bit for NaN of the test.
type Tested<T> = (u32, Exclusion<T>);

/// Called with the number of a row and the leaves of this row and those after it.
type Found<'a> = &'a mut dyn FnMut(usize, &[u32]);

enum Visit {
    Node(u32),
    /// The end of the branch `yes` of a node, whose first leaf has this number.
    Passed(u32, usize),
}

impl<T: Number> BitVectors<T> {
    /// Collects the tests of trees. The first `branches` nodes are branches, and `mode` is the mode of all of them. Returns
    /// `None` if trees share nodes, or if walks are faster because a tree has too many leaves.
    pub fn new(nodes: &[Node<T>], branches: u32, roots: &[u32], mode: Option<Mode>) -> Option<Self> {
        let strict = match mode? {
            Mode::LessOrEqual => false,
            Mode::Less => true,
            _ => return None,
        };
        let tests = &nodes[..branches as usize];
        if tests.is_empty() || tests.iter().any(|node| node.value.is_nan()) {
            return None;
        }
        let mut vectors = Self {
            groups: Vec::new(),
            exclusions: Vec::new(),
            leaves: Vec::new(),
            features: tests.iter().map(|node| node.test & FEATURE).collect(),
            strict,
        };
        vectors.features.sort_unstable();
        vectors.features.dedup();
        let mut group = Group::default();
        let mut tested = Vec::new();
        for &root in roots {
            vectors.add(root, nodes, branches, &mut group, &mut tested)?;
            if group.words >= MAX_WORDS {
                vectors.end_group(&mut group, &mut tested);
            }
        }
        vectors.end_group(&mut group, &mut tested);
        (vectors.exclusions.len() <= MAX_EXCLUSIONS * roots.len()).then_some(vectors)
    }

    /// Adds a tree to a group, unless it shares nodes or has too many leaves.
    fn add(
        &mut self,
        root: u32,
        nodes: &[Node<T>],
        branches: u32,
        group: &mut Group,
        tested: &mut Vec<Tested<T>>,
    ) -> Option<()> {
        let (first_leaf, before) = (self.leaves.len(), tested.len());
        let mut waiting = vec![Visit::Node(root)];
        while let Some(visit) = waiting.pop() {
            let leaves = self.leaves.len() - first_leaf;
            match visit {
                Visit::Node(at) if at >= branches => self.leaves.push(at),
                Visit::Node(at) => {
                    let [no, yes] = nodes[at as usize].next;
                    waiting.extend([Visit::Node(no), Visit::Passed(at, leaves), Visit::Node(yes)]);
                }
                Visit::Passed(at, first) => {
                    let Node { value, test, .. } = nodes[at as usize];
                    for word in first / BITS..leaves.div_ceil(BITS) {
                        let kept = !(bits_before(leaves, word) & !bits_before(first, word));
                        let word = (group.words + word) as u32;
                        tested.push((test & (FEATURE | MISSING), Exclusion { value, kept, word }));
                    }
                }
            }
            // All leaves are distinct unless trees share nodes.
            if self.leaves.len() > nodes.len() || tested.len() - before > 2 * MAX_EXCLUSIONS {
                return None;
            }
        }
        let words = (self.leaves.len() - first_leaf).div_ceil(BITS);
        group.trees.push(Tree { word: group.words, words, leaf: first_leaf });
        group.words += words;
        Some(())
    }

    /// Sorts the exclusions of a group.
    fn end_group(&mut self, group: &mut Group, tested: &mut Vec<Tested<T>>) {
        tested.sort_by(|(a, x), (b, y)| {
            a.cmp(b).then_with(|| x.value.partial_cmp(&y.value).unwrap_or(core::cmp::Ordering::Equal))
        });
        for list in tested.chunk_by(|(a, _), (b, _)| a == b) {
            let start = self.exclusions.len();
            self.exclusions.extend(list.iter().map(|(_, exclusion)| *exclusion));
            let test = list[0].0;
            group.lists.push(List {
                feature: self.features.partition_point(|&feature| feature < test & FEATURE),
                missing: test & MISSING != 0,
                start,
                end: self.exclusions.len(),
            });
        }
        tested.clear();
        self.groups.push(core::mem::take(group));
    }

    /// Calls `found(row, leaves)` for each tree and some rows from `row` on, in the order of the trees for each row.
    pub fn find(&self, rows: &[T], width: usize, count: usize, found: Found<'_>) {
        vectorized(
            #[inline(always)]
            || {
                if self.strict {
                    self.run(rows, width, count, |x, v| x < v, found);
                } else {
                    self.run(rows, width, count, |x, v| x <= v, found);
                }
            },
        );
    }

    #[inline(always)]
    fn run(&self, rows: &[T], width: usize, count: usize, passes: impl Fn(T, T) -> bool, found: Found<'_>) {
        let columns = self.columns(rows, width, count);
        let words = self.groups.iter().map(|group| group.words).max();
        let mut bits = vec![[0; ROWS]; words.unwrap_or(0)];
        for group in &self.groups {
            let bits = &mut bits[..group.words];
            for (at, columns) in columns.chunks(self.features.len()).enumerate() {
                bits.fill([u32::MAX; ROWS]);
                for list in &group.lists {
                    let exclusions = &self.exclusions[list.start..list.end];
                    columns[list.feature].exclude(exclusions, list.missing, &passes, bits);
                }
                let mut found_leaves = [0; ROWS];
                let here = (count - at * ROWS).min(ROWS);
                for tree in &group.trees {
                    let words = &bits[tree.word..tree.word + tree.words];
                    let leaves = &self.leaves[tree.leaf..];
                    let found_leaves = &mut found_leaves[..here];
                    for (lane, leaf) in found_leaves.iter_mut().enumerate() {
                        *leaf = leaves[first_bit(words, lane)];
                    }
                    found(at * ROWS, found_leaves);
                }
            }
        }
    }

    /// Returns the columns of [`ROWS`] rows after the other. Rows that do not exist pass all tests.
    fn columns(&self, rows: &[T], width: usize, count: usize) -> Vec<Column<T>> {
        let none = T::from_f64(f64::NEG_INFINITY);
        let starts = (0..count).step_by(ROWS);
        let column = |start: usize, feature: u32| {
            let mut values = [none; ROWS];
            for (value, row) in values.iter_mut().zip(start..count) {
                *value = rows[row * width + feature as usize];
            }
            Column::new(values)
        };
        let columns =
            starts.flat_map(|start| self.features.iter().map(move |&feature| column(start, feature)));
        columns.collect()
    }
}

/// Returns the bits of a word for the leaves before `leaf`.
fn bits_before(leaf: usize, word: usize) -> u32 {
    match leaf.saturating_sub(word * BITS) {
        count @ 0..BITS => (1 << count) - 1,
        _ => u32::MAX,
    }
}

/// A feature of several rows.
struct Column<T> {
    values: [T; ROWS],
    /// The maximum, except NaN.
    most: T,
    has_nan: bool,
}

impl<T: Number> Column<T> {
    fn new(values: [T; ROWS]) -> Self {
        let more = |most, value| if value > most { value } else { most };
        Self {
            values,
            most: values.into_iter().fold(T::from_f64(f64::NEG_INFINITY), more),
            has_nan: values.iter().any(|value| value.is_nan()),
        }
    }

    /// Excludes leaves from the bits of rows.
    #[inline(always)]
    fn exclude(
        &self,
        exclusions: &[Exclusion<T>],
        missing: bool,
        passes: &impl Fn(T, T) -> bool,
        bits: &mut [[u32; ROWS]],
    ) {
        // A copy can stay in registers.
        let values = self.values;
        if self.has_nan && missing {
            for &Exclusion { value, kept, word } in exclusions {
                let passes = |x: T| passes(x, value) || x.is_nan();
                keep(&mut bits[word as usize], kept, &values, passes);
            }
            return;
        }
        let failed = match self.has_nan {
            true => exclusions.len(),
            false => exclusions.partition_point(|exclusion| !passes(self.most, exclusion.value)),
        };
        for &Exclusion { value, kept, word } in &exclusions[..failed] {
            keep(&mut bits[word as usize], kept, &values, |x| passes(x, value));
        }
    }
}

/// Keeps all bits of rows that pass a test, and `kept` of the others, without branches.
#[inline(always)]
fn keep<T: Number>(bits: &mut [u32; ROWS], kept: u32, values: &[T; ROWS], passes: impl Fn(T) -> bool) {
    let mut left = *bits;
    for (left, &value) in left.iter_mut().zip(values) {
        *left &= kept | u32::from(passes(value)).wrapping_neg();
    }
    *bits = left;
}

/// Returns the index of the first bit of a row.
#[inline(always)]
fn first_bit(words: &[[u32; ROWS]], lane: usize) -> usize {
    let at = words.iter().position(|word| word[lane] != 0).unwrap_or(0);
    at * BITS + words[at][lane].trailing_zeros() as usize
}
