//! Detects objects in a picture and draws boxes around them.
//!
//! `detect picture.png [boxes.png]` writes the picture with the boxes. Without a file, it uses a scene in its folder.

use std::io::Write;
use std::path::Path;

use anstyle::RgbColor;
use anyhow::{Context, Result};
use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};
use onnx_embed::{Device, Tensor, TensorData};

mod boxes;

use boxes::{Letterbox, Rectangle};

onnx_embed::onnx_model! {
    /// Six convolutions that find boxes. Non-maximum suppression keeps one box for each object.
    pub struct Detector = "../detector.onnx";
}

/// Width and height of the pictures that the model accepts, in pixels.
const SIDE: u32 = 160;
const COLORS: [[u8; 3]; 4] = [[255, 210, 0], [255, 255, 255], [0, 200, 255], [60, 230, 90]];

/// An object in a picture.
struct Found {
    /// Index of its label.
    label: usize,
    /// Confidence of the model, from 0 to 1.
    score: f32,
    /// Box in pixels of the picture.
    rectangle: Rectangle,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/6.png");
    let input = arguments.next().unwrap_or_else(|| scene.to_owned());
    let output = arguments.next().unwrap_or_else(|| "boxes.png".to_owned());
    let picture = open(Path::new(&input))?;

    let found = detect(&Detector::new(&Device::flex()), &picture);

    let mut terminal = anstream::stdout().lock();
    for Found { label, score, rectangle } in &found {
        let [red, green, blue] = COLORS[*label];
        let style = RgbColor(red, green, blue).on_default();
        let (name, percent) = (labels()[*label], score * 100.0);
        let [left, top, right, bottom] = rectangle.map(f32::round);
        writeln!(
            terminal,
            "{style}■ {name:<6}{style:#}{percent:4.0} %  from ({left}, {top}) to ({right}, {bottom})"
        )?;
    }
    // Small pictures are scaled up, so that lines are thin compared with the objects.
    let scale = (640 / picture.width().max(picture.height())).max(1);
    draw(&picture, &found, scale).save(&output).with_context(|| format!("cannot write `{output}`"))?;
    writeln!(terminal, "{} objects, drawn in {output}", found.len())?;
    Ok(())
}

fn open(path: &Path) -> Result<RgbImage> {
    let picture = image::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(picture.into_rgb8())
}

/// Returns the objects in a picture of any size, the most certain first.
fn detect(model: &Detector, picture: &RgbImage) -> Vec<Found> {
    let letterbox = Letterbox::new(picture.dimensions(), SIDE);
    let square = letterbox.apply(picture);
    // All reds, then all greens, then all blues.
    let channel = |channel: usize| square.pixels().map(move |pixel| f32::from(pixel[channel]) / 255.0);
    let pixels: Vec<f32> = (0..3).flat_map(channel).collect();
    let shape = [1, 3, SIDE as usize, SIDE as usize];
    let image: Tensor<4> = Tensor::from_data(TensorData::new(pixels, shape), &Device::flex());

    // `boxes` is [found, 4], `scores` and `labels` are [found]. The number `found` depends on the picture.
    let output = model.forward(image);

    let corners: Vec<f32> = output.boxes.into_data().iter().collect();
    let scores = output.scores.into_data();
    let labels = output.labels.into_data();
    let mut found: Vec<Found> = (corners.as_chunks().0.iter())
        .zip(scores.iter::<f32>().zip(labels.iter::<i64>()))
        .map(|(rectangle, (score, label))| Found {
            label: label as usize,
            score,
            rectangle: letterbox.undo(*rectangle),
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

/// Returns the picture with a box around each object, in the color of its label.
fn draw(picture: &RgbImage, found: &[Found], scale: u32) -> RgbImage {
    let (width, height) = picture.dimensions();
    let mut drawn = imageops::resize(picture, width * scale, height * scale, FilterType::Nearest);
    for object in found {
        let rectangle = object.rectangle.map(|edge| edge * scale as f32);
        // Dark edges on both sides make the color visible on any background.
        boxes::outline(&mut drawn, rectangle, 5, Rgb([0; 3]));
        let [left, top, right, bottom] = rectangle;
        let inner = [left + 1.0, top + 1.0, right - 1.0, bottom - 1.0];
        boxes::outline(&mut drawn, inner, 3, Rgb(COLORS[object.label]));
    }
    drawn
}

fn labels() -> Vec<&'static str> {
    include_str!("../labels.txt").lines().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(name: &str) -> RgbImage {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        open(&folder.join("scenes").join(name)).unwrap()
    }

    /// Returns the objects that `train.py` has put into the scenes: file, label and box.
    fn truth() -> Vec<(&'static str, &'static str, Rectangle)> {
        let lines = include_str!("../scenes/boxes.txt").lines();
        let object = |line: &'static str| {
            let words: Vec<_> = line.split(' ').collect();
            let edge = |at: usize| words[at].parse().unwrap();
            (words[0], words[1], [edge(2), edge(3), edge(4), edge(5)])
        };
        lines.map(object).collect()
    }

    #[test]
    fn nine_of_ten_objects_of_unseen_scenes_are_found_and_little_else() {
        let model = Detector::new(&Device::flex());
        let (mut right, mut findings) = (0, 0);
        for name in ["1.png", "2.png", "3.png", "4.png", "5.png", "6.png"] {
            let found = detect(&model, &scene(name));
            findings += found.len();
            right += (truth().iter())
                .filter(|(file, label, expected)| {
                    let matches = |object: &Found| {
                        labels()[object.label] == *label && boxes::overlap(object.rectangle, *expected) > 0.5
                    };
                    *file == name && found.iter().any(matches)
                })
                .count();
        }
        let objects = truth().len();
        assert!(right * 10 >= objects * 9, "{right} of {objects} found");
        assert!(right * 10 >= findings * 9, "{right} of {findings} right");
    }

    #[test]
    fn boxes_are_those_of_the_picture_before_it_was_scaled() {
        let model = Detector::new(&Device::flex());
        let large = imageops::resize(&scene("4.png"), 320, 320, FilterType::Nearest);
        let mut wide = RgbImage::from_pixel(400, 320, Rgb([128; 3]));
        imageops::replace(&mut wide, &large, 80, 0);
        let object = truth().into_iter().find(|(file, ..)| *file == "4.png");
        let (_, label, rectangle) = object.unwrap();
        let [left, top, right, bottom] = rectangle.map(|edge| edge * 2.0);
        let moved = [left + 80.0, top, right + 80.0, bottom];
        let matches =
            |object: &Found| labels()[object.label] == label && boxes::overlap(object.rectangle, moved) > 0.5;
        assert!(detect(&model, &wide).iter().any(matches));
    }

    #[test]
    fn a_blank_picture_has_no_objects() {
        let blank = RgbImage::from_pixel(90, 50, Rgb([90, 120, 200]));
        assert!(detect(&Detector::new(&Device::flex()), &blank).is_empty());
    }
}
