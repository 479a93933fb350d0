//! Scales and zero points in half precision.

use alloc::{sync::Arc, vec::Vec};

use half::f16;

use crate::spec::bits::{BitMatrix, Line, PANEL, Panels, ZeroPoints};

/// Largest relative difference of an offset in half precision from the product of scale and zero point: what rounding that
/// product to single precision changes.
const MAX_DIFFERENCE: f64 = 1.0 / (1 << 23) as f64;

impl BitMatrix {
    /// Stores scales and zero points as two numbers in half precision, a quarter less memory for 4 bits and blocks of 32, if
    /// products with the matrix change by rounding errors of single precision at most.
    ///
    /// That is so for weights of formats whose numbers are `code * scale - offset` with both in half precision.
    pub fn in_halves(self) -> Self {
        let panels = &*self.panels;
        let ZeroPoints::Floats(zeros) = &panels.zeros else {
            return self;
        };
        let words = panels.scales.iter().zip(zeros).map(|(scales, zeros)| {
            let mut line = Line([0; PANEL]);
            for ((word, scale), zero) in line.0.iter_mut().zip(scales.0).zip(zeros.0) {
                *word = word_of(scale, zero)?;
            }
            Some(line)
        });
        let Some(words) = words.collect::<Option<Vec<_>>>() else {
            return self;
        };
        let Self { panels, in_bytes } = self;
        let Panels { blocks, count, order, codes, .. } = Arc::unwrap_or_clone(panels);
        let zeros = ZeroPoints::Halves(words);
        let panels = Panels { blocks, count, order, codes, scales: Vec::new(), zeros };
        Self { panels: Arc::new(panels), in_bytes }
    }
}

/// Returns scale and offset in one word, if half precision has them.
fn word_of(scale: f32, zero: f32) -> Option<u32> {
    let offset = f64::from(scale) * f64::from(zero);
    let halves = (f16::from_f32(scale), f16::from_f64(offset));
    let is_close = (halves.1.to_f64() - offset).abs() <= MAX_DIFFERENCE * offset.abs();
    let is_possible = halves.0.to_f32() == scale && halves.0.is_finite() && halves.1.is_finite() && is_close;
    is_possible.then(|| u32::from(halves.0.to_bits()) | u32::from(halves.1.to_bits()) << 16)
}

/// Returns scale and zero point of a word.
pub fn scale_and_zero(word: u32) -> (f32, f32) {
    let [scale, offset] = [word, word >> 16].map(|half| f16::from_bits(half as u16).to_f32());
    (scale, if scale == 0.0 { 0.0 } else { offset / scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_half_precision_take_half_a_word() {
        let half = |x: f32| f16::from_f32(x).to_f32();
        for (scale, offset) in
            [(0.01, 0.07), (-3.0, 21.5), (6e-8, 1e-7), (1.0, 0.0), (0.0, 0.0), (0.3, -60000.0)]
        {
            let (scale, offset) = (half(scale), half(offset));
            let zero = if scale == 0.0 { 0.0 } else { offset / scale };
            let word = word_of(scale, zero).expect("both are halves");
            assert_eq!(scale_and_zero(word), (scale, zero));
        }
    }

    #[test]
    fn other_numbers_stay_as_they_are() {
        for (scale, zero) in [
            (0.1, 7.0),
            (0.5, 7.001),
            (0.5, 200_000.0),
            (70_000.0, 1.0),
            (f32::INFINITY, 1.0),
            (f32::NAN, 1.0),
            (1.0, f32::NAN),
            // With a scale of 0, only the zero point says that weights are not numbers.
            (0.0, f32::INFINITY),
            (f32::MIN_POSITIVE, 1.0),
        ] {
            assert_eq!(word_of(scale, zero), None, "{scale} {zero}");
        }
    }
}
