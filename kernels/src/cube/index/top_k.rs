//! The order of the elements of rows.
//!
//! Sorted tiles are merged in pairs. A merge finds the index of an element by a search in the other run, so that no
//! unit waits for another one.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use burn::backend::{TensorMetadata, ops::IntTensorOps};
use burn::tensor::{DType, IntDType};
use burn_cubecl::{CubeBackend, tensor::CubeTensor};
use cubecl::prelude::*;

use super::keys::{Keys, decided_later};
use crate::cube::{
    first,
    launch::{Grid, launch},
    sizes::within_i32,
    tensor, type_of, unwritten,
};
use crate::{backend::Any, spec::ranking::Top};

/// Number of units of a cube. Each compares two elements at a time.
const UNITS: usize = 256;
const TILE: usize = 2 * UNITS;

/// Largest number of elements that candidates in registers find faster than an order of all.
const CANDIDATES: usize = 32;

/// Rows whose elements are `inner` apart, and the number of elements of each that are kept.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    size: usize,
    inner: usize,
    kept: usize,
}

/// Returns the indices of the first elements of each row. `None` if elements have no keys.
pub fn top_k(x: Any<CubeBackend>, top: Top) -> Option<CubeTensor> {
    let x = tensor(&x);
    top.indices(&type_of(x)).map(|_| first_of(x.clone(), top))
}

/// Returns the indices of the first elements of each row.
pub fn first_of(x: CubeTensor, top: Top) -> CubeTensor {
    let mut shape = x.shape();
    let (size, elements) = (shape[top.axis], shape.num_elements());
    within_i32(size);
    let rows =
        Rows { count: elements / size, size, inner: shape.iter().skip(top.axis + 1).product(), kept: top.k };
    if top.k <= CANDIDATES && x.dtype.is_float() {
        // Burn does not find its initial value, 0, which is the key of no float.
        let keys = Keys::new(x, elements, !top.largest).numbers;
        let keys = CubeBackend::int_reshape(keys, shape);
        let sorted_indices = CubeBackend::int_topk_with_indices(keys, top.axis, top.k).1;
        return CubeBackend::int_cast(sorted_indices, IntDType::I32);
    }
    shape[top.axis] = top.k;
    let y = unwritten(&x, shape, DType::I32);
    sorted(&Keys::new(x, elements, top.largest), rows, y)
}

/// Returns the indices of all elements of a row of keys, in order.
pub fn order(keys: &Keys) -> CubeTensor {
    let y = unwritten(&keys.numbers, [within_i32(keys.size)].into(), DType::I32);
    let rows = Rows { count: 1, size: keys.size, inner: 1, kept: keys.size };
    sorted(keys, rows, y)
}

fn sorted(keys: &Keys, rows: Rows, y: CubeTensor) -> CubeTensor {
    let mut width = TILE;
    let mut sorted_indices = tiles(keys, rows, &y);
    while width < rows.size {
        sorted_indices = merged(keys, sorted_indices, rows, width, &y);
        width = width.saturating_mul(2);
    }
    sorted_indices
}

/// Returns the tensor that a step writes: the result if each row is one run, else the indices of run after run.
fn target(y: &CubeTensor, elements: usize, is_last: bool) -> CubeTensor {
    if is_last { y.clone() } else { unwritten(y, [elements].into(), DType::I32) }
}

/// Returns the indices of the elements of tiles, in order.
fn tiles(keys: &Keys, rows: Rows, y: &CubeTensor) -> CubeTensor {
    let tiles = rows.size.div_ceil(TILE);
    let kept = rows.kept.min(TILE);
    let out = target(y, rows.count * tiles * kept, tiles == 1);
    let cubes = rows.count * tiles;
    let shared = 2 * TILE * size_of::<u32>();
    launch!(Grid::cubes(cubes, UNITS).shared(shared) => tiles_kernel(
        &keys.numbers, &out;
        cubes, tiles, rows.size, rows.inner, kept, keys.planes, keys.size, keys.planes == 1,
        tiles == 1,
    ));
    out
}

/// Returns the indices of the elements of runs of twice the width, in order.
fn merged(keys: &Keys, sorted_indices: CubeTensor, rows: Rows, width: usize, y: &CubeTensor) -> CubeTensor {
    let runs = rows.size.div_ceil(width);
    let left = runs.div_ceil(2);
    let kept = [width, width.saturating_mul(2)].map(|width| rows.kept.min(width));
    let out = target(y, rows.count * left * kept[1], left == 1);
    let count = rows.count * runs * kept[0];
    launch!(Grid::units(count) => merge_kernel(
        &keys.numbers, sorted_indices, &out;
        count, runs, width, kept[0], kept[1], rows.size, rows.inner, keys.planes, keys.size,
        keys.planes == 1, left == 1,
    ));
    out
}

