//! Decoding of scans to coefficients.

use std::rc::Rc;

use super::huffman::{Bits, Code};
use super::markers::{Component, Frame, Markers, ORDER, Scan};
use super::transform::samples;
use super::upsample::Plane;

/// Decoder that collects the coefficients of a picture, scan by scan.
#[derive(Debug)]
pub struct Decoder {
    frame: Frame,
    components: Vec<Coefficients>,
}

type Block = [i16; 64];

/// Blocks of a component, including those beyond the border of the picture.
#[derive(Debug)]
struct Coefficients {
    blocks: Vec<Block>,
    across: usize,
    /// Quantizer at the start of the component's first scan.
    quantizer: Option<Rc<[u16; 64]>>,
}

/// Kind of a scan, which determines the coefficients and bits that it sends for each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Sequential,
    DcFirst,
    DcMore,
    AcFirst,
    AcMore,
}

/// State of a component in a scan.
struct Side<'a> {
    pass: Pass,
    dc: Option<&'a Code>,
    ac: Option<&'a Code>,
    band: [usize; 2],
    low: u32,
    /// Previous DC coefficient.
    last: i32,
    /// Number of next blocks without further coefficients in the band (end-of-band run).
    run: u32,
}

impl Decoder {
    pub fn new(frame: Frame) -> Self {
        let blocks = |component: &Component| {
            let across = frame.groups[0] * component.factors[0];
            let down = frame.groups[1] * component.factors[1];
            Coefficients { blocks: vec![[0; 64]; across * down], across, quantizer: None }
        };
        let components = frame.components.iter().map(blocks).collect();
        Decoder { frame, components }
    }

    /// Decodes a scan and returns the offset of the marker that follows it.
    pub fn scan(&mut self, scan: &Scan, markers: &Markers<'_>) -> Option<usize> {
        let pass = self.pass(scan)?;
        let mut sides = Vec::with_capacity(scan.parts.len());
        for part in &scan.parts {
            let listed = self.frame.components.get(part.component)?;
            let coefficients = self.components.get_mut(part.component)?;
            match (&coefficients.quantizer, pass) {
                (None, Pass::Sequential | Pass::DcFirst) => {
                    coefficients.quantizer = Some(markers.quantizers.get(listed.table)?.clone()?);
                }
                (Some(_), Pass::DcMore | Pass::AcFirst | Pass::AcMore) => {}
                _ => return None,
            }
            sides.push(Side {
                pass,
                dc: markers.dc.get(part.dc)?.as_ref(),
                ac: markers.ac.get(part.ac)?.as_ref(),
                band: scan.band,
                low: scan.bits[1],
                last: 0,
                run: 0,
            });
        }
        let groups = match scan.parts.as_slice() {
            [part] => self.frame.components.get(part.component)?.blocks(),
            _ => self.frame.groups,
        };
        let mut bits = Bits::new(markers.bytes(), scan.start);
        let mut restarts = 0;
        for group in 0..groups[0] * groups[1] {
            if markers.interval > 0 && group > 0 && group % markers.interval == 0 {
                let marker = bits.marker();
                if markers.bytes().get(marker + 1) != Some(&(0xD0 + restarts % 8)) {
                    return None;
                }
                restarts = (restarts + 1) % 8;
                bits = Bits::new(markers.bytes(), marker + 2);
                sides.iter_mut().for_each(|side| (side.last, side.run) = (0, 0));
            }
            let place = [group % groups[0], group / groups[0]];
            for (side, part) in sides.iter_mut().zip(&scan.parts) {
                let factors = match scan.parts.len() {
                    1 => [1, 1],
                    _ => self.frame.components.get(part.component)?.factors,
                };
                let coefficients = self.components.get_mut(part.component)?;
                for inner in 0..factors[0] * factors[1] {
                    let column = place[0] * factors[0] + inner % factors[0];
                    let row = place[1] * factors[1] + inner / factors[0];
                    let block = coefficients.blocks.get_mut(row * coefficients.across + column)?;
                    side.block(&mut bits, block)?;
                }
            }
        }
        Some(bits.marker())
    }

    /// Returns the samples of each component, if the file contains all of them.
    pub fn finish(self) -> Option<(Frame, Vec<Plane>)> {
        let mut planes = Vec::with_capacity(self.components.len());
        for (coefficients, component) in self.components.into_iter().zip(&self.frame.components) {
            let quantizer = coefficients.quantizer?;
            let stride = coefficients.across * 8;
            let mut values = vec![0; coefficients.blocks.len() * 64];
            let rows = values.chunks_exact_mut(stride * 8);
            for (rows, blocks) in rows.zip(coefficients.blocks.chunks_exact(coefficients.across)) {
                for (at, block) in blocks.iter().enumerate() {
                    let square = samples(block, &quantizer);
                    for (row, line) in rows.chunks_exact_mut(stride).zip(&square) {
                        row[at * 8..][..8].copy_from_slice(line);
                    }
                }
            }
            planes.push(Plane {
                values,
                stride,
                width: component.width,
                height: component.height,
                stretch: component.stretch,
            });
        }
        Some((self.frame, planes))
    }

