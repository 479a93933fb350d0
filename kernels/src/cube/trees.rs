//! Decision trees: a unit walks one tree for one row, then the weights of the leaves are gathered for each target.
//!
//! The walk reads memory by places of the tables alone, which were checked when the forest was built, and by features, of
//! which rows have enough. It ends because no node leads back to itself.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    INFINITE, blank,
    launch::{Grid, launch},
    magnitude, tensor, type_of, unwritten,
};
use crate::backend::{Outcome, Walk};
use crate::spec::trees::{ALWAYS, Aggregate, Election, FEATURE, LEAF, MISSING, Mode};

/// Number of units that gather the votes for one target of a row, if there are few rows and many trees.
const UNITS: usize = 64;
/// Number of scores from which on each has one unit.
const MANY: usize = 4096;
/// Number of leaves in memory at a time, of four bytes each; few in tests, which have few rows.
const LEAVES: usize = if cfg!(test) { 1 << 12 } else { 1 << 24 };

/// Returns the scores of at least one row, and the number of leaves that count for each.
pub fn votes(walk: Walk<CubeBackend>, election: Election) -> (Outcome<CubeBackend>, Outcome<CubeBackend>) {
    let rows = tensor(&walk.rows);
    let [scores, votes] = election.result(&type_of(rows), &type_of(&walk.weights));
    let rows = into_contiguous(rows.clone());
    let (count, trees) = (rows.shape()[0], walk.roots.shape()[0]);
    let [scores, votes] = [scores, votes].map(|ty| blank(&walk.weights, ty));
    let block = (LEAVES / trees).clamp(1, count);
    for first in (0..count).step_by(block) {
        let length = block.min(count - first);
        let leaves = leaves(&rows, &walk, [first, length], election.mode);
        gather(leaves, &walk, [&scores, &votes], [first, length], election);
    }
    (Outcome::Float(scores), Outcome::Int(votes))
}

/// Returns the leaves that `length` rows from `first` on reach, tree by tree.
fn leaves(
    rows: &CubeTensor,
    walk: &Walk<CubeBackend>,
    [first, length]: [usize; 2],
    mode: Option<Mode>,
) -> CubeTensor {
    let count = walk.roots.shape()[0] * length;
    let leaves = unwritten(rows, [count].into(), DType::U32);
    let dtypes = [rows.dtype, walk.values.dtype].map(dtype_to_storage_type);
    launch!(Grid::units(count) => leaves_kernel(
        rows, &walk.nodes, &walk.values, &walk.roots, &leaves;
        count, first, length, rows.shape()[1], mode.unwrap_or(Mode::Leaf), rows.dtype.is_float(),
        dtypes,
    ));
    leaves
}

/// Writes the scores and the votes of `length` rows from `first` on.
fn gather(
    leaves: CubeTensor,
    walk: &Walk<CubeBackend>,
    [scores, votes]: [&CubeTensor; 2],
    [first, length]: [usize; 2],
    election: Election,
) {
    let (trees, targets) = (walk.roots.shape()[0], election.targets);
    let count = length * targets;
    let share = if count < MANY && trees > UNITS { UNITS } else { 1 };
    let grid = match share {
        1 => Grid::units(count),
        _ => Grid::cubes(count, UNITS).shared(UNITS * (walk.weights.dtype.size() + size_of::<i32>())),
    };
    launch!(grid => votes_kernel(
        leaves, &walk.starts, &walk.targets, &walk.weights, scores, votes;
        count, first, length, targets, trees, share, election.aggregate,
        dtype_to_storage_type(walk.weights.dtype),
    ));
}

