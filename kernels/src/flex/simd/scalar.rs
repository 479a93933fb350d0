//! Functions over scalars that the compiler vectorizes for each instruction set.

/// Asks for a cache line that is read soon, in the first or the second cache. Any address is allowed.
#[inline(always)]
pub fn prefetch<const FIRST: bool, T>(line: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if FIRST {
            // SAFETY: all processors with 64 bits have the instruction, which fails at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
        } else {
            // SAFETY: all processors with 64 bits have the instruction, which fails at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        use std::arch::asm;
        if FIRST {
            // SAFETY: all processors have the instruction, which fails at no address.
            unsafe {
                asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags))
            };
        } else {
            // SAFETY: all processors have the instruction, which fails at no address.
            unsafe {
                asm!("prfm pldl2keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags))
            };
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// Sums of products of scalars, as an instruction set rounds them.
pub trait MulAdd {
    /// `a * b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    /// A product, and what its rounding lost.
    fn exact_product(a: f32, b: f32) -> [f32; 2];

    /// `a * b + c` where the sum is much less than its terms: the product is not rounded before it.
    #[inline(always)]
    fn difference(a: f32, b: f32, c: f32) -> f32 {
        let [product, rest] = Self::exact_product(a, b);
        product + c + rest
    }

    /// `a * b + c`, rounded once with every instruction set. Without fused instructions the sum is rounded to
    /// double precision before, so that ties may differ in the last bit.
    #[inline(always)]
    fn mul_add_once(a: f32, b: f32, c: f32) -> f32 {
        (f64::from(a) * f64::from(b) + f64::from(c)) as f32
    }
}

/// Rounds once.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
pub struct Fused;

impl MulAdd for Fused {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn exact_product(a: f32, b: f32) -> [f32; 2] {
        let product = a * b;
        [product, a.mul_add(b, -product)]
    }

    #[inline(always)]
    fn difference(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn mul_add_once(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Rounds product and sum, where no instruction rounds once.
#[cfg(not(target_arch = "aarch64"))]
pub struct Separate;

#[cfg(not(target_arch = "aarch64"))]
impl MulAdd for Separate {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }

    #[inline(always)]
    fn exact_product(a: f32, b: f32) -> [f32; 2] {
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

/// Rounds as the target of the compilation does.
#[cfg(target_arch = "aarch64")]
pub type Native = Fused;
#[cfg(not(target_arch = "aarch64"))]
pub type Native = Separate;

/// Functions that are compiled for each instruction set: `fn name(..) = generic;` calls `generic::<impl MulAdd>(..)`.
macro_rules! compiled_per_set {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $kind:ty),*) = $generic:ident;)*) => {$(
        $(#[$doc])*
        $visibility fn $name($($argument: $kind),*) {
            #[inline(always)]
            fn compiled<I: $crate::flex::simd::Isa>(_: I, $($argument: $kind),*) {
                $generic::<I::Scalar>($($argument),*);
            }
            $crate::flex::simd::with_isa!(
                $crate::flex::simd::InstructionSet::best(),
                isa => compiled(isa, $($argument),*)
            );
        }
    )*};
}

pub(crate) use compiled_per_set;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::{InstructionSet, Portable, with_each_set};

    compiled_per_set! {
        fn add_product(factors: [f32; 2], sum: &mut f32) = add_product_of;
    }

    #[inline(always)]
    fn add_product_of<S: MulAdd>(factors: [f32; 2], sum: &mut f32) {
        *sum = S::mul_add(factors[0], factors[1], *sum);
    }

    #[test]
    fn a_function_is_that_of_the_set() {
        with_each_set(|set| {
            let mut sum = -1.0;
            add_product([1.0 + f32::EPSILON, 1.0 - f32::EPSILON], &mut sum);
            let is_native = set == InstructionSet::Portable(Portable);
            let rounds_once = match set.lanes() {
                4 if is_native => cfg!(target_arch = "aarch64"),
                4 => cfg!(not(target_arch = "wasm32")),
                _ => true,
            };
            assert_eq!(sum != 0.0, rounds_once, "{set:?}");
        });
    }
}