    fn pass(&self, scan: &Scan) -> Option<Pass> {
        let inside: usize = scan
            .parts
            .iter()
            .filter_map(|part| self.frame.components.get(part.component))
            .map(|component| component.factors[0] * component.factors[1])
            .sum();
        if scan.parts.len() > 1 && inside > 10 {
            return None;
        }
        if !self.frame.progressive {
            return Some(Pass::Sequential);
        }
        let ([first, last], [before, low]) = (scan.band, scan.bits);
        if low > 13 || (before != 0 && before != low + 1) {
            return None;
        }
        match (first, before) {
            (0, _) if last != 0 => None,
            (0, 0) => Some(Pass::DcFirst),
            (0, _) => Some(Pass::DcMore),
            _ if last < first || last > 63 || scan.parts.len() > 1 => None,
            (_, 0) => Some(Pass::AcFirst),
            (_, _) => Some(Pass::AcMore),
        }
    }
}

impl Side<'_> {
    fn block(&mut self, bits: &mut Bits<'_>, block: &mut Block) -> Option<()> {
        match self.pass {
            Pass::Sequential => {
                block[0] = self.next_dc(bits)? as i16;
                self.all(bits, block)
            }
            Pass::DcFirst => {
                block[0] = (self.next_dc(bits)? << self.low) as i16;
                Some(())
            }
            Pass::DcMore => {
                block[0] |= (bits.number(1)? << self.low) as i16;
                Some(())
            }
            Pass::AcFirst => self.first(bits, block),
            Pass::AcMore => self.more(bits, block),
        }
    }

    fn next_dc(&mut self, bits: &mut Bits<'_>) -> Option<i32> {
        let size = bits.symbol(self.dc?)?;
        if size > 15 {
            return None;
        }
        self.last = self.last.wrapping_add(bits.value(u32::from(size))?);
        Some(self.last)
    }

    /// Reads the AC coefficients of a sequential block.
    fn all(&self, bits: &mut Bits<'_>, block: &mut Block) -> Option<()> {
        let code = self.ac?;
        let mut at = 1;
        while at < 64 {
            let symbol = bits.symbol(code)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            match (zeros, size) {
                (15, 0) => at += 16,
                (_, 0) => break,
                _ => {
                    at += zeros;
                    let place = *ORDER.get(at)?;
                    block[usize::from(place)] = bits.value(size)? as i16;
                    at += 1;
                }
            }
        }
        Some(())
    }

    /// Reads the high bits of a band.
    fn first(&mut self, bits: &mut Bits<'_>, block: &mut Block) -> Option<()> {
        if self.run > 0 {
            self.run -= 1;
            return Some(());
        }
        let code = self.ac?;
        let [mut at, last] = self.band;
        while at <= last {
            let symbol = bits.symbol(code)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            match (zeros, size) {
                (15, 0) => at += 16,
                (_, 0) => {
                    self.run = (1 << zeros) - 1 + bits.number(zeros as u32)? as u32;
                    break;
                }
                _ => {
                    at += zeros;
                    let place = *ORDER.get(at)?;
                    block[usize::from(place)] = (bits.value(size)? << self.low) as i16;
                    at += 1;
                }
            }
        }
        Some(())
    }

    /// Reads one more bit of a band: of the nonzero coefficients, and of those that become nonzero.
    fn more(&mut self, bits: &mut Bits<'_>, block: &mut Block) -> Option<()> {
        let [mut at, last] = self.band;
        if self.run == 0 {
            let code = self.ac?;
            while at <= last {
                let symbol = bits.symbol(code)?;
                let (zeros, size) = (usize::from(symbol >> 4), symbol & 15);
                let value = match size {
                    0 => 0,
                    1 => (2 * bits.number(1)? - 1) << self.low,
                    _ => return None,
                };
                if size == 0 && zeros < 15 {
                    self.run = (1 << zeros) + bits.number(zeros as u32)? as u32;
                    break;
                }
                at = self.correct(bits, block, at, zeros)?;
                if value != 0 {
                    if at > last {
                        return None;
                    }
                    block[usize::from(ORDER[at])] = value as i16;
                }
                at += 1;
            }
        }
        if self.run > 0 {
            self.run -= 1;
            self.correct(bits, block, at, 64)?;
        }
        Some(())
    }

    /// Reads a bit for each nonzero coefficient up to the zero that follows `zeros` others, and returns the index of
    /// that zero.
    fn correct(
        &self,
        bits: &mut Bits<'_>,
        block: &mut Block,
        mut at: usize,
        mut zeros: usize,
    ) -> Option<usize> {
        let bit = 1_i16 << self.low;
        while at <= self.band[1] {
            let value = &mut block[usize::from(*ORDER.get(at)?)];
            if *value == 0 {
                if zeros == 0 {
                    break;
                }
                zeros -= 1;
            } else if bits.number(1)? == 1 && *value & bit == 0 {
                *value = value.wrapping_add(if *value > 0 { bit } else { -bit });
            }
            at += 1;
        }
        Some(at)
    }
}
