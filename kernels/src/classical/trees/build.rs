//! Construction of forests from the attributes of ONNX.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{vec, vec::Vec};

use super::{BitVectors, Compact, FEATURE, Forest, MISSING, Mode, Node, Number};

/// Attributes of TreeEnsembleClassifier and TreeEnsembleRegressor, whose nodes have ids.
#[derive(Clone, Debug, Default)]
pub struct Labeled<T> {
    /// Tree of each node, and id of the node within the tree.
    pub trees: Vec<i64>,
    pub nodes: Vec<i64>,
    pub modes: Vec<Mode>,
    pub features: Vec<i64>,
    pub values: Vec<T>,
    pub yes: Vec<i64>,
    pub no: Vec<i64>,
    /// NaN takes the branch `yes`; may be empty.
    pub missing: Vec<i64>,
    /// Tree and leaf of each weight, and the target or class that it counts for.
    pub weight_trees: Vec<i64>,
    pub weight_nodes: Vec<i64>,
    pub weight_targets: Vec<i64>,
    pub weights: Vec<T>,
}

/// Attributes of TreeEnsemble, which refers to nodes and leaves by index.
#[derive(Debug, Default)]
pub struct Indexed<T> {
    pub roots: Vec<i64>,
    pub modes: Vec<Mode>,
    pub features: Vec<i64>,
    pub values: Vec<T>,
    pub yes: Vec<i64>,
    pub no: Vec<i64>,
    /// `yes` and `no` are indices of leaves.
    pub yes_leaves: Vec<i64>,
    pub no_leaves: Vec<i64>,
    /// NaN takes the branch `yes`; may be empty.
    pub missing: Vec<i64>,
    /// Members of each set in the order of its node, each set followed by NaN.
    pub members: Vec<T>,
    pub weight_targets: Vec<i64>,
    pub weights: Vec<T>,
}

/// Inner node of a tree. Its children are indices of branches, or of leaves with the bit [`LEAF`].
#[derive(Clone, Copy)]
struct Branch<T> {
    value: T,
    test: u32,
    yes: u32,
    no: u32,
}

/// Bit of an index that marks a leaf.
const LEAF: u32 = 1 << 31;

const LENGTHS: &str = "has lists of different lengths";
const ABSENT: &str = "has a node whose child does not exist";

