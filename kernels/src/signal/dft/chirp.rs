//! The turns that Bluestein's transform makes.

use std::f32::consts::PI;

/// Turns by half of each square, in single precision.
///
/// As `2jk = j² + k² - (k - j)²`, a transform of any length is three products with these. ONNX Runtime
/// computes lengths that are no powers of two so, with angles that are rounded before they are reduced:
/// its spectra of 400 numbers are 3e-5 from the exact ones. Features of sound made of the same
/// turns are 1e-7 from its features.
pub struct Chirp(Vec<[f64; 2]>);

impl Chirp {
    pub fn new(length: usize) -> Self {
        let half = |at: usize| {
            let angle = -PI * at as f32 * at as f32 / length as f32;
            [angle.cos(), angle.sin()].map(f64::from)
        };
        Self((0..length).map(half).collect())
    }

    /// What the number `at` of the input adds to the number `output` of the spectrum.
    pub fn rotation(&self, at: usize, output: usize) -> [f64; 2] {
        let [real, imaginary] = self.0[at.abs_diff(output)];
        product(product(self.0[at], self.0[output]), [real, -imaginary])
    }
}

fn product([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
    [a * c - b * d, a * d + b * c]
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    #[test]
    fn turns_are_those_of_the_transform_but_for_rounding() {
        for length in [3, 25, 400] {
            let chirp = Chirp::new(length);
            for (at, output) in [(0, 2), (1, 1), (2, 1), (length - 1, length - 2)] {
                let angle = -TAU * (at * output) as f64 / length as f64;
                let [real, imaginary] = chirp.rotation(at, output);
                let error = (real - angle.cos()).hypot(imaginary - angle.sin());
                assert!(
                    error < 3e-7 * length as f64,
                    "{length} {at} {output} {error}"
                );
            }
        }
    }
}
