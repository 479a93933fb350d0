//! NonMaxSuppression: a cube selects the boxes of a class.
//!
//! Boxes are selected in the order of their scores, tile after tile. A box of a tile is compared with the boxes kept
//! of earlier tiles. Then the tile is decided in groups: one unit selects the boxes of a group, and all units compare
//! the boxes after the group with those. The loop ends when enough boxes are kept or scores are too low, which all
//! units read at one barrier.

use burn::backend::TensorMetadata;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    INFINITE, blank,
    index::top_k,
    is_nan,
    launch::{Grid, launch},
    type_of,
};
use crate::{
    spec::boxes::{BoxForm, Limits, kept},
    spec::ranking::Top,
};

/// Number of units of a cube. Each compares a box.
const UNITS: usize = 256;
/// Number of boxes whose comparisons with each other are bits of an integer.
const GROUP: usize = 32;

pub fn suppress(boxes: CubeTensor, scores: CubeTensor, form: BoxForm, limits: Limits) -> Option<CubeTensor> {
    let kept = kept(&type_of(&boxes), &type_of(&scores), &limits)?;
    let (boxes, scores) = (into_contiguous(boxes), into_contiguous(scores));
    let shape = scores.shape();
    let (classes, count) = (shape[1], shape[2]);
    let (rows, most) = (shape[0] * classes, limits.most_of(count));
    let top = Top { k: count, axis: 2, largest: true };
    let order = top_k::first_of(scores.clone(), top);
    let kept = blank(&scores, kept);
    let shared = (9 * UNITS + 3) * size_of::<u32>();
    launch!(Grid::cubes(rows, UNITS).shared(shared) => suppress_kernel(
        boxes, scores, order, &kept;
        rows, classes, count, most, limits.overlap as f32, limits.score.unwrap_or_default() as f32,
        form, limits.score.is_some(),
    ));
    Some(kept)
}

/// Box by its least and its greatest coordinates.
#[derive(CubeType)]
struct Rectangle {
    x0: f32,
    x1: f32,
    y0: f32,
    y1: f32,
    /// Not positive if the box overlaps no other one.
    area: f32,
}