impl<T: Number> Labeled<T> {
    /// Builds the forest over `targets` targets or classes.
    pub fn build(self, targets: usize) -> Result<Forest<T>, &'static str> {
        let count = self.nodes.len();
        let lengths = [&self.trees, &self.features, &self.yes, &self.no];
        let whole = lengths.iter().all(|list| list.len() == count)
            && [self.modes.len(), self.values.len()] == [count; 2]
            && [0, count].contains(&self.missing.len());
        let weights = self.weights.len();
        let leaves = [&self.weight_trees, &self.weight_nodes, &self.weight_targets];
        if !whole || leaves.iter().any(|list| list.len() != weights) {
            return Err(LENGTHS);
        }
        // Branches and leaves are numbered separately.
        let (mut numbers, mut branches, mut leaves) = (BTreeMap::new(), 0u32, 0u32);
        for (at, &mode) in self.modes.iter().enumerate() {
            let next = if mode == Mode::Leaf { &mut leaves } else { &mut branches };
            let number = if mode == Mode::Leaf { *next | LEAF } else { *next };
            *next += 1;
            if numbers.insert((self.trees[at], self.nodes[at]), number).is_some() {
                return Err("has two nodes with the same id");
            }
        }
        let number_of = |tree, node| numbers.get(&(tree, node)).copied();
        let mut list = Vec::with_capacity(branches as usize);
        for at in (0..count).filter(|&at| self.modes[at] != Mode::Leaf) {
            let child = |node| number_of(self.trees[at], node).ok_or(ABSENT);
            let (yes, no) = (child(self.yes[at])?, child(self.no[at])?);
            let missing = self.missing.get(at).is_some_and(|&missing| missing != 0);
            let test = test(self.features[at], self.modes[at], missing)?;
            let value = self.values[at];
            list.push(Branch { value, test, yes, no });
        }
        let roots = self.roots(&numbers);
        let mut by_leaf = vec![Vec::new(); leaves as usize];
        for at in 0..weights {
            let leaf = number_of(self.weight_trees[at], self.weight_nodes[at]);
            let leaf = leaf.ok_or("has a weight for a node that does not exist")?;
            // A branch with a weight is ignored: it is never reached as a leaf.
            if leaf & LEAF != 0 {
                let target = target(self.weight_targets[at], targets)?;
                by_leaf[(leaf & !LEAF) as usize].push((target, self.weights[at]));
            }
        }
        let mut starts = vec![0];
        let mut weights = Vec::with_capacity(weights);
        for leaf in by_leaf {
            weights.extend(leaf);
            starts.push(weights.len() as u32);
        }
        forest(list, roots, starts, weights)
    }

    /// Returns the root of each tree: the only node that is not a child, whatever the order of the nodes. If several nodes are
    /// not children, because the weights leave a part of the tree unreachable, it is the first node of the list.
    fn roots(&self, numbers: &BTreeMap<(i64, i64), u32>) -> Vec<u32> {
        let branches = (0..self.nodes.len()).filter(|&at| self.modes[at] != Mode::Leaf);
        let children = branches.flat_map(|at| [self.yes[at], self.no[at]].map(|node| (self.trees[at], node)));
        let children: BTreeSet<(i64, i64)> = children.collect();
        let mut trees: BTreeMap<i64, usize> = BTreeMap::new();
        // The first node of each tree, and its nodes that are not children.
        let mut begins: Vec<(u32, Vec<u32>)> = Vec::new();
        for node in self.trees.iter().copied().zip(self.nodes.iter().copied()) {
            let Some(&number) = numbers.get(&node) else {
                continue;
            };
            let tree = *trees.entry(node.0).or_insert_with(|| {
                begins.push((number, Vec::new()));
                begins.len() - 1
            });
            if !children.contains(&node) {
                begins[tree].1.push(number);
            }
        }
        let root = |(first, alone): (u32, Vec<u32>)| match *alone.as_slice() {
            [root] => root,
            _ => first,
        };
        begins.into_iter().map(root).collect()
    }
}

impl<T: Number> Indexed<T> {
    /// Builds the forest over `targets` targets.
    pub fn build(self, targets: usize) -> Result<Forest<T>, &'static str> {
        let count = self.modes.len();
        let lists = [&self.features, &self.yes, &self.no];
        let leaves = [&self.yes_leaves, &self.no_leaves];
        let whole = lists.iter().chain(&leaves).all(|list| list.len() == count)
            && self.values.len() == count
            && [0, count].contains(&self.missing.len())
            && self.weight_targets.len() == self.weights.len();
        if !whole {
            return Err(LENGTHS);
        }
        let child = |index: i64, leaf: i64| {
            let most = if leaf != 0 { self.weights.len() } else { count };
            let index = u32::try_from(index).ok().filter(|&index| (index as usize) < most);
            let index = index.ok_or(ABSENT)?;
            Ok::<_, &str>(if leaf != 0 { index | LEAF } else { index })
        };
        let mut branches: Vec<Branch<T>> = Vec::with_capacity(count);
        let mut chains = Vec::new();
        let mut members = self.members.into_iter();
        for at in 0..count {
            let yes = child(self.yes[at], self.yes_leaves[at])?;
            let no = child(self.no[at], self.no_leaves[at])?;
            let missing = self.missing.get(at).is_some_and(|&missing| missing != 0);
            let (mut value, mut mode) = (self.values[at], self.modes[at]);
            if mode == Mode::Member {
                mode = Mode::Equal;
                let list: Vec<T> = members.by_ref().take_while(|value| !value.is_nan()).collect();
                // Nothing equals NaN, so an empty set has no member.
                value = list.first().copied().unwrap_or(T::from_f64(f64::NAN));
                chains.extend(list.into_iter().skip(1).map(|value| (at, value)));
            }
            let test = test(self.features[at], mode, missing)?;
            branches.push(Branch { value, test, yes, no });
        }
        // Further members become nodes of their own, each tested if the members before differ.
        for (at, value) in chains {
            let index = branches.len() as u32;
            let first = branches[at];
            branches[at].no = index;
            branches.push(Branch { value, ..first });
        }
        let root = |&root: &i64| {
            let root = child(root, 0)?;
            let at = root as usize;
            // A tree of one leaf is a branch whose two children are the same leaf.
            let leaf = [self.yes_leaves[at], self.no_leaves[at]].iter().all(|&leaf| leaf != 0);
            if leaf && self.yes[at] == self.no[at] { child(self.yes[at], 1) } else { Ok(root) }
        };
        let roots = self.roots.iter().map(root).collect::<Result<_, _>>()?;
        let starts = (0..=self.weights.len() as u32).collect();
        let weights = self.weight_targets.into_iter().zip(self.weights);
        let weights = weights.map(|(id, weight)| Ok::<_, &str>((target(id, targets)?, weight)));
        forest(branches, roots, starts, weights.collect::<Result<_, _>>()?)
    }
}

