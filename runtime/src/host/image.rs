//! Images out of the bytes of their files.

use hayro_jpeg2000::{DecodeSettings, DecoderContext};
use image::RgbImage;
use onnx_embed_jpeg as jpeg;

use crate::Array;

/// The numbers of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelFormat {
    Rgb,
    Bgr,
    Grayscale,
}

/// `[height, width, channels]` of a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP file, and
/// `[0, 0, channels]` of what is none.
#[inline(never)]
pub fn decode_image(file: &Array<u8>, format: PixelFormat) -> Array<u8> {
    let bytes = file.data();
    let pixels = match bytes {
        _ if is_jpeg_2000(bytes) => jpeg_2000(bytes),
        _ if jpeg::is_jpeg(bytes) => jpeg(bytes).or_else(|| any(bytes)),
        _ => any(bytes),
    };
    let pixels = pixels.unwrap_or_default();
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let mut data = pixels.into_raw();
    let channels = match format {
        PixelFormat::Rgb | PixelFormat::Bgr => 3,
        PixelFormat::Grayscale => 1,
    };
    match format {
        PixelFormat::Rgb => {}
        PixelFormat::Bgr => data
            .as_chunks_mut::<3>()
            .0
            .iter_mut()
            .for_each(|p| p.reverse()),
        PixelFormat::Grayscale => data = data.as_chunks().0.iter().map(luma).collect(),
    }
    Array::new([height, width, channels], data)
}

/// The luma of ITU-R BT.601 in 16 binary digits, rounded.
fn luma(&[red, green, blue]: &[u8; 3]) -> u8 {
    let [red, green, blue] = [red, green, blue].map(u32::from);
    ((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16) as u8
}

/// What the crate `image` reads; of JPEG, files of four inks too.
fn any(bytes: &[u8]) -> Option<RgbImage> {
    let image = image::load_from_memory(bytes).ok()?;
    Some(image.to_rgb8())
}

fn jpeg(bytes: &[u8]) -> Option<RgbImage> {
    let picture = jpeg::decode(bytes)?;
    let [width, height] = [picture.width, picture.height].map(u32::try_from);
    RgbImage::from_raw(width.ok()?, height.ok()?, picture.pixels)
}

/// Whether these are the bytes that JPEG 2000 begins with, in its container or alone.
fn is_jpeg_2000(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0\0\0\x0CjP  ") || bytes.starts_with(b"\xFF\x4F\xFF\x51")
}

fn jpeg_2000(bytes: &[u8]) -> Option<RgbImage> {
    let image = hayro_jpeg2000::Image::new(bytes, &DecodeSettings::default()).ok()?;
    let mut context = DecoderContext::default();
    let values = image.decode(&mut context).ok()?.data_u8();
    let colors = usize::from(image.color_space().num_channels());
    let channels = colors + usize::from(image.has_alpha());
    let color = |pixel: &[u8]| match *pixel {
        [cyan, magenta, yellow, black, ..] if colors == 4 => {
            [cyan, magenta, yellow].map(|ink| mixed(255 - ink, 255 - black))
        }
        [red, green, blue, ..] if colors == 3 => [red, green, blue],
        [gray, ..] => [gray; 3],
        [] => [0; 3],
    };
    let data = values.chunks_exact(channels).flat_map(color).collect();
    RgbImage::from_raw(image.width(), image.height(), data)
}

/// The product of two shares of 255, rounded.
fn mixed(a: u8, b: u8) -> u8 {
    ((u32::from(a) * u32::from(b) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PPM file of one red and one blue pixel.
    fn two_pixels() -> Array<u8> {
        let mut file = b"P6\n2 1\n255\n".to_vec();
        file.extend([250, 10, 20, 1, 2, 255]);
        Array::vector(file)
    }

    #[test]
    fn pixels_come_in_the_order_that_is_asked_for() {
        let rgb = decode_image(&two_pixels(), PixelFormat::Rgb);
        assert_eq!(rgb, Array::new([1, 2, 3], vec![250, 10, 20, 1, 2, 255]));
        let bgr = decode_image(&two_pixels(), PixelFormat::Bgr);
        assert_eq!(bgr.data(), [20, 10, 250, 255, 2, 1]);
        let gray = decode_image(&two_pixels(), PixelFormat::Grayscale);
        assert_eq!(gray, Array::new([1, 2, 1], vec![83, 31]));
    }

    #[test]
    fn broken_files_are_empty_images() {
        for bytes in [&b""[..], b"text", b"\xFF\x4F\xFF\x51", b"\x89PNG\r\n\x1a\n"] {
            let image = decode_image(&Array::vector(bytes), PixelFormat::Grayscale);
            assert_eq!(image.shape(), [0, 0, 1]);
        }
    }
}
