//! Rectangles, and scaling of pictures to squares and back.

use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};

/// Left, top, right and bottom edge.
pub type Rectangle = [f32; 4];

/// A scaling of a picture to fit into a square, with gray bars on two sides.
pub struct Letterbox {
    side: u32,
    width: u32,
    height: u32,
    scale: f32,
}

impl Letterbox {
    pub fn new((width, height): (u32, u32), side: u32) -> Self {
        let scale = side as f32 / width.max(height) as f32;
        let scaled = |length: u32| ((length as f32 * scale).round() as u32).clamp(1, side);
        Self { side, width: scaled(width), height: scaled(height), scale }
    }

    pub fn apply(&self, picture: &RgbImage) -> RgbImage {
        let mut square = RgbImage::from_pixel(self.side, self.side, Rgb([114; 3]));
        let scaled = imageops::resize(picture, self.width, self.height, FilterType::Triangle);
        let (left, top) = self.margins();
        imageops::replace(&mut square, &scaled, i64::from(left), i64::from(top));
        square
    }

    /// Converts a rectangle of the square to one of the picture.
    pub fn undo(&self, rectangle: Rectangle) -> Rectangle {
        let (left, top) = self.margins();
        let (left, top) = (left as f32, top as f32);
        let [x1, y1, x2, y2] = rectangle;
        [x1 - left, y1 - top, x2 - left, y2 - top].map(|edge| edge / self.scale)
    }

    fn margins(&self) -> (u32, u32) {
        ((self.side - self.width) / 2, (self.side - self.height) / 2)
    }
}

/// Returns the intersection of two rectangles over their union.
#[cfg(test)]
pub fn overlap(a: Rectangle, b: Rectangle) -> f32 {
    let area = |[left, top, right, bottom]: Rectangle| (right - left).max(0.0) * (bottom - top).max(0.0);
    let common = area([a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]);
    common / (area(a) + area(b) - common)
}

/// Draws the edges of a rectangle, clipped to the picture.
pub fn outline(picture: &mut RgbImage, rectangle: Rectangle, thick: u32, color: Rgb<u8>) {
    let (width, height) = picture.dimensions();
    let [left, top] = [rectangle[0], rectangle[1]].map(|edge| edge.max(0.0) as u32);
    let right = (rectangle[2].max(0.0) as u32).min(width);
    let bottom = (rectangle[3].max(0.0) as u32).min(height);
    for y in top..bottom {
        for x in left..right {
            let to_edge = (x - left).min(y - top).min(right - 1 - x).min(bottom - 1 - y);
            if to_edge < thick {
                picture.put_pixel(x, y, color);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_picture_has_bars_above_and_below() {
        let letterbox = Letterbox::new((400, 200), 160);
        let square = letterbox.apply(&RgbImage::from_pixel(400, 200, Rgb([255, 0, 0])));
        assert_eq!(square.dimensions(), (160, 160));
        assert_eq!(square.get_pixel(80, 39).0, [114; 3]);
        assert_eq!(square.get_pixel(80, 40).0, [255, 0, 0]);
        let whole = letterbox.undo([0.0, 40.0, 160.0, 120.0]);
        assert_eq!(whole, [0.0, 0.0, 400.0, 200.0]);
    }

    #[test]
    fn an_outline_leaves_the_inside_as_it_is() {
        let mut picture = RgbImage::new(10, 10);
        outline(&mut picture, [-3.0, 2.0, 8.0, 30.0], 1, Rgb([9; 3]));
        assert_eq!(picture.get_pixel(0, 2).0, [9; 3]);
        assert_eq!(picture.get_pixel(7, 9).0, [9; 3]);
        assert_eq!(picture.get_pixel(3, 5).0, [0; 3]);
        assert_eq!(picture.get_pixel(8, 5).0, [0; 3]);
    }
}
