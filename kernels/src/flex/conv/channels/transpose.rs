//! Squares of numbers, read and written with their axes exchanged.

use crate::flex::{
    memory::{Unwritten, Written, write_by_index},
    simd::{Floats, Isa, MaskedLoad, WIDEST},
};

/// Lanes of channels for each pixel.
#[repr(align(64))]
#[derive(Default)]
pub struct Square(pub [[f32; WIDEST]; WIDEST]);

impl Square {
    /// Reads pixels of channels, which are `step` elements apart.
    #[inline(always)]
    pub fn read<I: Isa>(&mut self, isa: I, values: &[f32], step: usize, [channels, pixels]: [usize; 2]) {
        if !I::HAS_TRANSPOSE {
            for channel in 0..channels {
                let values = &values[channel * step..][..pixels];
                for (lanes, value) in self.0.iter_mut().zip(values) {
                    lanes[channel] = *value;
                }
            }
            return;
        }
        let zero = isa.splat(0.0);
        let mut rows = [zero; WIDEST];
        let load = MaskedLoad::new(I::LANES, 0, pixels);
        for (channel, row) in rows[..channels].iter_mut().enumerate() {
            *row = load.load(isa, &values[channel * step..], zero);
        }
        for (lanes, row) in self.0.iter_mut().zip(isa.transposed(rows)) {
            row.store(lanes);
        }
    }

    /// Writes pixels of channels: a row for each channel.
    #[inline(always)]
    pub fn write<'a, I: Isa>(&self, isa: I, out: Unwritten<'a>) -> Written<'a> {
        if !I::HAS_TRANSPOSE {
            return out.write_rows(
                #[inline(always)]
                |channel, out| write_by_index(out, |pixel| self.0[pixel][channel]),
            );
        }
        let mut rows = [isa.splat(0.0); WIDEST];
        for (row, lanes) in rows.iter_mut().zip(&self.0) {
            *row = isa.load(lanes);
        }
        let rows = isa.transposed(rows);
        out.write_rows(
            #[inline(always)]
            |channel, out| rows[channel].write(out),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::memory::overwrite;
    use crate::flex::simd::{InstructionSet, with_isa};

    #[test]
    fn axes_are_exchanged() {
        let values: Vec<f32> = (0..800).map(|value| value as f32).collect();
        for set in InstructionSet::all() {
            for (channels, pixels) in [(1, 1), (3, 4), (8, 7), (16, 16), (13, 2), (2, 13)] {
                let size = [channels.min(set.lanes()), pixels.min(set.lanes())];
                let mut square = Square::default();
                let read = &values[..(size[0] - 1) * 50 + size[1]];
                let mut out = vec![0.0; size[0] * size[1]];
                with_isa!(set, isa => {
                    square.read(isa, read, 50, size);
                    overwrite(&mut out, |out| square.write(isa, out.reshaped(size[0], size[1])));
                });
                for channel in 0..size[0] {
                    for pixel in 0..size[1] {
                        let value = (channel * 50 + pixel) as f32;
                        assert_eq!(square.0[pixel][channel], value, "{set:?} {size:?}");
                        assert_eq!(out[channel * size[1] + pixel], value, "{set:?} {size:?}");
                    }
                }
            }
        }
    }
}
