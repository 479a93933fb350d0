//! Products of one row with columns of the weights.
//!
//! A cube computes many columns, and several of its units may share one.

use cubecl::prelude::*;

use super::plan::Plan;

/// Largest number of units of a cube, which every device has.
pub const UNITS: usize = 256;
/// Largest number of units that share a column, and least number of terms of each.
const PARTS: usize = 8;
const TERMS: usize = 8;

/// Columns whose products a cube computes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    pub first: usize,
    pub count: usize,
    /// Number of units that share the terms of a column.
    pub parts: usize,
}

impl Columns {
    /// Returns the columns of `gates` gates from `first` on. A unit reads `together` columns at once.
    pub fn of_gates(plan: &Plan, first: usize, gates: usize, together: usize) -> Self {
        let count = gates * plan.hidden;
        let parts = (UNITS * together / count).min(PARTS);
        Self { first: first * plan.hidden, count, parts: parts.min(plan.hidden / TERMS).max(1) }
    }

    /// Number of sums that a cube keeps, if it computes the one and then the other.
    pub fn sums(columns: [Self; 2]) -> usize {
        let [first, second] = columns.map(|columns| columns.parts * columns.count);
        first.max(second)
    }
}

/// Writes the products of a row with columns, part after part.
#[cube]
pub fn multiply<T: Float, N: Size>(
    weights: &Tensor<Vector<T, N>>,
    row: &Shared<[f32]>,
    sums: &mut Shared<[f32]>,
    direction: usize,
    #[comptime] columns: Columns,
    #[comptime] plan: Plan,
) {
    let together = weights.vector_size();
    let groups = comptime!(columns.count / together);
    let parts = comptime!(columns.parts);
    let step = weights.stride(2);
    let mut task = UNIT_POS as usize;
    while task < comptime!(groups * parts) {
        let (part, column) = (task / groups, task % groups * together);
        let mut at = direction * weights.stride(0)
            + (column + comptime!(columns.first)) * weights.stride(1)
            + part * step;
        let mut sum = Vector::<f32, N>::broadcast(0f32);
        let mut term = part;
        for _ in 0..comptime!(plan.hidden / (4 * parts)) {
            #[unroll]
            for _ in 0..4 {
                sum += Vector::cast_from(weights[at / together]) * Vector::broadcast(row[term]);
                at += parts * step;
                term += parts;
            }
        }
        while term < comptime!(plan.hidden) {
            sum += Vector::cast_from(weights[at / together]) * Vector::broadcast(row[term]);
            at += parts * step;
            term += parts;
        }
        let first = part * comptime!(columns.count) + column;
        #[unroll]
        for lane in 0..together {
            sums[first + lane] = sum.extract(lane);
        }
        task += CUBE_DIM as usize;
    }
}

/// Adds the products of the gates of one hidden value, and their biases unless the products are of levels.
#[cube]
pub fn add_parts(
    sums: &Shared<[f32]>,
    bias: &Array<f32>,
    linear: &mut Array<f32>,
    place: usize,
    #[comptime] columns: Columns,
    #[comptime] plan: Plan,
) {
    let first = comptime!(columns.first / plan.hidden);
    #[unroll]
    for gate in 0..comptime!(columns.count / plan.hidden) {
        let mut sum = 0f32;
        if comptime!(!plan.is_quantized) {
            sum = bias[gate + first];
        }
        #[unroll]
        for part in 0..comptime!(columns.parts) {
            sum += sums[place + comptime!(part * columns.count + gate * plan.hidden)];
        }
        linear[gate + first] = sum;
    }
}
