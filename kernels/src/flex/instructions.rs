//! Functions compiled for the instructions of the processor.

#[cfg(test)]
use super::simd::{InstructionSet, Portable};

/// Whether a sum of a product is rounded once.
#[cfg(test)]
pub fn rounds_once() -> bool {
    InstructionSet::best() != InstructionSet::Portable(Portable) || cfg!(target_arch = "aarch64")
}

/// Says that a line of memory is read soon, for the nearest cache or the next one; there need not be one.
#[inline(always)]
pub fn prefetch<const NEAREST: bool, T>(line: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all processors with 64 bits have the instructions, and they never fail.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if NEAREST {
            _mm_prefetch::<_MM_HINT_T0>(line.cast());
        } else {
            _mm_prefetch::<_MM_HINT_T1>(line.cast());
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: all processors have the instructions, and they never fail.
    unsafe {
        use std::arch::asm;
        if NEAREST {
            asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags));
        } else {
            asm!("prfm pldl2keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// `a * b + c`.
pub trait Sum {
    fn of(a: f32, b: f32, c: f32) -> f32;

    /// A product, and what its rounding lost.
    fn product(a: f32, b: f32) -> [f32; 2];

    /// The sum, where it is much less than its terms: the product is not rounded before it.
    #[inline(always)]
    fn difference(a: f32, b: f32, c: f32) -> f32 {
        let [product, rest] = Self::product(a, b);
        product + c + rest
    }

    /// Rounded once by whatever instructions; but for ties of the last bit, where the product fits a double.
    #[inline(always)]
    fn once(a: f32, b: f32, c: f32) -> f32 {
        (f64::from(a) * f64::from(b) + f64::from(c)) as f32
    }
}

/// Rounded once.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code)
)]
pub struct Fused;

impl Sum for Fused {
    #[inline(always)]
    fn of(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn product(a: f32, b: f32) -> [f32; 2] {
        let product = a * b;
        [product, a.mul_add(b, -product)]
    }

    #[inline(always)]
    fn difference(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn once(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Rounded twice, where one instruction cannot do it.
#[cfg(not(target_arch = "aarch64"))]
pub struct Separate;

#[cfg(not(target_arch = "aarch64"))]
impl Sum for Separate {
    #[inline(always)]
    fn of(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }

    #[inline(always)]
    fn product(a: f32, b: f32) -> [f32; 2] {
        // The upper half of the digits, so that products of halves are exact.
        let split = |x: f32| {
            let high = f32::from_bits(x.to_bits() & 0xffff_f000);
            [high, x - high]
        };
        let ([a_high, a_low], [b_high, b_low]) = (split(a), split(b));
        let product = a * b;
        let rest = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low;
        [product, rest]
    }
}

/// With what the compiler may assume.
#[cfg(target_arch = "aarch64")]
pub type Usual = Fused;
#[cfg(not(target_arch = "aarch64"))]
pub type Usual = Separate;

/// Functions that are compiled for each instruction set: `fn name(..) = generic;` calls `generic::<impl Sum>(..)`.
macro_rules! dispatched {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $kind:ty),*) = $generic:ident;)*) => {$(
        $(#[$doc])*
        $visibility fn $name($($argument: $kind),*) {
            use $crate::flex::simd::{InstructionSet, Isa};
            match InstructionSet::best() {
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512(isa) => isa.call(
                    #[inline(always)]
                    || $generic::<$crate::flex::instructions::Fused>($($argument),*),
                ),
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2(isa) => isa.call(
                    #[inline(always)]
                    || $generic::<$crate::flex::instructions::Fused>($($argument),*),
                ),
                #[cfg(target_arch = "aarch64")]
                InstructionSet::Neon(isa) => isa.call(
                    #[inline(always)]
                    || $generic::<$crate::flex::instructions::Fused>($($argument),*),
                ),
                InstructionSet::Portable(_) => {
                    $generic::<$crate::flex::instructions::Usual>($($argument),*);
                }
            }
        }
    )*};
}

pub(crate) use dispatched;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    dispatched! {
        fn add_product(factors: [f32; 2], sum: &mut f32) = add_product_of;
    }

    #[inline(always)]
    fn add_product_of<S: Sum>(factors: [f32; 2], sum: &mut f32) {
        *sum = S::of(factors[0], factors[1], *sum);
    }

    #[test]
    fn a_function_is_that_of_the_set() {
        with_each_set(|set| {
            let mut sum = -1.0;
            add_product([1.0 + f32::EPSILON, 1.0 - f32::EPSILON], &mut sum);
            assert_eq!(sum != 0.0, rounds_once(), "{set:?}");
        });
    }
}
