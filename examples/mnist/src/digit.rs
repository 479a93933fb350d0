//! Converts any picture of a digit to MNIST's form.

use anyhow::{Result, bail};
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageBuffer, Luma};

pub const SIDE: usize = 28;

/// Rows of ink, 0 for paper and 1 for full ink.
pub type Pixels = [f32; SIDE * SIDE];

type Ink = ImageBuffer<Luma<f32>, Vec<f32>>;

const BOX: u32 = 20;
const LEAST_CONTRAST: f32 = 0.1;
const LEAST_INK: f32 = 0.3;

/// Returns the digit alone, scaled to a 20x20 box whose center of mass is the center of 28x28 pixels.
pub fn normalize(picture: &DynamicImage) -> Result<Pixels> {
    let ink = ink(gray(picture))?;
    let mut digit = fit(&crop(&ink));
    strengthen(&mut digit);
    Ok(center(&digit))
}

/// Returns the brightness. Transparent pixels are black if the opaque ones are bright, else white.
fn gray(picture: &DynamicImage) -> Ink {
    let picture = picture.to_luma_alpha32f();
    let (light, opaque) = picture
        .pixels()
        .fold((0.0, 0.0), |(light, opaque), pixel| (light + pixel[0] * pixel[1], opaque + pixel[1]));
    let paper = if light > opaque / 2.0 { 0.0 } else { 1.0 };
    Ink::from_fn(picture.width(), picture.height(), |x, y| {
        let pixel = picture.get_pixel(x, y);
        Luma([pixel[0] * pixel[1] + paper * (1.0 - pixel[1])])
    })
}

/// Returns the distance of each pixel from the paper, from 0 to 1 for the ink, which may be darker or lighter than
/// the paper.
fn ink(mut gray: Ink) -> Result<Ink> {
    let paper = paper(&gray);
    let darkest = gray.iter().copied().fold(paper, f32::min);
    let lightest = gray.iter().copied().fold(paper, f32::max);
    let ink = if paper - darkest > lightest - paper { darkest } else { lightest };
    if (ink - paper).abs() < LEAST_CONTRAST {
        bail!("the picture is blank");
    }
    for value in gray.iter_mut() {
        *value = ((*value - paper) / (ink - paper)).clamp(0.0, 1.0);
    }
    Ok(gray)
}

/// Returns the median of the picture's edge.
fn paper(gray: &Ink) -> f32 {
    let (width, height) = gray.dimensions();
    let mut edge: Vec<f32> = gray
        .enumerate_pixels()
        .filter(|(x, y, _)| *x == 0 || *y == 0 || *x + 1 == width || *y + 1 == height)
        .map(|(_, _, pixel)| pixel[0])
        .collect();
    edge.sort_by(f32::total_cmp);
    edge.get(edge.len() / 2).copied().unwrap_or(0.0)
}

fn crop(ink: &Ink) -> Ink {
    let (mut left, mut top) = ink.dimensions();
    let (mut right, mut bottom) = (0, 0);
    for (x, y, _) in ink.enumerate_pixels().filter(|(_, _, pixel)| pixel[0] > LEAST_INK) {
        (left, top) = (left.min(x), top.min(y));
        (right, bottom) = (right.max(x + 1), bottom.max(y + 1));
    }
    imageops::crop_imm(ink, left, top, right - left, bottom - top).to_image()
}

fn fit(digit: &Ink) -> Ink {
    let (width, height) = digit.dimensions();
    let longest = width.max(height) as f32;
    let scaled = |length: u32| ((length * BOX) as f32 / longest).round().max(1.0) as u32;
    imageops::resize(digit, scaled(width), scaled(height), FilterType::Triangle)
}

/// Scales the strongest pixel to 1, since thin strokes fade when they are scaled down.
fn strengthen(digit: &mut Ink) {
    let strongest = digit.iter().copied().fold(f32::EPSILON, f32::max);
    for value in digit.iter_mut() {
        *value /= strongest;
    }
}

