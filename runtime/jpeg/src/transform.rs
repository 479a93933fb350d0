//! Inverse cosine transform of a block.

use std::num::Wrapping;

/// A fixed-point number. Sums of valid coefficients do not overflow; for invalid ones any result is acceptable.
type Fixed = Wrapping<i32>;

/// Number of fractional bits of the factors.
const DIGITS: usize = 13;
/// Number of fractional bits that the column pass keeps for the row pass.
const KEPT: usize = 2;

/// Returns a factor, rounded to `DIGITS` fractional bits.
const fn factor(value: f64) -> Fixed {
    Wrapping((value * (1 << DIGITS) as f64 + 0.5) as i32)
}

// Factors of the factorization by Loeffler, Ligtenberg and Moschytz, with cN = sqrt(2) cos(N pi / 16).
const C6: Fixed = factor(0.541_196_100);
const C2_LESS_C6: Fixed = factor(0.765_366_865);
const C2_AND_C6: Fixed = factor(1.847_759_065);
const C3: Fixed = factor(1.175_875_602);
const C3_LESS_C5: Fixed = factor(0.390_180_644);
const C3_AND_C5: Fixed = factor(1.961_570_560);
const C3_LESS_C7: Fixed = factor(0.899_976_223);
const C1_AND_C3: Fixed = factor(2.562_915_447);
const ODD_7: Fixed = factor(0.298_631_336);
const ODD_5: Fixed = factor(2.053_119_869);
const ODD_3: Fixed = factor(3.072_711_026);
const ODD_1: Fixed = factor(1.501_321_110);

/// Returns the samples of a block of quantized coefficients.
pub fn samples(block: &[i16; 64], quantizer: &[u16; 64]) -> [[u8; 8]; 8] {
    let mut columns = [[Wrapping(0); 8]; 8];
    for (at, value) in columns.as_flattened_mut().iter_mut().enumerate() {
        *value = Wrapping(i32::from(block[at]) * i32::from(quantizer[at]));
    }
    for at in 0..8 {
        let column = inverse(columns.map(|row| row[at]), DIGITS - KEPT);
        for (row, value) in columns.iter_mut().zip(column) {
            row[at] = value;
        }
    }
    // Each of the two passes scales by sqrt(8).
    columns.map(|row| {
        inverse(row, DIGITS + KEPT + 3).map(|Wrapping(value)| (value.clamp(-128, 127) + 128) as u8)
    })
}

/// Returns the transform of eight coefficients, rounded and without the last `less` bits.
#[inline]
fn inverse([f0, f1, f2, f3, f4, f5, f6, f7]: [Fixed; 8], less: usize) -> [Fixed; 8] {
    let rotated = (f2 + f6) * C6;
    let (even_2, even_6) = (rotated + f2 * C2_LESS_C6, rotated - f6 * C2_AND_C6);
    let (sum, difference) = ((f0 + f4) << DIGITS, (f0 - f4) << DIGITS);
    let even = [sum + even_2, difference + even_6, difference - even_6, sum - even_2];

    let rotated = (f7 + f3 + f5 + f1) * C3;
    let (left, right) = (rotated - (f7 + f3) * C3_AND_C5, rotated - (f5 + f1) * C3_LESS_C5);
    let (outer, inner) = ((f7 + f1) * C3_LESS_C7, (f5 + f3) * C1_AND_C3);
    let odd = [
        f1 * ODD_1 - outer + right,
        f3 * ODD_3 - inner + left,
        f5 * ODD_5 - inner + right,
        f7 * ODD_7 - outer + left,
    ];

    let half = Wrapping(1) << (less - 1);
    let mut values = [Wrapping(0); 8];
    for at in 0..4 {
        values[at] = (even[at] + odd[at] + half) >> less;
        values[7 - at] = (even[at] - odd[at] + half) >> less;
    }
    values
}
