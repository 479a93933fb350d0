//! Spatial index of the selected boxes.
//!
//! Boxes whose larger sides are about equal share a grid, with cells of that size, by their least corners. A box only overlaps
//! boxes of the adjacent cells, and its overlap with boxes of much larger or smaller sides is below the threshold. So a box is
//! compared with the few selected boxes near it.

use alloc::{collections::BTreeMap, vec::Vec};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::BoxForm;

/// A box by its least and greatest coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    x: (f32, f32),
    y: (f32, f32),
    area: f32,
}

/// The selected boxes of one class.
pub struct Kept {
    /// A box that overlaps a selected one by more is not selected.
    overlap: f32,
    /// By the exponent of the least power of two that the larger side does not exceed.
    grids: BTreeMap<i32, Grid>,
}

#[derive(Default)]
struct Grid {
    /// By row and column.
    cells: BTreeMap<[i64; 2], Vec<Rectangle>>,
}

impl Rectangle {
    pub fn new(numbers: &[f32], form: BoxForm) -> Self {
        let ordered = |a: f32, b: f32| if a >= b { (b, a) } else { (a, b) };
        let around = |center: f32, size: f32| (center - size / 2.0, center + size / 2.0);
        let [a, b, c, d] = [numbers[0], numbers[1], numbers[2], numbers[3]];
        let (x, y) = match form {
            BoxForm::Corners => (ordered(b, d), ordered(a, c)),
            BoxForm::Center => (around(a, c), around(b, d)),
        };
        let area = (x.1 - x.0) * (y.1 - y.0);
        Self { x, y, area }
    }

    /// Returns the intersection over the union, or less than any threshold if the boxes are disjoint or empty.
    fn overlap(&self, other: &Self) -> f32 {
        let common = |a: (f32, f32), b: (f32, f32)| a.1.min(b.1) - a.0.max(b.0);
        let (width, height) = (common(self.x, other.x), common(self.y, other.y));
        if !(width > 0.0 && height > 0.0) {
            return f32::NEG_INFINITY;
        }
        let shared = width * height;
        let union = self.area + other.area - shared;
        let positive = |area: f32| area > 0.0;
        let parts = [shared, self.area, other.area, union];
        if parts.into_iter().all(positive) { shared / union } else { f32::NEG_INFINITY }
    }

    /// Returns the larger side in f64: single precision may round it down.
    fn side(&self) -> f64 {
        let side = |(begin, end): (f32, f32)| f64::from(end) - f64::from(begin);
        side(self.x).max(side(self.y))
    }
}

impl Kept {
    /// `overlap` must not be negative.
    pub fn new(overlap: f32) -> Self {
        Self { overlap, grids: BTreeMap::new() }
    }

    /// Selects the box unless it overlaps a selected one by more than the threshold. Returns `true` if it was selected.
    pub fn keep(&mut self, rectangle: &Rectangle) -> bool {
        // A box whose area is 0, infinite or NaN has no overlap above any threshold.
        if !(rectangle.area > 0.0 && rectangle.area < f32::INFINITY) {
            return true;
        }
        let overlap = self.overlap;
        let hides = |other: &Rectangle| rectangle.overlap(other) > overlap;
        let side = rectangle.side();
        // The overlap is less than the ratio of the sides, up to rounding of subnormal numbers.
        let least = f64::from(overlap) / 4.0;
        for (&exponent, grid) in &self.grids {
            let largest = power(exponent);
            if largest < side * least || side < largest / 2.0 * least {
                continue;
            }
            if grid.any(rectangle, largest, hides) {
                return false;
            }
        }
        let exponent = exponent(side);
        self.grids.entry(exponent).or_default().add(*rectangle, power(exponent));
        true
    }
}

impl Grid {
    fn add(&mut self, rectangle: Rectangle, size: f64) {
        let key = [rectangle.y.0, rectangle.x.0].map(|at| cell(at, size));
        self.cells.entry(key).or_default().push(rectangle);
    }

    /// Returns `true` if one of the boxes that may overlap the rectangle `hides` it; cells have this size.
    fn any(&self, rectangle: &Rectangle, size: f64, hides: impl Fn(&Rectangle) -> bool) -> bool {
        let range = |(least, greatest): (f32, f32)| {
            let end = cell(greatest, size);
            (cell(least, size).saturating_sub(1), end, end.abs_diff(cell(least, size)))
        };
        let (rows, columns) = (range(rectangle.y), range(rectangle.x));
        let cells = rows.2.saturating_add(2).saturating_mul(columns.2.saturating_add(2));
        if cells > self.cells.len() as u64 {
            return self.cells.values().flatten().any(hides);
        }
        (rows.0..=rows.1).any(|row| {
            let row = self.cells.range([row, columns.0]..=[row, columns.1]);
            row.flat_map(|(_, boxes)| boxes).any(&hides)
        })
    }
}

/// Returns the index of the cell of this size that contains a coordinate. Very distant coordinates share a cell.
fn cell(at: f32, size: f64) -> i64 {
    (f64::from(at) / size).floor() as i64
}

/// Returns the exponent of the least power of two that a positive number does not exceed.
fn exponent(side: f64) -> i32 {
    let exponent = (side.to_bits() >> 52) as i32 - 1023;
    if power(exponent) < side { exponent + 1 } else { exponent }
}

/// Returns a power of two within the range of single precision.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;

    fn rectangles(count: usize, spread: f32, sides: &[f32]) -> Vec<Rectangle> {
        let values: Vec<f32> = noise::<2>([count, 4], 7).into_data().try_to_vec().unwrap();
        let rectangle = |(at, numbers): (usize, &[f32])| {
            let side = sides[at % sides.len()];
            let corner = [numbers[0] * spread, numbers[1] * spread];
            let size = [numbers[2].abs() * side, numbers[3].abs() * side];
            Rectangle::new(&[corner[0], corner[1], size[0], size[1]], BoxForm::Center)
        };
        values.chunks_exact(4).enumerate().map(rectangle).collect()
    }

    #[test]
    fn boxes_are_those_that_are_compared_with_all() {
        let sides: [&[f32]; 5] = [
            &[1.0],
            &[0.5, 1.0, 2.0],
            &[1e-3, 1.0, 1e3],
            &[1e-30, 1e-20, 1e30],
            &[1e-22, 3e-23, 1e-45, f32::NAN, f32::INFINITY, 1e19],
        ];
        for sides in sides {
            for spread in [0.0, 1e-22, 1.0, 9.0, 1e6, 1e38] {
                let all = rectangles(300, spread, sides);
                for overlap in [0.0, 1e-6, 0.3, 0.7, 0.99, 1.0] {
                    let mut kept = Kept::new(overlap);
                    let mut expected: Vec<&Rectangle> = Vec::new();
                    for (at, rectangle) in all.iter().enumerate() {
                        let hides = |other: &&Rectangle| rectangle.overlap(other) > overlap;
                        let is_kept = !expected.iter().any(hides);
                        assert_eq!(kept.keep(rectangle), is_kept, "{at} {spread} {overlap}");
                        if is_kept {
                            expected.push(rectangle);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sides_are_at_most_powers_of_two() {
        for (side, expected) in [(1.0, 0), (1.5, 1), (2.0, 1), (0.3, -1), (f64::from(f32::MAX), 128)] {
            assert_eq!(exponent(side), expected);
            assert_eq!(power(expected), 2f64.powi(expected));
        }
    }
}
