//! A JPEG decoder with the exact pixels of libjpeg-turbo.
//!
//! The expected values of ONNX come from libjpeg-turbo with its default settings. The standard leaves the rounding of
//! the inverse transform and the entire upsampling of chroma to the decoder. This decoder follows libjpeg-turbo;
//! zune-jpeg, which the crate `image` uses, upsamples differently.
//!
//! The decoder reads files with one or three components and Huffman codes, sequential or progressive. Unlike
//! libjpeg-turbo, it does not smooth progressive files that omit low bits.

#![forbid(unsafe_code)]

mod huffman;
mod markers;
mod scan;
mod transform;
mod upsample;

use markers::{Colors, Frame, Markers, Segment};
use scan::Decoder;
use upsample::{Plane, Rows};

/// A decoded picture, as rows of red, green and blue.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

/// Facts about a picture from the beginning of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub width: usize,
    pub height: usize,
    /// Number of bytes that [`decode`] allocates for coefficients, samples and pixels.
    pub memory: usize,
}

/// Returns `true` if `bytes` begin with the signature of JPEG.
pub fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xFF\xD8\xFF")
}

/// Returns the size of a picture before any memory is allocated, or `None` in the cases of [`decode`].
pub fn header(bytes: &[u8]) -> Option<Header> {
    let mut markers = Markers::new(bytes)?;
    match markers.next()? {
        Segment::Frame(frame) => {
            let (width, height) = (frame.width, frame.height);
            // Each coefficient has two bytes.
            let memory = frame.stored * 64 * 3 + width * height * 3;
            Some(Header { width, height, memory })
        }
        Segment::Scan(_) | Segment::End => None,
    }
}

/// Decodes a JPEG file. Returns `None` if the file is malformed or of an unsupported kind.
pub fn decode(bytes: &[u8]) -> Option<Picture> {
    let mut markers = Markers::new(bytes)?;
    let mut decoder: Option<Decoder> = None;
    loop {
        match markers.next()? {
            Segment::Frame(frame) if decoder.is_none() && frame.is_in(bytes.len()) => {
                decoder = Some(Decoder::new(frame));
            }
            Segment::Frame(_) => return None,
            Segment::Scan(scan) => {
                let end = decoder.as_mut()?.scan(&scan, &markers)?;
                markers.skip_to(end);
            }
            Segment::End => break,
        }
    }
    let (frame, planes) = decoder?.finish()?;
    Some(picture(&frame, markers.colors(&frame.components), &planes))
}

fn picture(frame: &Frame, colors: Colors, planes: &[Plane]) -> Picture {
    let (width, height) = (frame.width, frame.height);
    let mut rows: Vec<Rows<'_>> = planes.iter().map(|plane| Rows::new(plane, width)).collect();
    let mut pixels = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        match rows.as_mut_slice() {
            [gray] => pixels.extend(gray.row(y).iter().flat_map(|&value| [value; 3])),
            [first, second, third] => {
                let rest = second.row(y).iter().zip(third.row(y));
                let values = first.row(y).iter().zip(rest);
                match colors {
                    Colors::Rgb => pixels.extend(values.flat_map(|(&r, (&g, &b))| [r, g, b])),
                    Colors::Luma => pixels.extend(values.flat_map(|(&y, (&b, &r))| rgb(y, b, r))),
                }
            }
            _ => {}
        }
    }
    Picture { width, height, pixels }
}

/// Converts luma and chroma to RGB with 16 fractional bits; green rounds the sum of its two terms once.
fn rgb(luma: u8, blue: u8, red: u8) -> [u8; 3] {
    const HALF: i32 = 1 << 15;
    let [luma, blue, red] = [luma, blue, red].map(i32::from);
    let (blue, red) = (blue - 128, red - 128);
    let color = |difference: i32| (luma + (difference >> 16)).clamp(0, 255) as u8;
    [color(91881 * red + HALF), color(HALF - 22554 * blue - 46802 * red), color(116_130 * blue + HALF)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JPEG file and its pixels as Pillow's PPM, both written by `samples.py`.
    macro_rules! sample {
        ($name:literal) => {
            (
                $name,
                include_bytes!(concat!("../samples/", $name, ".jpg")).as_slice(),
                include_bytes!(concat!("../samples/", $name, ".ppm")).as_slice(),
            )
        };
    }

    const SAMPLES: [(&str, &[u8], &[u8]); 13] = [
        sample!("444"),
        sample!("422"),
        sample!("420"),
        sample!("440"),
        sample!("411"),
        sample!("420_narrow"),
        sample!("420_coarse"),
        sample!("420_progressive"),
        sample!("422_restarts"),
        sample!("gray"),
        sample!("gray_progressive_restarts"),
        sample!("rgb"),
        sample!("tables"),
    ];

    #[test]
    fn pictures_are_those_of_libjpeg_turbo() {
        for (name, file, ppm) in SAMPLES {
            let Picture { width, height, pixels } = decode(file).unwrap();
            let mut found = format!("P6\n{width} {height}\n255\n").into_bytes();
            found.extend(pixels);
            assert!(found == ppm, "{name}");
        }
    }

    #[test]
    fn broken_files_are_refused_without_a_panic() {
        for (name, file, _) in SAMPLES {
            let scan = file.windows(2).position(|pair| pair == [0xFF, 0xDA]);
            for end in (0..scan.unwrap() + 20).step_by(3) {
                assert_eq!(decode(&file[..end]), None, "{name} up to {end}");
            }
            for at in (0..file.len()).step_by(2) {
                for flip in [0x10, 0xFF] {
                    let mut broken = file.to_vec();
                    broken[at] ^= flip;
                    decode(&broken);
                }
            }
        }
    }

    #[test]
    fn sizes_that_the_file_cannot_hold_are_refused() {
        let mut file = SAMPLES[0].1.to_vec();
        let frame = file.windows(2).position(|pair| pair == [0xFF, 0xC0]);
        file[frame.unwrap() + 5..][..4].fill(0xFF);
        assert_eq!(decode(&file), None);
        let side = 65_535;
        let memory = 65_536 * 65_536 * 9 + side * side * 3;
        let expected = Header { width: side, height: side, memory };
        assert_eq!(header(&file), Some(expected));
    }
}