/// A cube sorts a tile of a row.
///
/// Cubes beyond `cubes`, the tiles of all rows, end. A row has `size` elements of each plane of `keys`; those
/// beyond its end are not read, and come last. `sorted_indices` has `kept` elements for each tile, or for
/// each row if it is the last step.
#[cube(launch_unchecked, address_type = "dynamic")]
fn tiles_kernel(
    keys: &Tensor<u32>,
    sorted_indices: &mut Tensor<i32>,
    cubes: usize,
    tiles: usize,
    size: usize,
    inner: usize,
    kept: usize,
    planes: usize,
    plane: usize,
    #[comptime] is_single: bool,
    #[comptime] is_last: bool,
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (row, tile) = (CUBE_POS / tiles, CUBE_POS % tiles);
    let begin = tile * TILE;
    let first = first(row, size, inner);
    let mut own = Shared::<[u32]>::new_slice(TILE);
    let mut order = Shared::<[u32]>::new_slice(TILE);
    #[unroll]
    for step in 0..2 {
        let local = step * UNITS + unit;
        let mut key = 0xffff_ffffu32;
        if begin + local < size {
            key = keys[first + (begin + local) * inner];
        }
        own[local] = key;
        order[local] = local as u32;
    }
    sync_cube();

    // Bitonic: sequences that rise and fall are merged to longer ones, and at last to one that rises.
    let mut length = 2usize;
    while length <= TILE {
        let mut distance = length / 2;
        while distance > 0 {
            let low = unit / distance * 2 * distance + unit % distance;
            let high = low + distance;
            let (place, other) = (order[high], order[low]);
            let mut swaps = is_before(own[high], place, own[low], other);
            if comptime!(!is_single) {
                let (place_of, other_of) = (begin + place as usize, begin + other as usize);
                if own[high] == own[low] && place_of < size && other_of < size {
                    let at = first + place_of * inner;
                    let other_at = first + other_of * inner;
                    swaps = decided_later(keys, at, place, other_at, other, planes, plane);
                }
            }
            let rises = (low / length).is_multiple_of(2);
            if swaps == rises {
                let (key, place) = (own[low], order[low]);
                own[low] = own[high];
                order[low] = order[high];
                own[high] = key;
                order[high] = place;
            }
            sync_cube();
            distance /= 2;
        }
        length *= 2;
    }

    let run = row * tiles + tile;
    #[unroll]
    for step in 0..2 {
        let local = step * UNITS + unit;
        if local < kept && begin + local < size {
            let at = target_index(run, row, local, kept, inner, is_last);
            sorted_indices[at] = (begin + order[local] as usize) as i32;
        }
    }
}

/// A unit finds the index of an element of a run in the merged run.
///
/// Units beyond `count`, the `kept` elements of all runs of all rows, end, and so do those beyond the end of
/// a row. `sorted_indices` has indices of the elements of its row, as the step before has written them; `out`
/// has `kept_then` elements for each two runs.
#[cube(launch_unchecked, address_type = "dynamic")]
fn merge_kernel(
    keys: &Tensor<u32>,
    sorted_indices: &Tensor<i32>,
    out: &mut Tensor<i32>,
    count: usize,
    runs: usize,
    width: usize,
    kept: usize,
    kept_then: usize,
    size: usize,
    inner: usize,
    planes: usize,
    plane: usize,
    #[comptime] is_single: bool,
    #[comptime] is_last: bool,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let (run, local) = (ABSOLUTE_POS / kept, ABSOLUTE_POS % kept);
    let (row, run) = (run / runs, run % runs);
    if local >= size - run * width {
        terminate!();
    }
    let first = first(row, size, inner);
    let place = sorted_indices[ABSOLUTE_POS];
    let at = first + place as usize * inner;
    let key = keys[at];

    // Number of elements of the other run before it.
    let other = run + 1 - run % 2 * 2;
    let mut before = 0usize;
    if other < runs {
        let start = (row * runs + other) * kept;
        let mut end = min(kept, size - other * width);
        while before < end {
            let middle = (before + end) / 2;
            let of = sorted_indices[start + middle];
            let at_of = first + of as usize * inner;
            let key_of = keys[at_of];
            let mut precedes = is_before(key_of, of as u32, key, place as u32);
            if comptime!(!is_single) {
                if key_of == key {
                    let (of, place) = (of as u32, place as u32);
                    precedes = decided_later(keys, at_of, of, at, place, planes, plane);
                }
            }
            if precedes {
                before = middle + 1;
            } else {
                end = middle;
            }
        }
    }
    let local = local + before;
    if local < kept_then {
        let run = row * (runs - runs / 2) + run / 2;
        out[target_index(run, row, local, kept_then, inner, is_last)] = place;
    }
}

/// Returns `true` if an element is before another one. Of equal elements the first one is.
#[cube]
fn is_before(key: u32, place: u32, other: u32, of_other: u32) -> bool {
    key < other || (key == other && place < of_other)
}

/// Returns the offset that an element of a run is written to: run after run, or in the result along its axis.
#[cube]
fn target_index(
    run: usize,
    row: usize,
    local: usize,
    kept: usize,
    inner: usize,
    #[comptime] is_last: bool,
) -> usize {
    if comptime!(is_last) { first(row, kept, inner) + local * inner } else { run * kept + local }
}
