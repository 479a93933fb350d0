//! Converts pen strokes to a picture in MNIST's form.

/// Number of pixels in a row, and number of rows.
pub const SIDE: usize = 28;

/// Rows of ink, 0 for paper and 1 for full ink.
pub type Pixels = [f32; SIDE * SIDE];

pub type Point = [f32; 2];

/// Half the width of a stroke, and the longer side of a digit including its strokes, in pixels.
const RADIUS: f32 = 1.4;
const BOX: f32 = 20.0;

/// Draws the strokes with a round pen in a box of 20x20 pixels, whose center of mass is the center of 28x28 pixels.
/// Their original size does not matter.
pub fn picture(strokes: &[&[Point]]) -> Pixels {
    let mut pixels = [0.0; SIDE * SIDE];
    let Some(strokes) = fit(strokes) else {
        return pixels;
    };
    let [x, y] = center(&strokes);
    let middle = SIDE as f32 / 2.0;
    for (at, pixel) in pixels.iter_mut().enumerate() {
        let point = [(at % SIDE) as f32 + 0.5, (at / SIDE) as f32 + 0.5];
        let point = [point[0] + x - middle, point[1] + y - middle];
        let nearest = segments(&strokes).map(|line| distance(point, line));
        let nearest = nearest.fold(f32::INFINITY, f32::min);
        *pixel = (RADIUS + 0.5 - nearest).clamp(0.0, 1.0);
    }
    pixels
}

/// Scales the strokes so that their longer side fills the box, and moves them to 0. Returns `None` without points.
fn fit(strokes: &[&[Point]]) -> Option<Vec<Vec<Point>>> {
    let points = || strokes.iter().copied().flatten();
    points().next()?;
    let low = points().fold([f32::INFINITY; 2], |low, point| [low[0].min(point[0]), low[1].min(point[1])]);
    let high =
        points().fold([f32::NEG_INFINITY; 2], |high, point| [high[0].max(point[0]), high[1].max(point[1])]);
    let longest = (high[0] - low[0]).max(high[1] - low[1]);
    let scale = (BOX - 2.0 * RADIUS) / longest.max(f32::EPSILON);
    let moved = |point: &Point| [(point[0] - low[0]) * scale, (point[1] - low[1]) * scale];
    let strokes = strokes.iter().map(|stroke| stroke.iter().map(moved).collect());
    Some(strokes.collect())
}

/// Returns the center of mass of lines of equal width.
fn center(strokes: &[Vec<Point>]) -> Point {
    let mut sums = [0.0; 2];
    let mut mass = 0.0;
    for line @ [from, to] in segments(strokes) {
        // A single point also has a mass.
        let length = length(line).max(1e-3);
        mass += length;
        sums[0] += length * (from[0] + to[0]) / 2.0;
        sums[1] += length * (from[1] + to[1]) / 2.0;
    }
    [sums[0] / mass, sums[1] / mass]
}

/// Returns the lines between adjacent points. A stroke of one point is a line from the point to itself.
fn segments(strokes: &[Vec<Point>]) -> impl Iterator<Item = [Point; 2]> {
    strokes.iter().flat_map(|stroke| {
        let dot = (stroke.len() == 1).then(|| [stroke[0]; 2]);
        let lines = stroke.windows(2).map(|pair| [pair[0], pair[1]]);
        lines.chain(dot)
    })
}

fn length([from, to]: [Point; 2]) -> f32 {
    (to[0] - from[0]).hypot(to[1] - from[1])
}

fn distance(point: Point, [from, to]: [Point; 2]) -> f32 {
    let along = [to[0] - from[0], to[1] - from[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    let dot = (point[0] - from[0]) * along[0] + (point[1] - from[1]) * along[1];
    let share = if square > 0.0 { (dot / square).clamp(0.0, 1.0) } else { 0.0 };
    length([point, [from[0] + share * along[0], from[1] + share * along[1]]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first and last column and row with ink: left, top, right, bottom.
    fn bounds(pixels: &Pixels) -> [usize; 4] {
        let inked = (0..SIDE * SIDE).filter(|at| pixels[*at] > 0.5);
        inked.fold([SIDE, SIDE, 0, 0], |[left, top, right, bottom], at| {
            let (x, y) = (at % SIDE, at / SIDE);
            [left.min(x), top.min(y), right.max(x), bottom.max(y)]
        })
    }

    #[test]
    fn a_square_of_any_size_fills_the_box_in_the_middle() {
        for side in [0.001, 1.0, 500.0] {
            let [near, far] = [3.0 * side, 4.0 * side];
            let square = [[near, near], [far, near], [far, far], [near, far], [near, near]];
            assert_eq!(bounds(&picture(&[&square])), [4, 4, 23, 23], "side {side}");
        }
    }

    #[test]
    fn the_proportions_are_kept() {
        let line = [[7.0, 0.0], [7.0, 90.0]];
        assert_eq!(bounds(&picture(&[&line])), [13, 4, 14, 23]);
    }

    #[test]
    fn a_digit_is_centered_by_mass() {
        // The lower half of an 8 has more ink than the line above it.
        let above = [[0.5, 0.0], [0.5, 0.5]];
        let below = [[0.0, 0.5], [1.0, 0.5], [1.0, 1.0], [0.0, 1.0], [0.0, 0.5]];
        let [_, top, _, bottom] = bounds(&picture(&[&above, &below]));
        assert!(SIDE - 1 - bottom > top, "from {top} to {bottom}");
    }

    #[test]
    fn a_dot_is_a_dot_in_the_middle() {
        assert_eq!(bounds(&picture(&[&[[0.2, 0.9]]])), [13, 13, 14, 14]);
    }

    #[test]
    fn nothing_is_an_empty_picture() {
        for strokes in [&[][..], &[&[][..]][..]] {
            assert_eq!(picture(strokes), [0.0; SIDE * SIDE]);
        }
    }
}
