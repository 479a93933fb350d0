//! Labeled sketches from a sheet, with a column for each label.

use anyhow::Result;
use image::RgbImage;
use onnx_embed::{Device, Int, Tensor, TensorData};

const SIDE: usize = 64;
/// Mean and standard deviation of red, green and blue in the classifier's training data.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const STD: [f32; 3] = [0.229, 0.224, 0.225];

/// Images `[count, 3, 64, 64]` and the index of the label of each.
pub struct Sketches {
    images: Tensor<4>,
    labels: Tensor<1, Int>,
}

impl Sketches {
    pub fn decode(png: &[u8], device: &Device) -> Result<Self> {
        let sheet = image::load_from_memory(png)?.into_rgb8();
        let (columns, rows) = (sheet.width() as usize / SIDE, sheet.height() as usize / SIDE);
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let pixels: Vec<f32> = cells.clone().flat_map(|cell| normalized(&sheet, cell)).collect();
        let labels: Vec<i64> = cells.map(|(_, column)| column as i64).collect();
        let shape = [rows * columns, 3, SIDE, SIDE];
        Ok(Self {
            images: Tensor::from_data(TensorData::new(pixels, shape), device),
            labels: Tensor::from_data(TensorData::new(labels, [rows * columns]), device),
        })
    }

    pub fn count(&self) -> usize {
        self.labels.dims()[0]
    }

    pub fn all(&self) -> (Tensor<4>, Tensor<1, Int>) {
        (self.images.clone(), self.labels.clone())
    }

    /// Returns the batch of a step. The batches repeat in order, mirrored in four ways.
    pub fn batch(&self, step: usize, size: usize) -> (Tensor<4>, Tensor<1, Int>) {
        let batches = self.count() / size;
        let start = step % batches * size;
        let mut images = self.images.clone().narrow(0, start, size);
        let way = step / batches;
        if way % 2 == 1 {
            images = images.flip([3]);
        }
        if way / 2 % 2 == 1 {
            images = images.flip([2]);
        }
        (images, self.labels.clone().narrow(0, start, size))
    }
}

fn normalized(sheet: &RgbImage, (row, column): (usize, usize)) -> Vec<f32> {
    let pixel = move |channel: usize, at: usize| {
        let (x, y) = (column * SIDE + at % SIDE, row * SIDE + at / SIDE);
        let value = sheet.get_pixel(x as u32, y as u32)[channel];
        (f32::from(value) / 255.0 - MEAN[channel]) / STD[channel]
    };
    let channel = |channel| (0..SIDE * SIDE).map(move |at| pixel(channel, at));
    (0..3).flat_map(channel).collect()
}
