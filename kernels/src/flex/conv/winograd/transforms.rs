//! The transforms of Winograd's minimal filtering along one axis.
//!
//! They interpolate the product of two polynomials at 0, 1, -1 and infinity, and at 2 and -2 for four outputs.

use crate::flex::simd::{Floats, Isa};

/// The transforms for `M` outputs of a filter of three taps, which are computed from `P = M + 2` inputs with `P` products.
pub trait Transforms<const M: usize, const P: usize> {
    /// The inputs as the products take them.
    fn input<I: Isa>(isa: I, x: [I::Floats; P]) -> [I::Floats; P];

    /// The outputs, from sums of the products.
    fn output<I: Isa>(isa: I, sums: [I::Floats; P]) -> [I::Floats; M];

    /// Every `M`-th element of the registers that begin at some offsets.
    fn apart<I: Isa>(isa: I, from: &[f32], loads: [usize; M]) -> I::Floats;

    /// The first lanes of all registers, then the second ones, and so on.
    fn side_by_side<I: Isa>(registers: [I::Floats; M]) -> [I::Floats; M];

    /// `N` filters as the products take them.
    fn filter<const N: usize>(taps: [[f64; N]; 3]) -> [[f64; N]; P];
}

/// Weights of interpolation are multiples of it.
const SIXTH: f64 = 1.0 / 6.0;

/// Two outputs of four products, instead of six.
pub struct Two;

/// Four outputs of six products, instead of twelve.
pub struct Four;

impl Transforms<2, 4> for Two {
    #[inline(always)]
    fn input<I: Isa>(_: I, [a, b, c, d]: [I::Floats; 4]) -> [I::Floats; 4] {
        [a - c, b + c, c - b, b - d]
    }

    #[inline(always)]
    fn output<I: Isa>(_: I, [a, b, c, d]: [I::Floats; 4]) -> [I::Floats; 2] {
        [a + b + c, b - c - d]
    }

    #[inline(always)]
    fn apart<I: Isa>(isa: I, from: &[f32], [a, b]: [usize; 2]) -> I::Floats {
        isa.load(&from[a..]).even_lanes(isa.load(&from[b..]))
    }

    #[inline(always)]
    fn side_by_side<I: Isa>([a, b]: [I::Floats; 2]) -> [I::Floats; 2] {
        a.interleaved(b)
    }

    #[inline(always)]
    fn filter<const N: usize>([a, b, c]: [[f64; N]; 3]) -> [[f64; N]; 4] {
        let mut filters = [[0.0; N]; 4];
        for at in 0..N {
            let (even, odd) = (0.5 * (a[at] + c[at]), 0.5 * b[at]);
            filters[0][at] = a[at];
            filters[1][at] = even + odd;
            filters[2][at] = even - odd;
            filters[3][at] = c[at];
        }
        filters
    }
}

impl Transforms<4, 6> for Four {
    #[inline(always)]
    fn input<I: Isa>(isa: I, [a, b, c, d, e, f]: [I::Floats; 6]) -> [I::Floats; 6] {
        let [two, four, five] = [2.0, -4.0, -5.0].map(
            #[inline(always)]
            |factor| isa.splat(factor),
        );
        let (even, odd) = (c.mul_add(four, e), b.mul_add(four, d));
        let (wide_even, wide_odd) = (e - c, (d - b) * two);
        [
            a.mul_add(isa.splat(4.0), c.mul_add(five, e)),
            even + odd,
            even - odd,
            wide_even + wide_odd,
            wide_even - wide_odd,
            b.mul_add(isa.splat(4.0), d.mul_add(five, f)),
        ]
    }

    #[inline(always)]
    fn output<I: Isa>(isa: I, [a, b, c, d, e, f]: [I::Floats; 6]) -> [I::Floats; 4] {
        let (even, odd) = (b + c, b - c);
        let (wide_even, wide_odd) = (d + e, d - e);
        [
            a + even + wide_even,
            wide_odd.mul_add(isa.splat(2.0), odd),
            wide_even.mul_add(isa.splat(4.0), even),
            wide_odd.mul_add(isa.splat(8.0), odd) + f,
        ]
    }

    #[inline(always)]
    fn apart<I: Isa>(isa: I, from: &[f32], [a, b, c, d]: [usize; 4]) -> I::Floats {
        Two::apart(isa, from, [a, b]).even_lanes(Two::apart(isa, from, [c, d]))
    }

    #[inline(always)]
    fn side_by_side<I: Isa>([a, b, c, d]: [I::Floats; 4]) -> [I::Floats; 4] {
        let ([even_low, even_high], [odd_low, odd_high]) = (a.interleaved(c), b.interleaved(d));
        let ([first, second], [third, fourth]) =
            (even_low.interleaved(odd_low), even_high.interleaved(odd_high));
        [first, second, third, fourth]
    }

    #[inline(always)]
    fn filter<const N: usize>([a, b, c]: [[f64; N]; 3]) -> [[f64; N]; 6] {
        let mut filters = [[0.0; N]; 6];
        for at in 0..N {
            let [a, b, c] = [a[at], b[at], c[at]];
            let (even, odd) = (SIXTH * (a + c), SIXTH * b);
            let (wide_even, wide_odd) = (SIXTH * (0.25 * a + c), 0.5 * odd);
            filters[0][at] = 0.25 * a;
            filters[1][at] = -even - odd;
            filters[2][at] = odd - even;
            filters[3][at] = wide_even + wide_odd;
            filters[4][at] = wide_even - wide_odd;
            filters[5][at] = c;
        }
        filters
    }
}