fn center(digit: &Ink) -> Pixels {
    let mass: f32 = digit.iter().sum();
    let (mut across, mut down) = (0.0, 0.0);
    for (x, y, pixel) in digit.enumerate_pixels() {
        across += pixel[0] * (x as f32 + 0.5);
        down += pixel[0] * (y as f32 + 0.5);
    }
    let start = |moment: f32, length: u32| {
        let wanted = (SIDE as f32 / 2.0 - moment / mass).round().max(0.0) as usize;
        wanted.min(SIDE - length as usize)
    };
    let left = start(across, digit.width());
    let top = start(down, digit.height());
    let mut pixels = [0.0; SIDE * SIDE];
    for (x, y, pixel) in digit.enumerate_pixels() {
        pixels[(top + y as usize) * SIDE + left + x as usize] = pixel[0];
    }
    pixels
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, LumaA, Rgba, RgbaImage};

    use super::*;

    fn bar(width: u32, height: u32, paper: u8, ink: u8) -> DynamicImage {
        let inside = |at: u32, length: u32| (length / 4..length / 2).contains(&at);
        GrayImage::from_fn(width, height, |x, y| {
            let is_ink = inside(x, width) && inside(y, height);
            Luma([if is_ink { ink } else { paper }])
        })
        .into()
    }

    /// Returns the first and last column and row with ink: left, top, right, bottom.
    fn bounds(pixels: &Pixels) -> [usize; 4] {
        let inked = (0..SIDE * SIDE).filter(|at| pixels[*at] > 0.5);
        inked.fold([SIDE, SIDE, 0, 0], |[left, top, right, bottom], at| {
            let (x, y) = (at % SIDE, at / SIDE);
            [left.min(x), top.min(y), right.max(x), bottom.max(y)]
        })
    }

    #[test]
    fn a_square_of_any_size_fills_the_box() {
        for side in [8, 28, 100, 600] {
            let pixels = normalize(&bar(side, side, 0, 255)).unwrap();
            assert_eq!(bounds(&pixels), [4, 4, 23, 23], "side {side}");
        }
    }

    #[test]
    fn the_proportions_are_kept() {
        let pixels = normalize(&bar(40, 80, 0, 255)).unwrap();
        assert_eq!(bounds(&pixels), [9, 4, 18, 23]);
    }

    #[test]
    fn dark_on_light_reads_as_light_on_dark() {
        let light = normalize(&bar(60, 80, 0, 255)).unwrap();
        assert_eq!(normalize(&bar(60, 80, 255, 0)).unwrap(), light);
        assert_eq!(normalize(&bar(60, 80, 110, 20)).unwrap(), light);
    }

    #[test]
    fn ink_on_nothing_reads_as_ink_on_paper() {
        let paper = normalize(&bar(60, 80, 255, 0)).unwrap();
        for ink in [0, 255] {
            let mask = bar(60, 80, 0, 255).to_luma8();
            let picture = RgbaImage::from_fn(60, 80, |x, y| Rgba([ink, ink, ink, mask.get_pixel(x, y)[0]]));
            assert_eq!(normalize(&picture.into()).unwrap(), paper, "ink {ink}");
        }
    }

    #[test]
    fn a_digit_is_centered_by_mass() {
        let foot = GrayImage::from_fn(40, 40, |x, y| {
            let is_ink = (10..30).contains(&y) && (x == 10 || y >= 20) && (10..30).contains(&x);
            Luma([if is_ink { 255 } else { 0 }])
        });
        let [_, top, _, bottom] = bounds(&normalize(&foot.into()).unwrap());
        assert_eq!([top, bottom], [0, 19]);
    }

    #[test]
    fn a_hairline_keeps_full_ink() {
        let line = GrayImage::from_fn(500, 500, |x, y| Luma([if x == y { 0 } else { 255 }]));
        let pixels = normalize(&line.into()).unwrap();
        assert_eq!(pixels.iter().copied().fold(0.0, f32::max), 1.0);
    }

    #[test]
    fn a_blank_picture_is_an_error() {
        let blanks: [DynamicImage; 3] = [
            GrayImage::from_pixel(30, 30, Luma([200])).into(),
            image::GrayAlphaImage::from_pixel(30, 30, LumaA([0, 0])).into(),
            GrayImage::new(0, 0).into(),
        ];
        for blank in blanks {
            assert_eq!(normalize(&blank).unwrap_err().to_string(), "the picture is blank");
        }
    }
}