/// A cube selects the boxes of a class of a batch.
///
/// Cubes beyond `rows` end. `boxes` has `4 * count` elements for each batch of `classes` rows, `scores` and
/// `order` `count` for each row, and `kept` `most`. The order has indices below `count`, and no more than
/// `most` boxes are kept.
#[cube(launch_unchecked, address_type = "dynamic")]
fn suppress_kernel(
    boxes: &Tensor<f32>,
    scores: &Tensor<f32>,
    order: &Tensor<i32>,
    kept: &mut Tensor<i32>,
    rows: usize,
    classes: usize,
    count: usize,
    most: usize,
    overlap: f32,
    score: f32,
    #[comptime] form: BoxForm,
    #[comptime] has_score: bool,
) {
    if CUBE_POS >= rows {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first_score = CUBE_POS * count;
    let first_box = CUBE_POS / classes * count;
    let first_kept = CUBE_POS * most;
    let mut tile = Shared::<[f32]>::new_slice(5 * UNITS);
    let mut places = Shared::<[u32]>::new_slice(UNITS);
    let mut passes = Shared::<[u32]>::new_slice(UNITS);
    // The boxes before each one in its group that overlap it, as bits.
    let mut hiding = Shared::<[u32]>::new_slice(UNITS);
    let mut kept_of_group = Shared::<[u32]>::new_slice(1usize);
    let mut total = Shared::<[u32]>::new_slice(1usize);
    // Whether the scores of all further tiles are too low.
    let mut ends = Shared::<[u32]>::new_slice(1usize);

    let mut begin = 0usize;
    let mut found = 0usize;
    let mut goes_on = true;
    while goes_on {
        let mut place = 0usize;
        let mut is_left = false;
        let mut is_low = false;
        if begin + unit < count {
            place = order[first_score + begin + unit] as usize;
            is_left = true;
            if comptime!(has_score) {
                let value = scores[first_score + place];
                is_left = value > score && !is_nan(value);
                // NaN comes first.
                is_low = !is_left && !is_nan(value);
            }
        }
        let own = rectangle(boxes, first_box + place, form);
        let mut at = 0usize;
        while is_left && at < found {
            let other = kept[first_kept + at] as usize;
            is_left = !overlaps(&own, &rectangle(boxes, first_box + other, form), overlap);
            at += 1;
        }
        places[unit] = place as u32;
        passes[unit] = u32::cast_from(is_left);
        store(&mut tile, unit, &own);
        sync_cube();
        if unit == 0 {
            total[0] = found as u32;
        }
        if unit == UNITS - 1 {
            ends[0] = u32::cast_from(is_low);
        }

        let begin_of_group = unit / GROUP * GROUP;
        let mut bits = 0u32;
        for at in begin_of_group..unit {
            if overlaps(&own, &load(&tile, at), overlap) {
                bits |= 1u32 << ((at - begin_of_group) as u32);
            }
        }
        hiding[unit] = bits;
        for group in 0..comptime!(UNITS / GROUP) {
            sync_cube();
            if unit == 0 {
                let mut bits = 0u32;
                let mut found = total[0];
                for at in 0..GROUP {
                    let local = group * GROUP + at;
                    let is_hidden = passes[local] == 0u32 || (hiding[local] & bits) != 0u32;
                    if !is_hidden && (found as usize) < most {
                        kept[first_kept + found as usize] = places[local] as i32;
                        bits |= 1u32 << (at as u32);
                        found += 1u32;
                    }
                }
                kept_of_group[0] = bits;
                total[0] = found;
            }
            sync_cube();
            if is_left && unit / GROUP > group {
                let bits = kept_of_group[0];
                for at in 0..GROUP {
                    if ((bits >> (at as u32)) & 1u32) == 1u32
                        && overlaps(&own, &load(&tile, group * GROUP + at), overlap)
                    {
                        is_left = false;
                    }
                }
                passes[unit] = u32::cast_from(is_left);
            }
        }
        begin += UNITS;
        sync_storage();
        found = workgroup_uniform_load(&total[0]) as usize;
        let is_ended = workgroup_uniform_load(&ends[0]) == 1u32;
        goes_on = begin < count && found < most && !is_ended;
    }

    let mut at = found + unit;
    while at < most {
        kept[first_kept + at] = -1i32;
        at += UNITS;
    }
}

#[cube]
fn rectangle(boxes: &Tensor<f32>, place: usize, #[comptime] form: BoxForm) -> Rectangle {
    let a = boxes[4 * place];
    let b = boxes[4 * place + 1];
    let c = boxes[4 * place + 2];
    let d = boxes[4 * place + 3];
    let mut x0 = min(b, d);
    let mut x1 = max(b, d);
    let mut y0 = min(a, c);
    let mut y1 = max(a, c);
    if comptime!(form == BoxForm::Center) {
        x0 = a - c / 2.0f32;
        x1 = a + c / 2.0f32;
        y0 = b - d / 2.0f32;
        y1 = b + d / 2.0f32;
    }
    let mut area = (x1 - x0) * (y1 - y0);
    if is_nan(a) || is_nan(b) || is_nan(c) || is_nan(d) {
        area = 0.0f32;
    }
    Rectangle { x0, x1, y0, y1, area }
}

/// Returns `true` if the intersection over the union exceeds a limit, which that of disjoint and empty boxes never does.
#[cube]
fn overlaps(a: &Rectangle, b: &Rectangle, limit: f32) -> bool {
    let width = min(a.x1, b.x1) - max(a.x0, b.x0);
    let height = min(a.y1, b.y1) - max(a.y0, b.y0);
    let shared = width * height;
    let union = a.area + b.area - shared;
    is_positive(width)
        && is_positive(height)
        && is_positive(shared)
        && is_positive(a.area)
        && is_positive(b.area)
        && is_positive(union)
        && shared / union > limit
}

#[cube]
fn store(tile: &mut Shared<[f32]>, unit: usize, own: &Rectangle) {
    tile[unit] = own.x0;
    tile[UNITS + unit] = own.x1;
    tile[2 * UNITS + unit] = own.y0;
    tile[3 * UNITS + unit] = own.y1;
    tile[4 * UNITS + unit] = own.area;
}

#[cube]
fn load(tile: &Shared<[f32]>, at: usize) -> Rectangle {
    Rectangle {
        x0: tile[at],
        x1: tile[UNITS + at],
        y0: tile[2 * UNITS + at],
        y1: tile[3 * UNITS + at],
        area: tile[4 * UNITS + at],
    }
}

/// Returns `true` if a number is above zero. NaN is not.
#[cube]
fn is_positive(x: f32) -> bool {
    let bits = u32::reinterpret(x);
    bits > 0u32 && bits <= INFINITE
}
