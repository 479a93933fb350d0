//! Decoding of JPEG 2000 files.

use hayro_jpeg2000::{DecodeSettings, DecoderContext};
use image::RgbImage;

use super::check;

/// Returns `true` if `bytes` begin with the signature of JPEG 2000, of its container or of a codestream.
pub fn is_jpeg_2000(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0\0\0\x0CjP  ") || bytes.starts_with(b"\xFF\x4F\xFF\x51")
}

/// Decodes an image with the crate `hayro-jpeg2000`.
pub fn decode(bytes: &[u8]) -> Option<RgbImage> {
    for codestream in codestreams(bytes) {
        if let Some(sizes) = Sizes::of(codestream) {
            check(sizes.width, sizes.height, sizes.memory(codestream));
        }
    }
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

/// Returns the product of two fractions of 255, rounded.
fn mixed(a: u8, b: u8) -> u8 {
    ((u32::from(a) * u32::from(b) + 127) / 255) as u8
}

/// Maximum number of bytes in which the decoder stores a tile, precinct, code-block, layer of a code-block, and sample.
const BYTES_PER_TILE: usize = 512;
const BYTES_PER_PRECINCT: usize = 256;
const BYTES_PER_BLOCK: usize = 256;
const BYTES_PER_LAYER: usize = 24;
const BYTES_PER_SAMPLE: usize = 32;

/// Sizes at the beginning of a codestream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    width: usize,
    height: usize,
    tiles: usize,
    components: usize,
    /// Offset of the marker that follows them.
    end: usize,
}

impl Sizes {
    fn of(codestream: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let bytes = codestream.get(at..)?.first_chunk()?;
            usize::try_from(u32::from_be_bytes(*bytes)).ok()
        };
        let axis = |at: usize| {
            let (end, tile) = (number(at)?, number(at + 16)?);
            let tiles = end.saturating_sub(number(at + 24)?).div_ceil(tile.max(1));
            Some((end.saturating_sub(number(at + 8)?), tiles))
        };
        let ((width, across), (height, down)) = (axis(8)?, axis(12)?);
        let components = codestream.get(40..)?.first_chunk()?;
        let components = usize::from(u16::from_be_bytes(*components));
        Some(Self { width, height, tiles: across.saturating_mul(down), components, end: 42 + 3 * components })
    }

    /// Returns the number of bytes that decoding needs, or `None` if they cannot be addressed.
    fn memory(&self, codestream: &[u8]) -> Option<usize> {
        let each = styles(codestream, self.end).map(|style| style.memory()).max().unwrap_or(0);
        // Samples of all components at the size of the picture; lower resolutions have a third as many.
        let samples = self.width.checked_mul(self.height)?;
        let samples = samples.checked_mul(self.components)?;
        let parts = samples.checked_mul(each)?.div_ceil(256) / 3 * 4;
        let samples = samples.checked_mul(BYTES_PER_SAMPLE)?;
        let tiles = self.tiles.checked_mul(BYTES_PER_TILE)?;
        let tiles = tiles.checked_mul(self.components.max(1))?;
        parts.checked_add(samples)?.checked_add(tiles)
    }
}

/// Division of samples into code-blocks, as specified by headers of the codestream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Style {
    layers: usize,
    /// Binary logarithm of the number of samples of a code-block (`block`) and of the smallest `precinct`.
    block: u32,
    precinct: u32,
}

impl Style {
    /// Returns the number of bytes for 256 samples.
    fn memory(self) -> usize {
        let share = |bytes: usize, exponent: u32| (bytes << 8) >> exponent.min(24);
        let block = self.block.min(self.precinct);
        let block = share(BYTES_PER_BLOCK + self.layers * BYTES_PER_LAYER, block);
        block + share(BYTES_PER_PRECINCT, self.precinct)
    }

