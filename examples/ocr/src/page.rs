//! Finds the lines of a page and scales them.

use image::GrayImage;
use image::imageops::{self, FilterType};

/// Height of a line for the model, in pixels.
pub const HEIGHT: u32 = 32;
/// Darkness above which a pixel is ink: 0 is paper, 1 is the darkest ink.
const IS_INK: f32 = 0.4;

/// A line of text and its position on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub left: u32,
    pub top: u32,
    pub width: u32,
    pub height: u32,
}

/// Returns the lines of a page from top to bottom: rows with ink, between rows without.
pub fn lines(page: &GrayImage) -> Vec<Line> {
    let [width, height] = [page.width(), page.height()];
    let ink = normalized(page);
    let is_ink = |x: u32, y: u32| ink[(y * width + x) as usize] > IS_INK;
    // Two pixels of a row, since one may be noise.
    let rows = (0..height).map(|y| (0..width).filter(|x| is_ink(*x, y)).count() > 1);
    let mut bands = bands(rows);
    bands.retain(|(top, bottom)| bottom - top > 1);
    let mut heights: Vec<u32> = bands.iter().map(|(top, bottom)| bottom - top).collect();
    heights.sort_unstable();
    let Some(usual) = heights.get(heights.len() / 2).copied() else {
        return Vec::new();
    };
    let line = |(top, bottom): (u32, u32)| {
        let has_ink = |x: &u32| (top..bottom).any(|y| is_ink(*x, y));
        let (left, right) = ((0..width).find(has_ink)?, (0..width).rfind(has_ink)?);
        // Otherwise a dash would fill the height.
        let missing = (usual / 2).saturating_sub(bottom - top);
        let [above, aside] = [usual / 7 + missing / 2, 2 * usual / 5];
        let [left, top] = [left.saturating_sub(aside), top.saturating_sub(above)];
        Some(Line {
            left,
            top,
            width: (right + 1 + aside).min(width) - left,
            height: (bottom + above).min(height) - top,
        })
    };
    bands.into_iter().filter_map(line).collect()
}

/// Returns the ink of a line, as `HEIGHT` rows, and the width of a row.
pub fn cut(page: &GrayImage, line: Line) -> (Vec<f32>, u32) {
    let part = imageops::crop_imm(page, line.left, line.top, line.width, line.height).to_image();
    let width = (line.width * HEIGHT).div_ceil(line.height).max(1);
    let scaled = imageops::resize(&part, width, HEIGHT, FilterType::Triangle);
    (normalized(&scaled), width)
}

/// Returns the ink: 0 for the median, which is paper, and 1 for the darkest 2 %. `lines.py` does the same.
fn normalized(picture: &GrayImage) -> Vec<f32> {
    let mut sorted = picture.as_raw().clone();
    sorted.sort_unstable();
    let at = |share: usize| f32::from(sorted.get(sorted.len() * share / 100).copied().unwrap_or(0));
    let (paper, dark) = (at(50), at(2));
    let scale = 1.0 / (paper - dark).max(1.0);
    let ink = |pixel: &u8| ((paper - f32::from(*pixel)) * scale).clamp(0.0, 1.0);
    picture.as_raw().iter().map(ink).collect()
}

/// Returns the first index of each run of `true`, and the index after its last.
fn bands(rows: impl Iterator<Item = bool>) -> Vec<(u32, u32)> {
    let mut bands = Vec::new();
    let mut start = None;
    for (y, has_ink) in (0..).zip(rows.chain([false])) {
        match (start, has_ink) {
            (None, true) => start = Some(y),
            (Some(top), false) => {
                bands.push((top, y));
                start = None;
            }
            _ => {}
        }
    }
    bands
}

#[cfg(test)]
mod tests {
    use image::Luma;

    use super::*;

    fn page(boxes: &[[u32; 4]]) -> GrayImage {
        GrayImage::from_fn(100, 90, |x, y| {
            let is_ink = boxes.iter().any(|[left, top, right, bottom]| {
                (*left..*right).contains(&x) && (*top..*bottom).contains(&y)
            });
            Luma([if is_ink { 20 } else { 230 }])
        })
    }

    #[test]
    fn lines_are_rows_with_ink_and_some_paper_around_them() {
        let page = page(&[[20, 10, 60, 24], [30, 40, 90, 54]]);
        let first = Line { left: 15, top: 8, width: 50, height: 18 };
        let second = Line { left: 25, top: 38, width: 70, height: 18 };
        assert_eq!(lines(&page), [first, second]);
    }

    #[test]
    fn a_dash_keeps_its_size_and_an_empty_page_has_no_line() {
        let found = lines(&page(&[[20, 10, 60, 24], [20, 30, 60, 33], [20, 40, 60, 54]]));
        let heights: Vec<u32> = found.iter().map(|line| line.height).collect();
        assert_eq!(heights, [18, 11, 18]);
        assert!(lines(&page(&[])).is_empty());
    }

    #[test]
    fn a_line_is_scaled_to_the_height_of_the_model() {
        let page = page(&[[20, 10, 24, 26], [56, 10, 60, 26]]);
        let (ink, width) = cut(&page, lines(&page)[0]);
        assert_eq!(ink.len() as u32, width * HEIGHT);
        let row = &ink[ink.len() / 2..][..width as usize];
        let [darkest, lightest] = [row.iter().fold(0.0, |a: f32, b| a.max(*b)), row[row.len() / 2]];
        assert!(darkest > 0.9 && lightest < 0.1, "{row:?}");
    }
}
