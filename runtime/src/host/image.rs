//! Decoding of image files.

mod jpeg_2000;

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};
use onnx_embed_jpeg as jpeg;
use onnx_embed_kernels::{
    fault::fail,
    memory_limit::memory_limit,
    sizes::{Bytes, extent},
};

use crate::Array;

/// Channels of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelFormat {
    Rgb,
    Bgr,
    Grayscale,
}

/// Decodes a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP file to `[height, width, channels]`.
///
/// Other data are an image of `[0, 0, channels]`.
///
/// # Panics
///
/// If decoding needs more memory than the limit, computed from the sizes in the header of the file.
#[inline(never)]
pub fn decode_image(file: &Array<u8>, format: PixelFormat) -> Array<u8> {
    let bytes = file.data();
    let pixels = match bytes {
        _ if jpeg_2000::is_jpeg_2000(bytes) => jpeg_2000::decode(bytes),
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
        PixelFormat::Bgr => data.as_chunks_mut::<3>().0.iter_mut().for_each(|p| p.reverse()),
        PixelFormat::Grayscale => data = data.as_chunks().0.iter().map(luma).collect(),
    }
    Array::new([height, width, channels], data)
}

/// Returns the luma of ITU-R BT.601, with 16 fractional bits and rounded.
fn luma(&[red, green, blue]: &[u8; 3]) -> u8 {
    let [red, green, blue] = [red, green, blue].map(u32::from);
    ((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16) as u8
}

/// Ends the step if a picture of this size needs more memory than the limit, or more than can be addressed.
fn check(width: usize, height: usize, memory: Option<usize>) {
    let limit = memory_limit();
    let allowed = |bytes: usize| bytes <= limit && extent(&[bytes], 1).is_some();
    if !memory.is_some_and(allowed) {
        let memory = Bytes(memory.unwrap_or(usize::MAX));
        fail(format_args!(
            "decoding an image of {width} x {height} pixels requires {memory}, the memory limit is {}",
            Bytes(limit)
        ));
    }
}

/// Decodes the formats of the crate `image`, including JPEG files with four inks.
fn any(bytes: &[u8]) -> Option<RgbImage> {
    let reader = ImageReader::new(Cursor::new(bytes));
    let mut reader = reader.with_guessed_format().ok()?;
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(memory_limit() as u64);
    reader.limits(limits);
    let decoder = reader.into_decoder().ok()?;
    let [width, height] = <[u32; 2]>::from(decoder.dimensions()).map(|size| size as usize);
    // Samples as decoded and as returned; then for each pixel 3 bytes of color and 6 of coefficients.
    let samples = usize::try_from(decoder.total_bytes()).ok();
    let samples = samples.and_then(|bytes| bytes.checked_mul(2));
    let colors = width.checked_mul(height).and_then(|count| count.checked_mul(9));
    let memory = samples.zip(colors).and_then(|(samples, colors)| samples.checked_add(colors));
    check(width, height, memory);
    Some(DynamicImage::from_decoder(decoder).ok()?.to_rgb8())
}

fn jpeg(bytes: &[u8]) -> Option<RgbImage> {
    let header = jpeg::header(bytes)?;
    check(header.width, header.height, Some(header.memory));
    let picture = jpeg::decode(bytes)?;
    let [width, height] = [picture.width, picture.height].map(u32::try_from);
    RgbImage::from_raw(width.ok()?, height.ok()?, picture.pixels)
}

#[cfg(test)]
mod tests {
    use onnx_embed_kernels::{attempt::attempt, memory_limit::with_memory_limit};

    use super::*;

    /// Returns a PPM file with a red and a blue pixel.
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

    /// Returns a chunk of a PNG file.
    fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let mut sum = u32::MAX;
        for byte in name.iter().chain(data) {
            sum ^= u32::from(*byte);
            for _ in 0..8 {
                sum = (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 };
            }
        }
        let length = (data.len() as u32).to_be_bytes();
        [&length, name.as_slice(), data, &(!sum).to_be_bytes()].concat()
    }

    /// Returns a file of each format whose header specifies 65535 rows and columns, or the maximum of the format.
    fn huge_files() -> Vec<(&'static str, [usize; 2], Vec<u8>)> {
        let side = 65_535u32;
        let (big, little) = (side.to_be_bytes(), side.to_le_bytes());
        let short = [0xFF, 0xFF];
        let png = [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &[&big[..], &big, &[8, 2, 0, 0, 0]].concat()),
            chunk(b"IDAT", &[0x78, 0x9C, 3, 0, 0, 0, 0, 1]),
            chunk(b"IEND", &[]),
        ];
        let jpeg: [&[u8]; 6] = [
            b"\xFF\xD8\xFF\xC0\0\x11\x08",
            &short,
            &short,
            b"\x03\x01\x11\0\x02\x11\x01\x03\x11\x01",
            b"\xFF\xDA\0\x0C\x03\x01\0\x02\0\x03\0\0\x3F\0",
            b"\0\0\xFF\xD9",
        ];
        // Offset of the pixels, sizes, and 24 bits for each pixel.
        let bmp: [&[u8]; 6] =
            [b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", &little, &little, b"\x01\0\x18\0", &[0; 24], &[0; 8]];
        // Width, height, bits, compression, color space, offset of the strip, samples, rows and length of the strip.
        let entry = |tag: u16, kind: u16, value: u32| {
            let (tag, kind) = (tag.to_le_bytes(), kind.to_le_bytes());
            [&tag[..], &kind, &1u32.to_le_bytes(), &value.to_le_bytes()].concat()
        };
        let entries = [
            entry(256, 4, side),
            entry(257, 4, side),
            entry(258, 3, 8),
            entry(259, 3, 1),
            entry(262, 3, 1),
            entry(273, 4, 8),
            entry(277, 3, 1),
            entry(278, 4, side),
            entry(279, 4, 8),
        ];
        let tiff = [b"II*\0\x08\0\0\0\x09\0".as_slice(), &entries.concat(), &[0; 4]];
        let most = (1usize << 14) - 1;
        // A lossless picture, with 14 bits for the size of each axis.
        let size = (most - 1) as u32 | ((most - 1) as u32) << 14;
        let webp: [&[u8]; 4] =
            [b"RIFF\x20\0\0\0WEBPVP8L\x10\0\0\0\x2F", &size.to_le_bytes(), &[0; 11], &[0; 8]];
        let siz: [&[u8]; 6] = [
            b"\xFF\x4F\xFF\x51\0\x2F\0\0",
            &[big, big, [0; 4], [0; 4]].concat(),
            &[big, big, [0; 4], [0; 4]].concat(),
            b"\0\x03\x07\x01\x01\x07\x01\x01\x07\x01\x01",
            b"\xFF\x52\0\x0C\0\0\0\x01\0\x01\x04\x04\0\x01\xFF\x5C\0\x07\x40\x40\x48\x48\x50",
            b"\xFF\x90\0\x0A\0\0\0\0\0\0\0\x01\xFF\x93\xFF\xD9",
        ];
        let square = [side as usize; 2];
        vec![
            ("png", square, png.concat()),
            ("jpeg", square, jpeg.concat()),
            ("bmp", square, bmp.concat()),
            ("pnm", square, b"P6\n65535 65535\n255\n0".to_vec()),
            ("tiff", square, tiff.concat()),
            ("webp", [most; 2], webp.concat()),
            ("jpeg 2000", square, siz.concat()),
        ]
    }

    #[test]
    fn sizes_above_the_memory_limit_are_refused() {
        for (format, [width, height], file) in huge_files() {
            let found = with_memory_limit(1 << 30, || {
                attempt(|| decode_image(&Array::vector(file), PixelFormat::Rgb))
            });
            let reason = match found {
                Ok(image) => format!("{:?}", image.shape()),
                Err(fault) => fault.reason,
            };
            let begin = format!("decoding an image of {width} x {height} pixels requires ");
            assert!(reason.starts_with(&begin), "{format}: {reason}");
            assert!(reason.ends_with(" GiB, the memory limit is 1.0 GiB"), "{reason}");
        }
    }

    #[test]
    fn pictures_below_the_memory_limit_are_decoded() {
        let decode =
            |limit| with_memory_limit(limit, || attempt(|| decode_image(&two_pixels(), PixelFormat::Rgb)));
        assert!(decode(30).is_ok());
        assert!(decode(29).is_err());
    }

    #[test]
    fn broken_files_are_empty_images() {
        for bytes in [&b""[..], b"text", b"\xFF\x4F\xFF\x51", b"\x89PNG\r\n\x1a\n"] {
            let image = decode_image(&Array::vector(bytes), PixelFormat::Grayscale);
            assert_eq!(image.shape(), [0, 0, 1]);
        }
    }
}
