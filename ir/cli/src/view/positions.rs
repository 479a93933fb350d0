//! Positions of boxes and edges.

use super::labels::LINE;
use super::layers::{Layers, layers};
use super::scene::{BoxKind, Piece, Scene};
use super::text::width;

/// Distance between adjacent boxes, and between an edge and a box.
const BESIDE: f64 = 26.0;
/// Distance between layers.
const BETWEEN: f64 = 34.0;
/// Height that a layer needs for its labels.
const LABEL: f64 = 18.0;
/// Maximum spare height for which a box is centered in its layer. With more, it is at the top.
const CENTERED: f64 = 60.0;
/// Distance between the border of an open box and its content.
const MARGIN: f64 = 18.0;
/// Height above the content of an open box, for its title.
const HEADING: f64 = 30.0;
/// Width of a passage, and of the end of an edge at a border.
const PASSAGE: f64 = 8.0;
/// Minimum width of a box.
const MIN_BOX_WIDTH: f64 = 64.0;
/// Number of passes that improve the positions, downwards and upwards in turn.
const SWEEPS: usize = 24;

/// Positions of the boxes and edges of a scene, relative to its upper left corner.
#[derive(Debug)]
pub struct Positions {
    pub width: f64,
    pub height: f64,
    /// Boxes in the order of the scene's pieces.
    pub boxes: Vec<Frame>,
    /// Content of each box, if it is open.
    pub inner: Vec<Option<Positions>>,
    pub edges: Vec<Line>,
}

/// Upper left corner and size of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// An edge that is straight within a layer and through a label, and curved between layers.
#[derive(Debug, Default)]
pub struct Line {
    /// Two points for each slot of the edge: the start and the end of its straight part in the layer.
    pub points: Vec<(f64, f64)>,
    /// Whether the edge starts at a box, and not at the border.
    pub has_source: bool,
    /// Whether the edge ends at a box, and not at the border.
    pub arrow: bool,
}

/// Returns the size of a box that is not open.
pub fn closed(piece: &Piece) -> (f64, f64) {
    let small = piece.details.iter().map(|line| width(line, 11.0));
    let title = width(&heading(piece), 13.0) * 1.08;
    // A page marks boxes that can be opened.
    let mark = if piece.inner.is_some() { 20.0 } else { 0.0 };
    let widest = small.fold(title + mark, f64::max) + 24.0;
    let lines = piece.details.len() + usize::from(is_module(piece));
    (widest.max(MIN_BOX_WIDTH), 26.0 + 15.0 * lines as f64)
}

/// Returns the title of a box.
pub fn heading(piece: &Piece) -> String {
    match piece.repeats {
        1 => piece.title.clone(),
        times => format!("{} × {times}", piece.title),
    }
}

pub fn is_module(piece: &Piece) -> bool {
    matches!(piece.kind, BoxKind::Module | BoxKind::Block) || piece.inner.is_some()
}

/// Returns the layers of a scene. The slots of its pieces come first, then those where edges enter, then those where
/// they leave.
pub fn plan(scene: &Scene) -> Layers {
    let edges = scene.edges();
    let pieces = scene.pieces.len();
    let mut enters: Vec<_> = edges.iter().filter(|edge| edge.from.is_none()).map(|edge| edge.value).collect();
    enters.sort_unstable();
    enters.dedup();
    let mut leaves: Vec<_> = edges.iter().filter(|edge| edge.to.is_none()).map(|edge| edge.value).collect();
    leaves.sort_unstable();
    leaves.dedup();
    // `layers` requires edges to higher numbers, so that borders above come first there.
    let inside = |slot: usize| enters.len() + slot;
    let ends: Vec<(usize, usize)> = edges
        .iter()
        .map(|edge| {
            let index = |list: &[_]| list.iter().position(|value| *value == edge.value).unwrap_or(0);
            (
                edge.from.map_or_else(|| index(&enters), inside),
                edge.to.map_or_else(|| inside(pieces) + index(&leaves), inside),
            )
        })
        .collect();
    let count = enters.len() + pieces + leaves.len();
    let last: Vec<usize> = (inside(pieces)..count).collect();
    let mut made = layers(count, &ends, &last);
    let moved = |slot: usize| match slot {
        slot if slot < enters.len() => pieces + slot,
        slot if slot < inside(pieces) => slot - enters.len(),
        slot => slot,
    };
    made.layers.iter_mut().flatten().for_each(|slot| *slot = moved(*slot));
    made.routes.iter_mut().flatten().for_each(|slot| *slot = moved(*slot));
    made
}