fn test(feature: i64, mode: Mode, missing: bool) -> Result<u32, &'static str> {
    let feature = u32::try_from(feature).ok().filter(|&feature| feature <= FEATURE);
    let feature = feature.ok_or("has a node whose feature is out of range")?;
    Ok(feature | ((mode as u32) << 28) | if missing { MISSING } else { 0 })
}

/// A single target is used whatever its id.
fn target(id: i64, targets: usize) -> Result<u32, &'static str> {
    match u32::try_from(id) {
        _ if targets == 1 => Ok(0),
        Ok(id) if (id as usize) < targets => Ok(id),
        _ => Err("has a weight for a target that does not exist"),
    }
}

/// Builds a forest. Rejects cyclic branches, which would be walked forever.
fn forest<T: Number>(
    branches: Vec<Branch<T>>,
    roots: Vec<u32>,
    starts: Vec<u32>,
    weights: Vec<(u32, T)>,
) -> Result<Forest<T>, &'static str> {
    let children = |at: usize| {
        let both = [branches[at].yes, branches[at].no].into_iter();
        both.filter(|at| at & LEAF == 0).map(|at| at as usize)
    };
    let begins = roots.iter().filter(|root| *root & LEAF == 0);
    let mut waiting: Vec<usize> = begins.map(|&root| root as usize).collect();
    let (mut parents, mut reached) = (vec![0u32; branches.len()], vec![false; branches.len()]);
    let mut all = Vec::new();
    while let Some(at) = waiting.pop() {
        if !core::mem::replace(&mut reached[at], true) {
            all.push(at);
            for child in children(at) {
                parents[child] += 1;
                waiting.push(child);
            }
        }
    }
    let mut free: Vec<usize> = all.iter().copied().filter(|&at| parents[at] == 0).collect();
    let mut seen = 0;
    while let Some(at) = free.pop() {
        seen += 1;
        for child in children(at) {
            parents[child] -= 1;
            if parents[child] == 0 {
                free.push(child);
            }
        }
    }
    if seen < all.len() {
        return Err("has a cycle of nodes");
    }
    let count = branches.len() as u32;
    let number = |index: u32| if index & LEAF == 0 { index } else { count + (index & !LEAF) };
    let leaf = |index| Node { value: T::from_f64(0.0), test: 0, next: [number(index | LEAF); 2] };
    let nodes = branches.iter().map(|&Branch { value, test, yes, no }| Node {
        value,
        test,
        next: [number(no), number(yes)],
    });
    let leaves = starts.len().saturating_sub(1) as u32;
    let nodes: Vec<Node<T>> = nodes.chain((0..leaves).map(leaf)).collect();
    let modes = [Mode::LessOrEqual, Mode::Less];
    let tests = &nodes[..branches.len()];
    let only = |mode: &Mode| tests.iter().all(|node| node.mode() == *mode as u32);
    let features = tests.iter().map(|node| (node.test & FEATURE) as usize + 1);
    let mode = modes.into_iter().find(only);
    let roots: Vec<u32> = roots.into_iter().map(number).collect();
    let vectors = BitVectors::new(&nodes, count, &roots, mode);
    Ok(Forest {
        compact: if vectors.is_some() { None } else { Compact::new(&nodes, count, &roots, mode) },
        vectors,
        is_single: starts.iter().zip(0u32..).all(|(&start, at)| start == at),
        mode,
        missing: tests.iter().any(|node| node.test & MISSING != 0),
        features: features.max().unwrap_or(0),
        branches: count,
        roots,
        nodes,
        starts,
        weights,
    })
}
