//! Functions by the polynomials of ONNX Runtime, rounded at the same places.

mod activate;
mod power;

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    instructions::{Sum, dispatched},
    rows::in_place,
};
use crate::backend::primitives;
pub use activate::{activate, finish};
pub use power::exp_below;
use power::{erf_at, exp_at};

pub fn exp(x: FlexTensor) -> FlexTensor {
    each(x, powers, primitives::exp::<Flex>)
}

pub fn erf(x: FlexTensor) -> FlexTensor {
    each(x, errors, primitives::erf::<Flex>)
}

fn each(x: FlexTensor, run: fn(&mut [f32]), other: fn(FlexTensor) -> FlexTensor) -> FlexTensor {
    if x.dtype() == DType::F64 {
        return other(x);
    }
    in_place(x, 1, |_, part| run(part))
}

/// A polynomial over another one, in `x²` and from the highest power on; the upper one is multiplied by `x`.
struct Fraction<const A: usize, const B: usize> {
    /// Beyond this size of `x` the result is that of the bound.
    bound: f32,
    upper: [f32; A],
    lower: [f32; B],
}

const LOGISTIC: Fraction<5, 6> = Fraction {
    bound: 18.0,
    upper: [
        4.370_31e-11,
        1.156_273_2e-7,
        6.085_749e-5,
        8.513_771e-3,
        2.482_879_5e-1,
    ],
    lower: [
        6.102_473_7e-13,
        5.761_021_4e-9,
        6.291_068e-6,
        1.701_988_2e-3,
        1.168_176_5e-1,
        9.931_519e-1,
    ],
};

const TANH: Fraction<7, 4> = Fraction {
    bound: 9.0,
    upper: [
        -2.760_768_4e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297_3e-8,
        1.485_722_35e-5,
        6.372_619_5e-4,
        4.893_524_6e-3,
    ],
    lower: [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_7e-3, 4.893_525e-3],
};

impl<const A: usize, const B: usize> Fraction<A, B> {
    /// Sums are rounded once: where they are rounded twice, a sigmoid near 0 is up to 1.5e-7 off.
    #[inline(always)]
    fn at<S: Sum>(&self, x: f32) -> f32 {
        let x = x.clamp(-self.bound, self.bound);
        let square = x * x;
        let (mut upper, mut lower) = (self.upper[0], self.lower[0]);
        for next in &self.upper[1..] {
            upper = S::once(upper, square, *next);
        }
        for next in &self.lower[1..] {
            lower = S::once(lower, square, *next);
        }
        upper * x / lower
    }
}

#[inline(always)]
fn exp_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = exp_at::<S>(*x);
    }
}

#[inline(always)]
fn erf_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = erf_at::<S>(*x);
    }
}

dispatched! {
    fn powers(elements: &mut [f32]) = exp_of;
    fn errors(elements: &mut [f32]) = erf_of;
}

// Sums are fused without exception there.
#[cfg(all(test, not(target_arch = "aarch64")))]
mod tests {
    use super::*;
    use crate::flex::instructions::{Fused, Separate};

    #[test]
    fn fractions_are_the_same_with_and_without_fused_sums() {
        for x in (-4096..=4096).map(|step| step as f32 / 224.0) {
            assert_eq!(LOGISTIC.at::<Separate>(x), LOGISTIC.at::<Fused>(x), "{x}");
            assert_eq!(TANH.at::<Separate>(x), TANH.at::<Fused>(x), "{x}");
        }
    }
}
