//! Reads printed text from pictures of pages.
//!
//! `ocr page.png ..` draws each page with the text of its lines next to it. Without a file, it reads a sample.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use image::GrayImage;
use onnx_embed::{Device, OnnxModel, Tensor, TensorData};

mod decode;
mod draw;
mod page;

use decode::Text;
use page::{HEIGHT, Line};

onnx_embed::onnx_model! {
    /// A convolutional network that returns a character, or none, for each four columns of a line.
    pub struct Lines = "../lines.onnx";
}

fn main() -> Result<()> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        paths = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/pages/receipt.png").into()];
    }
    let model = Lines::new(&Device::flex());
    let mut output = anstream::stdout().lock();
    for path in paths {
        let picture = image::open(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let picture = picture.into_luma8();
        writeln!(output, "{}", path.display())?;
        draw::beside(&mut output, &picture, &read(&model, &picture))?;
    }
    Ok(())
}

/// Returns the lines of a page with their text.
fn read(model: &Lines, page: &GrayImage) -> Vec<(Line, Text)> {
    let lines = page::lines(page);
    if lines.is_empty() {
        return Vec::new();
    }
    let cut: Vec<_> = lines.iter().map(|line| page::cut(page, *line)).collect();
    // All lines are one batch. Shorter ones are padded with paper on the right.
    let width = cut.iter().map(|(_, width)| *width as usize).max().unwrap_or(0);
    let mut ink = Vec::with_capacity(lines.len() * HEIGHT as usize * width);
    for (line, own) in &cut {
        for row in line.chunks_exact(*own as usize) {
            ink.extend_from_slice(row);
            ink.resize(ink.len() + width - row.len(), 0.0);
        }
    }
    let shape = [lines.len(), 1, HEIGHT as usize, width];
    let images: Tensor<4> = Tensor::from_data(TensorData::new(ink, shape), &Device::flex());

    let probabilities: Tensor<3> = model.forward(images);

    let characters: Vec<char> = characters().collect();
    let values: Vec<f32> = probabilities.into_data().iter().collect();
    let texts = values.chunks(values.len() / lines.len());
    let texts = texts.map(|line| decode::greedy(line, &characters));
    let read = lines.into_iter().zip(texts);
    read.filter(|(_, text)| !text.text.is_empty()).collect()
}

/// Returns the characters that the model can read, from the metadata of its file.
fn characters() -> impl Iterator<Item = char> {
    let entry = Lines::METADATA.get("characters");
    entry.unwrap_or_default().chars()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(name: &str) -> (GrayImage, Vec<String>) {
        let path = format!("{}/pages/{name}", env!("CARGO_MANIFEST_DIR"));
        let picture = image::open(format!("{path}.png")).unwrap().into_luma8();
        let expected = std::fs::read_to_string(format!("{path}.txt")).unwrap();
        (picture, expected.lines().map(str::to_owned).collect())
    }

    fn texts(page: &GrayImage) -> Vec<String> {
        let read = read(&Lines::new(&Device::flex()), page);
        read.into_iter().map(|(_, text)| text.text).collect()
    }

    #[test]
    fn a_receipt_is_read_without_a_mistake() {
        let (page, expected) = open("receipt");
        assert_eq!(texts(&page), expected);
    }

    #[test]
    fn a_letter_in_another_font_is_read_without_a_mistake() {
        let (page, expected) = open("letter");
        assert_eq!(texts(&page), expected);
    }

    #[test]
    fn nine_of_ten_lines_of_many_fonts_are_read_without_a_mistake() {
        let (page, expected) = open("unseen");
        let found = texts(&page);
        assert_eq!(found.len(), expected.len());
        let wrong: Vec<_> = (found.iter().zip(&expected)).filter(|(a, b)| a != b).collect();
        assert!(wrong.len() * 10 <= expected.len(), "{wrong:#?}");
    }

    #[test]
    fn a_line_alone_is_read_as_on_its_page() {
        let (page, expected) = open("receipt");
        let line = page::lines(&page)[2];
        let alone = image::imageops::crop_imm(&page, line.left, line.top, line.width, line.height);
        assert_eq!(texts(&alone.to_image()), [expected[2].as_str()]);
    }

    #[test]
    fn paper_without_text_has_no_line() {
        let paper = GrayImage::from_pixel(200, 100, image::Luma([240]));
        assert!(texts(&paper).is_empty());
    }
}
