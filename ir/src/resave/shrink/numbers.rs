//! Elements with fewer bits, and their errors.

use half::f16;

/// Reason why a weight keeps its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unfit(pub &'static str);

/// Difference between a weight and the values of its copy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Error {
    /// Largest difference, as a part of the largest element.
    pub largest: f64,
    /// Root of the mean of squared differences, as a part of that of the elements.
    pub mean: f64,
}

/// A matrix for MatMulNBits.
#[derive(Debug)]
pub(super) struct Packed {
    /// For each output the blocks of its inputs, two codes in a byte.
    pub codes: Vec<u8>,
    pub scales: Vec<f32>,
    pub inputs: usize,
    pub outputs: usize,
    pub blocks: usize,
    pub error: Error,
}

/// Number of elements with a scale.
pub(super) const BLOCK: usize = 32;
/// Number of outputs whose elements of a block are read together, as the rows of a matrix are in memory.
const TILE: usize = 64;
/// The code of zero.
const ZERO: f32 = 8.0;

/// Sums of an error.
#[derive(Default)]
struct Sums {
    largest: f64,
    most: f64,
    differences: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, value: f32, copy: f32) {
        let (value, difference) = (f64::from(value), f64::from(value) - f64::from(copy));
        self.largest = self.largest.max(difference.abs());
        self.most = self.most.max(value.abs());
        self.differences += difference * difference;
        self.squares += value * value;
    }

    fn error(&self) -> Error {
        let part = |of: f64, whole: f64| if of == 0.0 { 0.0 } else { of / whole };
        Error { largest: part(self.largest, self.most), mean: part(self.differences, self.squares).sqrt() }
    }
}

/// Returns the elements as 16-bit floats.
pub(super) fn half(values: &[f32]) -> Result<(Vec<u8>, Error), Unfit> {
    let mut sums = Sums::default();
    let mut bytes = Vec::with_capacity(values.len().saturating_mul(2));
    for &value in values {
        let copy = f16::from_f32(value);
        if copy.is_infinite() {
            return Err(Unfit("it has elements beyond the range of float16"));
        }
        sums.add(value, copy.to_f32());
        bytes.extend_from_slice(&copy.to_le_bytes());
    }
    Ok((bytes, sums.error()))
}

/// Returns the elements as 8-bit integers and their scales along an axis.
pub(super) fn int8(
    values: &[f32],
    sizes: &[usize],
    axis: usize,
) -> Result<(Vec<u8>, Vec<f32>, Error), Unfit> {
    let channels = sizes.get(axis).copied().unwrap_or_default();
    let inner: usize = sizes.iter().skip(axis.saturating_add(1)).product();
    let mut scales = vec![0f32; channels];
    let row = inner.saturating_mul(channels);
    if row == 0 || !values.len().is_multiple_of(row) {
        return Err(Unfit("it has no elements"));
    }
    for row in values.chunks_exact(row) {
        for (scale, channel) in scales.iter_mut().zip(row.chunks_exact(inner)) {
            *scale = channel.iter().fold(*scale, |most, value| most.max(value.abs()));
        }
    }
    for scale in &mut scales {
        *scale /= 127.0;
        // Also of channels whose largest element has no inverse.
        if *scale < f32::MIN_POSITIVE {
            *scale = f32::MIN_POSITIVE;
        }
    }
    let mut sums = Sums::default();
    let mut codes = Vec::with_capacity(values.len());
    for row in values.chunks_exact(row) {
        for (scale, channel) in scales.iter().zip(row.chunks_exact(inner)) {
            for value in channel {
                let code = (value / scale).round_ties_even().clamp(-127.0, 127.0) as i8;
                sums.add(*value, f32::from(code) * scale);
                codes.push(code.cast_unsigned());
            }
        }
    }
    Ok((codes, scales, sums.error()))
}