    /// Reads the data that follow the flags of a style.
    fn of(layers: usize, has_precincts: bool, data: &[u8]) -> Option<Self> {
        let [levels, across, down, _, _, ..] = *data else {
            return None;
        };
        // Each band has half of a precinct along both axes.
        let area =
            |byte: &u8| u32::from(byte & 15).saturating_sub(1) + u32::from(byte >> 4).saturating_sub(1);
        let precincts = data[5..].iter().take(usize::from(levels) + 1).map(area);
        let least = if has_precincts { precincts.min() } else { None };
        Some(Self { layers, block: u32::from(across) + u32::from(down) + 4, precinct: least.unwrap_or(28) })
    }
}

/// Returns the codestreams of a file: the file itself, or those in its boxes.
fn codestreams(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.starts_with(b"\xFF\x4F") {
        return vec![bytes];
    }
    let (mut rest, mut found) = (bytes, Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let Some((name, mut data)) = behind.split_first_chunk::<4>() else {
            break;
        };
        let length = match u32::from_be_bytes(*length) {
            0 => data.len(),
            1 => {
                let Some((length, behind)) = data.split_first_chunk::<8>() else {
                    break;
                };
                data = behind;
                let length = usize::try_from(u64::from_be_bytes(*length));
                length.unwrap_or(usize::MAX).saturating_sub(16)
            }
            length => (length as usize).saturating_sub(8),
        };
        let (content, behind) = data.split_at(length.min(data.len()));
        if name == b"jp2c" {
            found.push(content);
        }
        rest = behind;
    }
    found
}

/// Returns the styles in the headers of a codestream, from the marker at `at` on.
fn styles(codestream: &[u8], mut at: usize) -> impl Iterator<Item = Style> {
    let (mut styles, mut layers, mut part) = (Vec::new(), 1, (0, 0));
    let number = |at: usize| {
        let bytes = codestream.get(at..)?.first_chunk()?;
        Some(usize::from(u16::from_be_bytes(*bytes)))
    };
    while let Some(marker) = number(at) {
        let length = number(at + 2).unwrap_or(0).max(2);
        let data = codestream.get(at + 4..).unwrap_or_default();
        match (marker, data) {
            (0xFF52, [flags, _, high, low, _, rest @ ..]) => {
                layers = usize::from(u16::from_be_bytes([*high, *low]));
                styles.extend(Style::of(layers, flags & 1 == 1, rest));
            }
            // The number of the component has one byte, or two if there are more than 256.
            (0xFF53, [_, flags, rest @ ..]) => {
                styles.extend(Style::of(layers, flags & 1 == 1, rest));
                if let Some((flags, rest)) = rest.split_first() {
                    styles.extend(Style::of(layers, flags & 1 == 1, rest).filter(|_| length > 9));
                }
            }
            (0xFF90, [_, _, length @ ..]) => {
                let length = length.first_chunk().map_or(0, |length| u32::from_be_bytes(*length));
                part = (at, length as usize);
            }
            // The data of a tile part, which extends to the end of the file if it has no length.
            (0xFF93, _) => {
                let (begin, length) = part;
                if length < 12 || begin.saturating_add(length) <= at {
                    break;
                }
                at = begin.saturating_add(length);
                continue;
            }
            (..0xFF00, _) | (0xFFD9, _) => break,
            _ => {}
        }
        at += 2 + length;
    }
    styles.into_iter()
}

#[cfg(test)]
mod tests {
    use onnx_embed_kernels::attempt::attempt;

    use super::*;

    /// Returns the headers of a picture of 100 by 50 pixels in tiles of 60 by 50; `headers` follow its sizes.
    fn codestream(headers: &[&[u8]]) -> Vec<u8> {
        let sizes = [100u32, 50, 0, 0, 60, 50, 0, 0].map(u32::to_be_bytes).concat();
        let begin = b"\xFF\x4F\xFF\x51\0\x29\0\0";
        let components = b"\0\x01\x07\x01\x01";
        [begin, sizes.as_slice(), components, &headers.concat()].concat()
    }

