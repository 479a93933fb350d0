//! Steps of functions that are computed in double precision.

/// Evaluates a polynomial with coefficients from the highest power on. Products and sums are rounded each, as everywhere.
#[inline(always)]
pub fn polynomial<const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    let mut sum = coefficients[0];
    for next in &coefficients[1..] {
        sum = sum * x + next;
    }
    sum
}
