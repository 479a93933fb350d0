//! Complex numbers, one for each row.

use std::array::from_fn;

use rustfft::num_complex::Complex;

use super::LANES;

/// A number of each row.
#[derive(Clone, Copy, Default)]
pub struct Numbers {
    re: [f64; LANES],
    im: [f64; LANES],
}

impl Numbers {
    pub fn set(&mut self, lane: usize, number: Complex<f64>) {
        (self.re[lane], self.im[lane]) = (number.re, number.im);
    }

    pub fn of(&self, lane: usize) -> Complex<f64> {
        Complex::new(self.re[lane], self.im[lane])
    }

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self {
            re: from_fn(
                #[inline(always)]
                |lane| self.re[lane] + other.re[lane],
            ),
            im: from_fn(
                #[inline(always)]
                |lane| self.im[lane] + other.im[lane],
            ),
        }
    }

    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Self {
            re: from_fn(
                #[inline(always)]
                |lane| self.re[lane] - other.re[lane],
            ),
            im: from_fn(
                #[inline(always)]
                |lane| self.im[lane] - other.im[lane],
            ),
        }
    }

    #[inline(always)]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            re: from_fn(
                #[inline(always)]
                |lane| self.re[lane] * factor,
            ),
            im: from_fn(
                #[inline(always)]
                |lane| self.im[lane] * factor,
            ),
        }
    }

    #[inline(always)]
    pub fn times(self, factor: Complex<f64>) -> Self {
        Self {
            re: from_fn(
                #[inline(always)]
                |lane| self.re[lane] * factor.re - self.im[lane] * factor.im,
            ),
            im: from_fn(
                #[inline(always)]
                |lane| self.re[lane] * factor.im + self.im[lane] * factor.re,
            ),
        }
    }

    /// A quarter of a turn, backward unless the transform is an inverse.
    #[inline(always)]
    pub fn turned(self, is_inverse: bool) -> Self {
        let conjugate = self.conjugate();
        if is_inverse {
            Self { re: conjugate.im, im: conjugate.re }
        } else {
            Self { re: self.im, im: self.re }.conjugate()
        }
    }

    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self {
            re: from_fn(
                #[inline(always)]
                |lane| self.re[lane],
            ),
            im: from_fn(
                #[inline(always)]
                |lane| -self.im[lane],
            ),
        }
    }
}