    #[test]
    fn sizes_and_styles_are_in_headers() {
        let cod = b"\xFF\x52\0\x0E\x01\0\0\x1F\0\x01\x02\x01\0\x01\x33\x66";
        let comment = b"\xFF\x64\0\x04\xFF\x93";
        let sot = b"\xFF\x90\0\x0A\0\0\0\0\0\x10\0\x01\xFF\x93\xFF\xFF";
        let coc = b"\xFF\x90\0\x0A\0\0\0\0\0\0\0\x01\xFF\x53\0\x09\0\0\0\x04\x04\0\x01\xFF\x93";
        let file = codestream(&[comment, cod, sot, coc]);
        let sizes = Sizes::of(&file).unwrap();
        assert_eq!((sizes.width, sizes.height, sizes.tiles), (100, 50, 2));
        let style = |block, precinct| Style { layers: 31, block, precinct };
        let found: Vec<Style> = styles(&file, sizes.end).collect();
        assert_eq!(found, [style(7, 4), style(12, 28)]);
        assert!(sizes.memory(&file).unwrap() > 5000 * 31 * 24 / 16);
    }

    #[test]
    fn codestreams_are_in_boxes() {
        let file = b"\0\0\0\x0CjP  \r\n\x87\n\0\0\0\x01free\0\0\0\0\0\0\0\x11.\0\0\0\x0Ajp2cab\0\0\0\0jp2cc";
        assert_eq!(codestreams(file), [b"ab".as_slice(), b"c"]);
        assert_eq!(codestreams(b"\xFF\x4F\xFF\x51"), [b"\xFF\x4F\xFF\x51"]);
    }

    #[test]
    fn sizes_that_contradict_each_other_are_no_image() {
        let cod = b"\xFF\x52\0\x0C\0\0\0\x01\0\x01\x04\x04\0\x01\xFF\x5C\0\x07\x40\x40\x48\x48\x50";
        let begin = b"\xFF\x90\0\x0A\0\0\0\0\0\0\0\x01\xFF\x93";
        let most = [u8::MAX; 4];
        let decoded = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut file = codestream(&[cod, begin, &[0; 32], b"\xFF\xD9"]);
            change(&mut file);
            let image = attempt(|| decode(&file).map(|image| (image.width(), image.height())));
            image.map_err(|fault| fault.reason)
        };
        // Offsets of 8 are the width, of 16 where the picture begins, of 24 the tiles, and of 32 where these begin.
        for at in [8, 12, 24, 28] {
            assert_eq!(decoded(&|file| file[at..at + 4].fill(0)), Ok(None), "{at}");
        }
        for at in [16, 20, 32, 36] {
            assert_eq!(decoded(&|file| file[at..at + 4].copy_from_slice(&most)), Ok(None), "{at}");
        }
        // The number of components, their depth, and the distance of their samples.
        for (at, value) in [(40, 0xFF), (41, 0), (41, 9), (43, 0), (44, 0)] {
            assert_eq!(decoded(&|file| file[at] = value), Ok(None), "{at} {value}");
        }
        for (at, value) in [(8, most), (12, most), (24, 1u32.to_be_bytes())] {
            let reason = decoded(&|file| {
                file[8..16].copy_from_slice(&[most, most].concat());
                file[at..at + 4].copy_from_slice(&value);
            });
            assert!(reason.is_err_and(|reason| reason.contains("the memory limit is")), "{at}");
        }
    }

    #[test]
    fn headers_that_are_cut_short_end() {
        let file = codestream(&[b"\xFF\x52\0\x0E\x01\0\0\x1F\0\x01\x02\x01\0\x01\x33\x66", b"\xFF\x90\0\0"]);
        for end in 0..file.len() {
            let sizes = Sizes::of(&file[..end]);
            assert_eq!(sizes.is_some(), end >= 42);
            assert!(sizes.is_none_or(|sizes| sizes.memory(&file[..end]).is_some()));
        }
    }
}
