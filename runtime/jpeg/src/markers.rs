//! Segments of a JPEG file.

use std::rc::Rc;

use super::huffman::Code;

/// Size of a picture and its components.
#[derive(Clone, Debug)]
pub struct Frame {
    pub width: usize,
    pub height: usize,
    pub progressive: bool,
    pub components: Vec<Component>,
    /// Number of block groups (MCUs) of an interleaved scan, across and down.
    pub groups: [usize; 2],
    /// Number of blocks in memory, including those beyond the border of the picture.
    pub stored: usize,
    /// Number of blocks in the file.
    pub sent: usize,
}

#[derive(Clone, Debug)]
pub struct Component {
    pub id: u8,
    /// Number of blocks in a group, across and down: the sampling factors.
    pub factors: [usize; 2],
    /// Number of pixels for each sample, across and down.
    pub stretch: [usize; 2],
    /// Number of samples across (`width`) and down (`height`).
    pub width: usize,
    pub height: usize,
    pub table: usize,
}

/// Header of a scan: the components, coefficients and bits that it sends.
#[derive(Clone, Debug)]
pub struct Scan {
    pub parts: Vec<ScanComponent>,
    /// First and last coefficient.
    pub band: [usize; 2],
    /// Lowest bit that an earlier scan sent, 0 if none, and lowest bit of this scan.
    pub bits: [u32; 2],
    /// Offset of its bits in the file.
    pub start: usize,
}

/// A component of a scan, by its index in the frame, and its tables of codes.
#[derive(Clone, Copy, Debug)]
pub struct ScanComponent {
    pub component: usize,
    pub dc: usize,
    pub ac: usize,
}

#[derive(Clone, Debug)]
pub enum Segment {
    Frame(Frame),
    Scan(Scan),
    End,
}

/// Color space of three components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    Rgb,
    /// Luma, and chroma of blue and red.
    Luma,
}

/// Reader of the segments of a file, with the tables that currently apply.
#[derive(Debug)]
pub struct Markers<'a> {
    bytes: &'a [u8],
    position: usize,
    ids: Vec<u8>,
    scans: usize,
    jfif: bool,
    adobe: Option<u8>,
    pub quantizers: [Option<Rc<[u16; 64]>>; 4],
    pub dc: [Option<Code>; 4],
    pub ac: [Option<Code>; 4],
    /// Number of block groups between two restart markers, 0 without restarts.
    pub interval: usize,
}

/// Zigzag order: the index in a block, row by row, of each coefficient as it is sent.
pub const ORDER: [u8; 64] = order();
/// Maximum number of scans. A file with more is designed to take time.
const MOST_SCANS: usize = 500;
/// Maximum number of samples: three for each pixel of the largest picture that Pillow opens by default, and some for
/// borders.
const MOST_SAMPLES: usize = 3 * 180_000_000;

impl Frame {
    /// Returns `true` if the samples are within the limit and a file of `bytes` bytes can contain them: each block has
    /// at least one bit.
    pub fn is_in(&self, bytes: usize) -> bool {
        self.stored <= MOST_SAMPLES / 64 && self.sent / 8 <= bytes
    }
}

impl Component {
    /// Returns the number of blocks in a scan of only this component, across and down.
    pub fn blocks(&self) -> [usize; 2] {
        [self.width.div_ceil(8), self.height.div_ceil(8)]
    }
}