/// Returns the positions of all boxes and edges of a scene.
pub fn positions(scene: &Scene) -> Positions {
    let layers = plan(scene);
    let inner: Vec<Option<Positions>> =
        scene.pieces.iter().map(|piece| piece.inner.as_ref().filter(|_| piece.open).map(positions)).collect();
    let mut sizes = vec![(PASSAGE, 0.0); layers.slots];
    for (at, (piece, inner)) in scene.pieces.iter().zip(&inner).enumerate() {
        sizes[at] = match inner {
            None => closed(piece),
            Some(inner) => {
                let title = width(&heading(piece), 13.0) * 1.08 + 3.0 * MARGIN;
                let inside = inner.width + 2.0 * MARGIN;
                (inside.max(title), inner.height + HEADING + MARGIN)
            }
        };
    }
    // A label may be wider than its box.
    let mut room: Vec<f64> = sizes.iter().map(|size| size.0).collect();
    for (at, piece) in scene.pieces.iter().enumerate() {
        room[at] = room[at].max(width(&piece.label, LINE));
    }
    let count = scene.pieces.len();
    let middles = middles(&layers, &room, count);
    let mut frames = vec![Frame::default(); layers.slots];
    let mut spans = vec![(0.0, 0.0); layers.slots];
    let mut y = 0.0;
    for layer in &layers.layers {
        let has_label = |slot: &usize| scene.pieces.get(*slot).is_some_and(has_label);
        let label = if layer.iter().any(has_label) { LABEL } else { 0.0 };
        let height = layer.iter().map(|&slot| sizes[slot].1).fold(0.0, f64::max);
        for &slot in layer {
            let (width, own) = sizes[slot];
            let spare = height - own;
            let shift = if spare > CENTERED { 0.0 } else { spare / 2.0 };
            frames[slot] = Frame { x: middles[slot] - width / 2.0, y: y + shift, width, height: own };
            spans[slot] = (y, y + height + label);
        }
        y += height + label + BETWEEN;
    }
    let edges = layers.routes.iter().map(|route| line(route, &frames, &spans, &middles, count));
    let edges = edges.collect();
    frames.truncate(count);
    Positions {
        width: middles.iter().zip(&room).map(|(x, room)| x + room / 2.0).fold(0.0, f64::max),
        height: (y - BETWEEN).max(0.0),
        boxes: frames,
        inner,
        edges,
    }
}

/// Returns `true` if types are shown below a box.
pub fn has_label(piece: &Piece) -> bool {
    !piece.label.is_empty() && !piece.makes.is_empty()
}

/// Returns an edge that is straight from a box to the end of its layer, curved to the next one, and straight through
/// it.
fn line(route: &[usize], frames: &[Frame], spans: &[(f64, f64)], middles: &[f64], boxes: usize) -> Line {
    let mut points = Vec::new();
    for (at, &slot) in route.iter().enumerate() {
        let (frame, (top, end), x) = (&frames[slot], spans[slot], middles[slot]);
        let is_last = at + 1 == route.len();
        if at == 0 {
            points.push((x, frame.y + frame.height));
        } else {
            points.push((x, top));
        }
        points.push((x, if is_last { frame.y } else { end }));
    }
    Line {
        points,
        has_source: route.first().is_some_and(|&slot| slot < boxes),
        arrow: route.last().is_some_and(|&slot| slot < boxes),
    }
}

/// Returns the middle of each slot: as close to those of its neighbors as the order of its layer allows.
fn middles(layers: &Layers, widths: &[f64], boxes: usize) -> Vec<f64> {
    let (above, below) = layers.neighbors();
    let mut middles = vec![0.0; layers.slots];
    let gap = |a: usize, b: usize| {
        if a >= boxes && b >= boxes { BESIDE / 2.0 } else { BESIDE }
    };
    for layer in &layers.layers {
        let mut x = 0.0;
        for (at, &slot) in layer.iter().enumerate() {
            if at > 0 {
                x += gap(layer[at - 1], slot);
            }
            middles[slot] = x + widths[slot] / 2.0;
            x += widths[slot];
        }
    }
    for sweep in 0..SWEEPS {
        let count = layers.layers.len();
        for step in 0..count {
            let at = if sweep % 2 == 0 { step } else { count - 1 - step };
            let layer = &layers.layers[at];
            // Without the offsets, which contain the widths, positions only have to ascend.
            let mut offset = 0.0;
            let mut offsets = Vec::new();
            let mut wanted = Vec::new();
            for (at, &slot) in layer.iter().enumerate() {
                if at > 0 {
                    let before = layer[at - 1];
                    offset += (widths[before] + widths[slot]) / 2.0 + gap(before, slot);
                }
                offsets.push(offset);
                let near = above[slot].iter().chain(&below[slot]);
                let (sum, count) =
                    near.fold((0.0, 0.0), |(sum, count), &near| (sum + middles[near], count + 1.0));
                let weight = if slot >= boxes { 4.0 } else { 1.0 };
                let want = if count > 0.0 { sum / count } else { middles[slot] };
                wanted.push((want - offset, weight));
            }
            for ((slot, offset), x) in layer.iter().zip(offsets).zip(ascending(&wanted)) {
                middles[*slot] = x + offset;
            }
        }
    }
    let left = middles.iter().zip(widths).map(|(x, width)| x - width / 2.0);
    let left = left.fold(f64::INFINITY, f64::min);
    middles.iter().map(|x| x - left).collect()
}

/// Returns the ascending numbers that are nearest to these by weighted squares: neighbors that do not ascend take
/// their mean.
fn ascending(wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for &(want, weight) in wanted {
        let mut block = (want, weight, 1);
        while let Some(&(before, heavy, count)) = blocks.last().filter(|before| before.0 > block.0) {
            let weight = heavy + block.1;
            block = ((before * heavy + block.0 * block.1) / weight, weight, count + block.2);
            blocks.pop();
        }
        blocks.push(block);
    }
    let numbers = blocks.into_iter();
    numbers.flat_map(|(mean, _, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_ascend_takes_its_mean() {
        let numbers = ascending(&[(1.0, 1.0), (4.0, 1.0), (2.0, 1.0), (9.0, 1.0)]);
        assert_eq!(numbers, [1.0, 3.0, 3.0, 9.0]);
        assert_eq!(ascending(&[(4.0, 3.0), (0.0, 1.0)]), [3.0, 3.0]);
    }
}