/// Returns a matrix in 4 bits. Its first axis is that of the outputs if it is transposed, else that of the inputs.
pub(super) fn int4(values: &[f32], sizes: &[usize], is_transposed: bool) -> Result<Packed, Unfit> {
    let [first, second] = *sizes else {
        return Err(Unfit("it is not a matrix"));
    };
    let (inputs, outputs) = if is_transposed { (second, first) } else { (first, second) };
    if inputs < BLOCK {
        return Err(Unfit("it has fewer than 32 inputs"));
    }
    let blocks = inputs.div_ceil(BLOCK);
    let all = outputs.saturating_mul(blocks);
    let mut codes = vec![0u8; all.saturating_mul(BLOCK / 2)];
    let mut scales = vec![0f32; all];
    let mut sums = Sums::default();
    for first in (0..outputs).step_by(TILE) {
        for at in 0..blocks {
            for output in first..outputs.min(first + TILE) {
                let mut block = [0f32; BLOCK];
                let elements = block.iter_mut().zip(at * BLOCK..inputs);
                for (element, input) in elements {
                    let at = if is_transposed { output * inputs + input } else { input * outputs + output };
                    *element = values.get(at).copied().unwrap_or_default();
                }
                let scale = block_scale(&block);
                let place = output * blocks + at;
                if let Some(out) = scales.get_mut(place) {
                    *out = scale;
                }
                let out = codes.chunks_exact_mut(BLOCK / 2).nth(place).unwrap_or_default();
                for (byte, pair) in out.iter_mut().zip(block.chunks_exact(2)) {
                    for (half, &value) in pair.iter().enumerate() {
                        let code = (value / scale + ZERO).round_ties_even().clamp(0.0, 15.0) as u8;
                        *byte |= code << (4 * half);
                        // The zeros after the last input have no error.
                        sums.add(value, (f32::from(code) - ZERO) * scale);
                    }
                }
            }
        }
    }
    Ok(Packed { codes, scales, inputs, outputs, blocks, error: sums.error() })
}

/// Returns the scale that gives the largest element the code 0, the one that is furthest from that of zero.
fn block_scale(block: &[f32]) -> f32 {
    let most = block.iter().fold(0f32, |most, value| if value.abs() > most.abs() { *value } else { most });
    let scale = most / -ZERO;
    if scale.abs() < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_a_small_error_or_none() {
        let (bytes, error) = half(&[1.0, -0.5, 65504.0]).unwrap();
        assert_eq!(bytes, [0, 0x3c, 0, 0xb8, 0xff, 0x7b]);
        assert_eq!(error, Error::default());
        let (_, error) = half(&[0.1]).unwrap();
        assert!(error.mean > 1e-5 && error.mean < 1e-3 && error.largest == error.mean);
        assert!(half(&[65520.0]).is_err());
    }

    #[test]
    fn each_channel_has_a_scale() {
        let (codes, scales, error) = int8(&[127.0, 1.0, -64.0, -0.5], &[2, 2], 1).unwrap();
        assert_eq!(scales, [1.0, 1.0 / 127.0]);
        assert_eq!(codes, [127, 127, 192, 192]);
        assert!(error.largest < 0.01);
        let (_, scales, _) = int8(&[127.0, 1.0, -64.0, -0.5], &[2, 2], 0).unwrap();
        assert_eq!(scales, [1.0, 64.0 / 127.0]);
        let (codes, _, error) = int8(&[0.0, 1e-44], &[1, 2], 0).unwrap();
        assert!(codes.iter().all(|&code| code == 0 || code == 1) && error.largest <= 1.0);
        assert!(int8(&[], &[0, 2], 0).is_err());
    }

    #[test]
    fn a_block_uses_all_codes_of_its_largest_element() {
        let mut values = [0f32; 40];
        (values[0], values[1], values[33]) = (-8.0, 7.0, 2.0);
        let packed = int4(&values, &[1, 40], true).unwrap();
        assert_eq!((packed.inputs, packed.outputs, packed.blocks), (40, 1, 2));
        assert_eq!(packed.scales, [1.0, -0.25]);
        assert_eq!(packed.codes.len(), 32);
        // -8 has the code 0, 7 the code 15.
        assert_eq!((packed.codes[0], packed.codes[1], packed.codes[16]), (0xf0, 0x88, 0x08));
        assert_eq!(packed.error, Error::default());
        let columns = int4(&values, &[40, 1], false).unwrap();
        assert_eq!((columns.codes, columns.scales), (packed.codes, packed.scales));
        assert!(int4(&values[..8], &[8, 1], false).is_err());
        assert!(int4(&values, &[2, 4, 5], false).is_err());
    }
}
