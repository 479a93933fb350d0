//! Functions compiled for the instructions of the processor.

use std::sync::OnceLock;

use crate::backend::switches;

/// A set of instructions that tiles are written for, from the widest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// What the compiler may assume.
    Portable,
}

/// Numbers in the widest register.
pub const WIDEST: usize = 16;

impl Set {
    pub const ALL: &[Self] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
        Self::Portable,
    ];

    /// The best one that the processor has and the environment allows.
    pub fn best() -> Self {
        static BEST: OnceLock<Set> = OnceLock::new();
        #[cfg(test)]
        if let Some(set) = FORCED.get() {
            return set;
        }
        *BEST.get_or_init(|| {
            let mut sets = Self::ALL.iter().copied();
            let best = sets.find(|set| set.is_there() && set.is_allowed());
            best.unwrap_or(Self::Portable)
        })
    }

    /// Whether the environment allows it: `ONNX_EMBED_INSTRUCTIONS` names the widest set that is used.
    pub fn is_allowed(self) -> bool {
        static WIDEST: OnceLock<Set> = OnceLock::new();
        self >= *WIDEST.get_or_init(|| {
            let words: Vec<_> = Self::ALL.iter().map(|set| (set.word(), *set)).collect();
            switches::chosen("ONNX_EMBED_INSTRUCTIONS", &words).unwrap_or(Self::ALL[0])
        })
    }

    /// What it is called in the environment.
    fn word(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// Whether the processor has its instructions.
    pub fn is_there(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            // The compiler assumes it for all targets that have a standard library.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            Self::Portable => true,
        }
    }

    /// How many numbers a register has.
    pub fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 16,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 8,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 4,
            Self::Portable => 4,
        }
    }

    /// How many rows the largest tile has.
    pub fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 14,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 6,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 12,
            Self::Portable => 6,
        }
    }

    /// Whether there are 32 registers, not 16.
    pub fn has_many_registers(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => false,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            Self::Portable => false,
        }
    }

    /// How many columns a tile has.
    pub fn columns(self) -> usize {
        2 * self.lanes()
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<Set>> = const { std::cell::Cell::new(None) };
}

/// Runs a test with each set that the processor has.
#[cfg(test)]
pub fn with_each_set(run: impl Fn(Set)) {
    for set in Set::ALL {
        if set.is_there() {
            FORCED.set(Some(*set));
            run(*set);
        }
    }
    FORCED.set(None);
}

/// Work of other threads, with the set of this one.
#[cfg(test)]
pub fn with_this_set(run: impl Fn(usize) + Send + Sync) -> impl Fn(usize) + Send + Sync {
    let set = FORCED.get();
    move |part| {
        let own = FORCED.replace(set);
        run(part);
        FORCED.set(own);
    }
}

/// Whether a sum of a product is rounded once.
#[cfg(test)]
pub fn rounds_once() -> bool {
    Set::best() != Set::Portable || cfg!(target_arch = "aarch64")
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

/// Functions by whichever instructions the processor has: `fn name(..) = generic;` calls `generic::<impl Sum>(..)`.
macro_rules! dispatched {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $kind:ty),*) = $generic:ident;)*) => {$(
        $(#[$doc])*
        $visibility fn $name($($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn widest($($argument: $kind),*) {
                $generic::<$crate::flex::instructions::Fused>($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn wide($($argument: $kind),*) {
                $generic::<$crate::flex::instructions::Fused>($($argument),*);
            }
            match $crate::flex::instructions::Set::best() {
                // SAFETY: the processor has the instructions that the function is compiled for.
                #[cfg(target_arch = "x86_64")]
                $crate::flex::instructions::Set::Avx512 => unsafe { widest($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::flex::instructions::Set::Avx2 => unsafe { wide($($argument),*) },
                #[cfg(target_arch = "aarch64")]
                $crate::flex::instructions::Set::Neon => {
                    $generic::<$crate::flex::instructions::Fused>($($argument),*);
                }
                $crate::flex::instructions::Set::Portable => {
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
