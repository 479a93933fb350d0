//! Classifies pictures, and draws the five likeliest answers.
//!
//! `classify picture.png ..` draws each picture next to its answers. Without a file, it classifies the samples.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use image::RgbImage;
use image::imageops::{self, FilterType};
use onnx_embed::{Device, Tensor, TensorData};

mod draw;

onnx_embed::onnx_model! {
    /// A convolutional network that distinguishes ten shapes.
    pub struct Shapes = "../shapes.onnx";
}

/// Width and height of the pictures that the model accepts, in pixels.
const SIDE: u32 = 64;
/// Mean and standard deviation of red, green and blue, with which `train.py` normalizes its pictures.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const STD: [f32; 3] = [0.229, 0.224, 0.225];
const ANSWERS: usize = 5;

fn main() -> Result<()> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/pictures");
        paths = ["star", "heart", "arrow"].map(|name| PathBuf::from(format!("{samples}/{name}.png"))).into();
    }
    let open = |path: &PathBuf| {
        let picture = image::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(fit(&picture.into_rgb8()))
    };
    let pictures = paths.iter().map(open).collect::<Result<Vec<_>>>()?;

    let model = Shapes::new(&Device::flex());
    let answers = classify(&model, &pictures);

    let mut output = anstream::stdout().lock();
    for ((path, picture), answers) in paths.iter().zip(&pictures).zip(&answers) {
        writeln!(output, "{}", path.display())?;
        draw::beside(&mut output, picture, &answers[..ANSWERS])?;
    }
    Ok(())
}

/// Returns the middle of a picture, scaled to the size of the model's input.
fn fit(picture: &RgbImage) -> RgbImage {
    let (width, height) = picture.dimensions();
    let side = width.min(height);
    let square = imageops::crop_imm(picture, (width - side) / 2, (height - side) / 2, side, side);
    imageops::resize(&square.to_image(), SIDE, SIDE, FilterType::Triangle)
}

/// Returns the labels with their probabilities for each picture, the likeliest first.
fn classify(model: &Shapes, pictures: &[RgbImage]) -> Vec<Vec<(&'static str, f32)>> {
    let batch = pictures.len();
    let pixels: Vec<f32> = pictures.iter().flat_map(normalized).collect();
    let shape = [batch, 3, SIDE as usize, SIDE as usize];
    let images: Tensor<4> = Tensor::from_data(TensorData::new(pixels, shape), &Device::flex());

    let probabilities: Tensor<2> = model.forward(images);

    let values: Vec<f32> = probabilities.into_data().iter().collect();
    let ranked = |row: &[f32]| {
        let mut answers: Vec<_> = labels().zip(row.iter().copied()).collect();
        answers.sort_by(|a, b| b.1.total_cmp(&a.1));
        answers
    };
    values.chunks(labels().count()).map(ranked).collect()
}

/// Returns all reds, then all greens, then all blues, from about -2 to 2, as models from PyTorch expect.
fn normalized(picture: &RgbImage) -> impl Iterator<Item = f32> {
    (0..3).flat_map(move |channel| {
        let values = picture.pixels().map(move |pixel| f32::from(pixel[channel]) / 255.0);
        values.map(move |value| (value - MEAN[channel]) / STD[channel])
    })
}

fn labels() -> impl Iterator<Item = &'static str> {
    include_str!("../labels.txt").lines()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns six rows of unseen pictures, with a column for each label.
    fn unseen() -> Vec<(RgbImage, &'static str)> {
        let sheet = image::load_from_memory(include_bytes!("../unseen.png")).unwrap();
        let sheet = sheet.into_rgb8();
        let cell = |row: u32, column: u32| {
            imageops::crop_imm(&sheet, column * SIDE, row * SIDE, SIDE, SIDE).to_image()
        };
        let row = |row| (0..).zip(labels()).map(move |(column, label)| (cell(row, column), label));
        (0..6).flat_map(row).collect()
    }

    #[test]
    fn at_most_three_of_sixty_unseen_pictures_are_taken_for_another_shape() {
        let (pictures, expected): (Vec<_>, Vec<_>) = unseen().into_iter().unzip();
        let answers = classify(&Shapes::new(&Device::flex()), &pictures);
        let wrong: Vec<_> = (answers.iter().zip(&expected))
            .filter(|(answers, label)| answers[0].0 != **label)
            .map(|(answers, label)| format!("{label}: {:?}", &answers[..2]))
            .collect();
        assert!(wrong.len() <= 3, "{wrong:#?}");
    }

    #[test]
    fn a_picture_of_another_size_is_cropped_and_scaled() {
        let star = image::open(concat!(env!("CARGO_MANIFEST_DIR"), "/pictures/heart.png")).unwrap();
        let wide = star.into_rgb8();
        assert_eq!(wide.dimensions(), (120, 90));
        let answers = classify(&Shapes::new(&Device::flex()), &[fit(&wide)]);
        assert_eq!(answers[0][0].0, "heart");
        let sum: f32 = answers[0].iter().map(|(_, probability)| probability).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn pixels_are_normalized_by_channel() {
        let gray = RgbImage::from_pixel(1, 2, image::Rgb([124, 116, 104]));
        let values: Vec<f32> = normalized(&gray).collect();
        assert_eq!(values.len(), 6);
        assert_eq!(values[0], values[1]);
        assert!(values.iter().all(|value| value.abs() < 0.01), "{values:?}");
    }
}