/// A unit walks a tree for a row.
///
/// Units beyond `count`, `length` rows for each of the `roots`, end. `rows` has `width` elements for each row
/// from `first` on, and each feature of a node is below it. Nodes lead to nodes or leaves of the tables alone.
#[cube(launch_unchecked, address_type = "dynamic")]
fn leaves_kernel<X: Numeric, T: Float>(
    rows: &Tensor<X>,
    nodes: &Tensor<u32>,
    values: &Tensor<T>,
    roots: &Tensor<u32>,
    leaves: &mut Tensor<u32>,
    count: usize,
    first: usize,
    length: usize,
    width: usize,
    #[comptime] mode: Mode,
    #[comptime] is_float: bool,
    #[define(X, T)] _dtypes: [ElemType; 2],
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    // Adjacent units walk the same tree.
    let row = (first + ABSOLUTE_POS % length) * width;
    let mut at = roots[ABSOLUTE_POS / length];
    while at < LEAF {
        let node = at as usize;
        let test = nodes[3 * node];
        let number = (test >> 28u32) & 7u32;
        let value = values[node];
        let feature = rows[row + (test & FEATURE) as usize];
        let x = T::cast_from(feature);
        let mut passes = number == comptime!(ALWAYS).runtime();
        if comptime!(mode == Mode::LessOrEqual) {
            passes = passes || (number == 0u32 && x <= value);
        } else if comptime!(mode == Mode::Less) {
            passes = passes || (number == 1u32 && x < value);
        } else if number == 0u32 {
            passes = x <= value;
        } else if number == 1u32 {
            passes = x < value;
        } else if number == 2u32 {
            passes = x >= value;
        } else if number == 3u32 {
            passes = x > value;
        } else if number == 4u32 {
            passes = x == value;
        } else if number == 5u32 {
            passes = x != value;
        }
        if comptime!(is_float) {
            // Shaders may compare as if nothing were NaN.
            if magnitude(f32::cast_from(feature)) > INFINITE {
                passes = test >= MISSING || number == 5u32 || number == comptime!(ALWAYS).runtime();
            }
        }
        at = nodes[3 * node + 2];
        if passes {
            at = nodes[3 * node + 1];
        }
    }
    leaves[ABSOLUTE_POS] = at - LEAF;
}

/// A unit or a cube gathers the votes for a target of a row.
///
/// Units or cubes beyond `count`, `length` rows for each target, end. `leaves` has `trees * length` elements,
/// each below the number of `starts` but one. These ascend to the number of `targets` and `weights`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn votes_kernel<T: Float>(
    leaves: &Tensor<u32>,
    starts: &Tensor<u32>,
    targets: &Tensor<u32>,
    weights: &Tensor<T>,
    scores: &mut Tensor<T>,
    votes: &mut Tensor<i32>,
    count: usize,
    first: usize,
    length: usize,
    width: usize,
    trees: usize,
    #[comptime] share: usize,
    #[comptime] aggregate: Aggregate,
    #[define(T)] _dtype: ElemType,
) {
    // The units of a cube share a score, or each has one.
    let mut score = ABSOLUTE_POS;
    let mut part = 0usize;
    if comptime!(share > 1) {
        score = CUBE_POS;
        part = UNIT_POS as usize;
    }
    if score >= count {
        terminate!();
    }
    let (row, target) = (score % length, score / length);
    let mut total = T::from_int(0);
    let mut found = 0i32;
    let mut tree = part;
    while tree < trees {
        let leaf = leaves[tree * length + row] as usize;
        let mut at = starts[leaf] as usize;
        let end = starts[leaf + 1] as usize;
        // The first weight of the target.
        let mut last = end;
        while at < last {
            let middle = (at + last) / 2;
            if (targets[middle] as usize) < target {
                at = middle + 1;
            } else {
                last = middle;
            }
        }
        while at < end {
            if targets[at] as usize == target {
                total = together::<T>(total, found, weights[at], 1i32, aggregate);
                found += 1i32;
                at += 1;
            } else {
                at = end;
            }
        }
        tree += share;
    }

    if comptime!(share > 1) {
        let mut totals = Shared::<[T]>::new_slice(UNITS);
        let mut counts = Shared::<[i32]>::new_slice(UNITS);
        totals[part] = total;
        counts[part] = found;
        sync_cube();
        let mut active = comptime!(UNITS / 2).runtime();
        while active > 0 {
            if part < active {
                let (other, of_other) = (totals[part + active], counts[part + active]);
                totals[part] = together::<T>(totals[part], counts[part], other, of_other, aggregate);
                counts[part] += of_other;
            }
            sync_cube();
            active /= 2;
        }
        total = totals[0];
        found = counts[0];
    }
    if part == 0 {
        let at = (first + row) * width + target;
        scores[at] = total;
        votes[at] = found;
    }
}

/// Returns the aggregate of two parts of the votes, one of which may be empty.
#[cube]
fn together<T: Float>(a: T, of_a: i32, b: T, of_b: i32, #[comptime] aggregate: Aggregate) -> T {
    let mut total = a;
    if of_b > 0i32 {
        if of_a == 0i32 {
            total = b;
        } else if comptime!(aggregate == Aggregate::Min) {
            total = select(b < a, b, a);
        } else if comptime!(aggregate == Aggregate::Max) {
            total = select(b > a, b, a);
        } else {
            total = a + b;
        }
    }
    total
}