impl<'a> Markers<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        bytes.starts_with(b"\xFF\xD8").then(|| Markers {
            bytes,
            position: 2,
            ids: Vec::new(),
            scans: 0,
            jfif: false,
            adobe: None,
            quantizers: Default::default(),
            dc: Default::default(),
            ac: Default::default(),
            interval: 0,
        })
    }

    /// Returns the bytes of the whole file; offsets in scans are relative to it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Continues at `position`, the end of a scan.
    pub fn skip_to(&mut self, position: usize) {
        self.position = position;
    }

    /// Returns the next frame or scan, and stores the tables before it. A file may end without an end marker.
    pub fn next(&mut self) -> Option<Segment> {
        loop {
            let rest = self.bytes.get(self.position..).unwrap_or_default();
            if rest.is_empty() {
                return Some(Segment::End);
            }
            let before = rest.iter().position(|&byte| byte == 0xFF)?;
            let after = rest.get(before..)?;
            let filling = after.iter().position(|&byte| byte != 0xFF)?;
            let marker = after[filling];
            self.position += before + filling + 1;
            match marker {
                // A stuffed byte, a restart marker or a marker without meaning.
                0 | 1 | 0xD0..=0xD7 => continue,
                0xD9 => return Some(Segment::End),
                _ => {}
            }
            let length = self.bytes.get(self.position..)?.first_chunk::<2>()?;
            let end = self.position + usize::from(u16::from_be_bytes(*length));
            let data = self.bytes.get(self.position + 2..end)?;
            self.position = end;
            match marker {
                0xC0..=0xC2 => return Some(Segment::Frame(self.frame(marker == 0xC2, data)?)),
                0xC4 => self.codes(data)?,
                0xDA => return Some(Segment::Scan(self.scan(data)?)),
                0xDB => self.quantizers(data)?,
                0xDD => self.interval = usize::from(u16::from_be_bytes(*data.first_chunk()?)),
                0xE0 => self.jfif |= data.starts_with(b"JFIF\0"),
                0xEE if data.starts_with(b"Adobe") => self.adobe = data.get(11).copied(),
                0xDC | 0xE1..=0xEF | 0xFE => {}
                _ => return None,
            }
        }
    }

    /// Returns the color space by the JFIF and Adobe markers, otherwise by the names of the components.
    pub fn colors(&self, components: &[Component]) -> Colors {
        let named = components.iter().map(|component| component.id).eq(*b"RGB");
        match (self.jfif, self.adobe) {
            (true, _) => Colors::Luma,
            (false, Some(0)) => Colors::Rgb,
            (false, None) if named => Colors::Rgb,
            _ => Colors::Luma,
        }
    }

    fn frame(&mut self, progressive: bool, data: &[u8]) -> Option<Frame> {
        let ([8, top, below, left, right, count], rest) = data.split_first_chunk()? else {
            return None;
        };
        let height = usize::from(u16::from_be_bytes([*top, *below]));
        let width = usize::from(u16::from_be_bytes([*left, *right]));
        let listed = rest.as_chunks::<3>().0;
        let wanted = matches!(count, 1 | 3) && listed.len() == usize::from(*count);
        if !wanted || width == 0 || height == 0 {
            return None;
        }
        let factors = |entry: &[u8; 3]| [entry[1] >> 4, entry[1] & 15].map(usize::from);
        let allowed =
            |entry: &[u8; 3]| factors(entry).iter().all(|factor| (1..=4).contains(factor)) && entry[2] < 4;
        if !listed.iter().all(allowed) {
            return None;
        }
        let most = |axis: usize| listed.iter().map(|entry| factors(entry)[axis]).max();
        let most = [most(0)?, most(1)?];
        let component = |entry: &[u8; 3]| {
            let factors = factors(entry);
            Component {
                id: entry[0],
                factors,
                stretch: [most[0] / factors[0], most[1] / factors[1]],
                width: (width * factors[0]).div_ceil(most[0]),
                height: (height * factors[1]).div_ceil(most[1]),
                table: usize::from(entry[2]),
            }
        };
        let components: Vec<Component> = listed.iter().map(component).collect();
        let whole =
            |c: &Component| c.stretch[0] * c.factors[0] == most[0] && c.stretch[1] * c.factors[1] == most[1];
        let groups = [width.div_ceil(8 * most[0]), height.div_ceil(8 * most[1])];
        let blocks = |c: &Component| groups[0] * groups[1] * c.factors[0] * c.factors[1];
        let alone = |c: &Component| c.blocks()[0] * c.blocks()[1];
        let stored: usize = components.iter().map(blocks).sum();
        let sent: usize = components.iter().map(alone).sum();
        let twins = |at: usize| listed[..at].iter().any(|entry| entry[0] == listed[at][0]);
        if !components.iter().all(whole) || (0..listed.len()).any(twins) {
            return None;
        }
        self.ids = components.iter().map(|component| component.id).collect();
        Some(Frame { width, height, progressive, components, groups, stored, sent })
    }

    fn scan(&mut self, data: &[u8]) -> Option<Scan> {
        let (&count, rest) = data.split_first()?;
        let (listed, rest) = rest.split_at_checked(2 * usize::from(count))?;
        let [first, last, bits] = *rest.first_chunk::<3>()?;
        let part = |entry: &[u8; 2]| {
            Some(ScanComponent {
                component: self.ids.iter().position(|id| *id == entry[0])?,
                dc: usize::from(entry[1] >> 4),
                ac: usize::from(entry[1] & 15),
            })
        };
        let parts: Vec<ScanComponent> = listed.as_chunks().0.iter().map(part).collect::<Option<_>>()?;
        let rising = parts.is_sorted_by(|a, b| a.component < b.component);
        self.scans += 1;
        if parts.is_empty() || !rising || self.scans > MOST_SCANS {
            return None;
        }
        Some(Scan {
            parts,
            band: [first, last].map(usize::from),
            bits: [bits >> 4, bits & 15].map(u32::from),
            start: self.position,
        })
    }

    fn codes(&mut self, mut data: &[u8]) -> Option<()> {
        while let Some((&class, rest)) = data.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>()?;
            let count = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(count)?;
            let tables = match class >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return None,
            };
            *tables.get_mut(usize::from(class & 15))? = Some(Code::new(counts, symbols)?);
            data = rest;
        }
        Some(())
    }

    fn quantizers(&mut self, mut data: &[u8]) -> Option<()> {
        while let Some((&class, rest)) = data.split_first() {
            let wide = class >> 4 != 0;
            let (values, rest) = rest.split_at_checked(if wide { 128 } else { 64 })?;
            let value = |at: usize| {
                if wide {
                    u16::from_be_bytes([values[2 * at], values[2 * at + 1]])
                } else {
                    u16::from(values[at])
                }
            };
            let mut table = [0; 64];
            for (at, &place) in ORDER.iter().enumerate() {
                table[usize::from(place)] = value(at);
            }
            *self.quantizers.get_mut(usize::from(class & 15))? = Some(Rc::new(table));
            data = rest;
        }
        Some(())
    }
}

/// Returns the zigzag order: the diagonals of a block, alternately up and down.
const fn order() -> [u8; 64] {
    let mut order = [0; 64];
    let (mut at, mut row, mut column) = (0, 0, 0);
    while at < 64 {
        order[at] = row * 8 + column;
        match ((row + column) % 2, row, column) {
            (0, _, 7) => row += 1,
            (0, 0, _) => column += 1,
            (0, _, _) => (row, column) = (row - 1, column + 1),
            (_, 7, _) => column += 1,
            (_, _, 0) => row += 1,
            _ => (row, column) = (row + 1, column - 1),
        }
        at += 1;
    }
    order
}
