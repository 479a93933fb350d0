//! Images as inputs of models.

use alloc::vec::Vec;
use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::Value;

/// The bytes of a decoded image as an input of a model.
///
/// They may come from any decoder: row by row, with the channels of each pixel adjacent. With the crate `image`:
///
/// ```text
/// let photo = image::open("cat.jpg")?.resize_exact(224, 224, FilterType::Triangle).to_rgb8();
/// let pixels = Pixels::new(photo.as_raw(), photo.dimensions()).imagenet();
/// let probabilities = model.forward(pixels.tensor(&device));
/// let outputs = model.run(Values::new().with("image", pixels))?;
/// ```
///
/// The result is float32\[1, channels, height, width\] with elements from 0 to 1 by default. Use the preprocessing that
/// the model was trained with; the methods correspond to the steps of torchvision, Keras and timm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pixels<'a> {
    bytes: &'a [u8],
    width: usize,
    height: usize,
    channels: usize,
    scale: f32,
    mean: [f32; 4],
    std: [f32; 4],
    is_reversed: bool,
    is_last: bool,
}

impl<'a> Pixels<'a> {
    /// Creates an image of width and height from one to four bytes per pixel: gray, RGB, RGBA.
    ///
    /// # Panics
    ///
    /// If the image is empty, or the number of bytes does not match its size.
    #[track_caller]
    pub fn new(bytes: &'a [u8], (width, height): (u32, u32)) -> Self {
        let [width, height] = [width, height].map(|size| size as usize);
        let count = width * height;
        let channels = bytes.len().checked_div(count).unwrap_or(0);
        assert!(
            (1..=4).contains(&channels) && channels * count == bytes.len(),
            "{} bytes are not an image of {width} x {height} pixels",
            bytes.len()
        );
        Pixels {
            bytes,
            width,
            height,
            channels,
            scale: 1.0 / 255.0,
            mean: [0.0; 4],
            std: [1.0; 4],
            is_reversed: false,
            is_last: false,
        }
    }

    /// Sets the factor of the bytes. The default is 1/255; with 1, elements are from 0 to 255.
    #[must_use]
    pub fn scale(mut self, scale: f32) -> Self {
        self.scale = scale;
        self
    }

    /// Subtracts the mean of its channel from each scaled element, and divides by the standard deviation.
    ///
    /// Both are in the channel order of the result.
    ///
    /// # Panics
    ///
    /// If the image has another number of channels.
    #[must_use]
    #[track_caller]
    pub fn normalize<const C: usize>(mut self, mean: [f32; C], std: [f32; C]) -> Self {
        let channels = self.channels;
        assert!(C == channels, "expected an image of {C} channels, found {channels}");
        self.mean[..C].copy_from_slice(&mean);
        self.std[..C].copy_from_slice(&std);
        self
    }

    /// [Normalizes](Self::normalize) with the mean and standard deviation of ImageNet, as torchvision and timm do.
    ///
    /// # Panics
    ///
    /// If the image does not have three channels.
    #[must_use]
    #[track_caller]
    pub fn imagenet(self) -> Self {
        self.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    }

    /// Reverses the order of channels, for example to blue, green, red.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.is_reversed = true;
        self
    }

    /// Makes the channels the last axis, float32\[1, height, width, channels\], as in models from TensorFlow.
    #[must_use]
    pub fn channels_last(mut self) -> Self {
        self.is_last = true;
        self
    }

    /// Returns the sizes of the result.
    pub fn shape(&self) -> [usize; 4] {
        let (height, width, channels) = (self.height, self.width, self.channels);
        if self.is_last { [1, height, width, channels] } else { [1, channels, height, width] }
    }

    /// Returns the elements of the result in row-major order.
    pub fn to_vec(&self) -> Vec<f32> {
        let channels = self.channels;
        let element = |pixel: usize, channel: usize| {
            let of = if self.is_reversed { channels - 1 - channel } else { channel };
            let byte = f32::from(self.bytes[pixel * channels + of]);
            (byte * self.scale - self.mean[channel]) / self.std[channel]
        };
        let pixels = self.width * self.height;
        if self.is_last {
            let pixel = |pixel| (0..channels).map(move |channel| (pixel, channel));
            let all = (0..pixels).flat_map(pixel);
            all.map(|(pixel, channel)| element(pixel, channel)).collect()
        } else {
            let plane = |channel| (0..pixels).map(move |pixel| (pixel, channel));
            let all = (0..channels).flat_map(plane);
            all.map(|(pixel, channel)| element(pixel, channel)).collect()
        }
    }

    /// Returns the result on a device, as a batch of one. `Tensor::cat` joins several.
    pub fn tensor(&self, device: &Device) -> Tensor<4> {
        let data = TensorData::new(self.to_vec(), self.shape());
        Tensor::from_data(data, (device, DType::F32))
    }
}

impl From<Pixels<'_>> for Value {
    fn from(pixels: Pixels<'_>) -> Self {
        (pixels.to_vec(), pixels.shape()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pixels, one above the other.
    const RGB: [u8; 6] = [0, 51, 255, 102, 0, 204];

    fn pixels() -> Pixels<'static> {
        Pixels::new(&RGB, (1, 2))
    }

    #[test]
    fn channels_are_planes_from_0_to_1() {
        let value = Value::from(pixels());
        assert_eq!(value.to_string(), "float32[1, 3, 2, 1] = [[[[0], [0.4]], [[0.2], [0]], [[1], [0.8]]]]");
        let tensor = pixels().tensor(&Device::flex());
        assert_eq!(Value::from(tensor), value);
    }

    #[test]
    fn channels_may_be_last_and_reversed() {
        let pixels = pixels().scale(1.0).channels_last().reversed();
        assert_eq!(pixels.shape(), [1, 2, 1, 3]);
        assert_eq!(pixels.to_vec(), [255.0, 51.0, 0.0, 204.0, 0.0, 102.0]);
    }

    #[test]
    fn mean_and_deviation_are_of_the_channel_of_the_result() {
        let normal = pixels().reversed().normalize([1.0, 0.2, 0.4], [1.0, 2.0, 4.0]);
        let expected = [0.0, -0.2, 0.0, -0.1, -0.1, 0.0];
        let found = normal.to_vec();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        let black = Pixels::new(&[0; 3], (1, 1)).imagenet().to_vec();
        assert!((black[0] + 0.485 / 0.229).abs() < 1e-6);
    }

    #[test]
    fn bytes_that_are_no_image_are_refused() {
        for (bytes, sizes) in [(5, (1, 2)), (10, (1, 2)), (0, (0, 0))] {
            let bytes = vec![0; bytes];
            assert!(std::panic::catch_unwind(|| Pixels::new(&bytes, sizes)).is_err());
        }
    }
}
