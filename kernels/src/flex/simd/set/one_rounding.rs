//! Registers of an instruction set without fused instructions, whose products and sums are rounded once.

use std::ops::{Add, BitAnd, Div, Mul, Sub};

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
use crate::flex::simd::Portable as Base;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use crate::flex::simd::Simd128 as Base;
use crate::flex::simd::{CodeIsa, DotIsa, Floats, Ints, Isa, LaneMask, MulAdd, sealed::Register};

/// An instruction set, or a register of it, whose products and sums are rounded once, as fused instructions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OneRounding<T = Base>(T);

impl OneRounding {
    /// That of the target of the compilation.
    pub const HERE: Self = Self(Base);
}

/// Scalars whose products and sums are rounded once without fused instructions.
pub struct Emulated;

impl MulAdd for Emulated {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        mul_add(a, b, c)
    }

    #[inline(always)]
    fn exact_product(a: f32, b: f32) -> [f32; 2] {
        let product = a * b;
        [product, mul_add(a, b, -product)]
    }

    #[inline(always)]
    fn difference(a: f32, b: f32, c: f32) -> f32 {
        mul_add(a, b, c)
    }

    #[inline(always)]
    fn mul_add_once(a: f32, b: f32, c: f32) -> f32 {
        mul_add(a, b, c)
    }
}

/// `a * b + c`, rounded once.
///
/// The product is exact in double precision. The sum is rounded to odd there: where it is not exact, its last bit is set, so that
/// the second rounding cannot meet a tie that the first one made.
#[inline(always)]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What the rounding of the sum lost; NaN where the sum is not finite.
    let c_of_sum = sum - product;
    let lost = (product - (sum - c_of_sum)) + (c - c_of_sum);
    let bits = sum.to_bits();
    // Toward the exact sum, by one step of the magnitude.
    let toward = if (lost > 0.0) == (sum > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let is_rounded = lost.abs() > 0.0 && bits & 1 == 0;
    f64::from_bits(if is_rounded { toward } else { bits }) as f32
}

impl<I: Isa> Isa for OneRounding<I> {
    type Floats = OneRounding<I::Floats>;
    type Ints = OneRounding<I::Ints>;
    type Scalar = Emulated;

    const LANES: usize = I::LANES;
    const REGISTERS: usize = I::REGISTERS;
    const MR: usize = I::MR;
    const NAME: &str = I::NAME;

    #[inline(always)]
    fn call<R>(self, run: impl FnOnce() -> R) -> R {
        self.0.call(run)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::Floats {
        OneRounding(self.0.splat(value))
    }

    #[inline(always)]
    fn splat_int(self, value: i32) -> Self::Ints {
        OneRounding(self.0.splat_int(value))
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::Floats {
        OneRounding(self.0.load(from))
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32]) -> Self::Ints {
        OneRounding(self.0.load_ints(from))
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> Self::Ints {
        OneRounding(self.0.load_bytes(from))
    }

    #[inline(always)]
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: Self::Floats) -> Self::Floats {
        // SAFETY: the caller promises that the elements of the mask are valid for reads.
        OneRounding(unsafe { self.0.load_masked(from, mask, other.0) })
    }
}

impl<T, R: Register<T>> Register<T> for OneRounding<R> {
    type Lanes = R::Lanes;

    #[inline(always)]
    fn lanes(self) -> Self::Lanes {
        self.0.lanes()
    }

    #[inline(always)]
    fn with_lanes(self, lanes: Self::Lanes) -> Self {
        Self(self.0.with_lanes(lanes))
    }
}

impl<F: Floats> Floats for OneRounding<F> {
    type Ints = OneRounding<F::Ints>;

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        let mut lanes = self.lanes();
        let (factors, addends) = (factor.lanes(), addend.lanes());
        let others = factors.as_ref().iter().zip(addends.as_ref());
        for (lane, (factor, addend)) in lanes.as_mut().iter_mut().zip(others) {
            *lane = mul_add(*lane, *factor, *addend);
        }
        self.with_lanes(lanes)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        Self(self.0.clamp(low.0, high.0))
    }

    #[inline(always)]
    fn even_lanes(self, high: Self) -> Self {
        Self(self.0.even_lanes(high.0))
    }

    #[inline(always)]
    fn odd_lanes(self, high: Self) -> Self {
        Self(self.0.odd_lanes(high.0))
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        self.0.interleaved(other.0).map(Self)
    }

    #[inline(always)]
    fn compressed(self, mask: LaneMask) -> Self {
        Self(self.0.compressed(mask))
    }

    #[inline(always)]
    fn expanded(self, mask: LaneMask) -> Self {
        Self(self.0.expanded(mask))
    }

    #[inline(always)]
    fn rounded(self, zero: Self, low: Self, high: Self) -> Self::Ints {
        OneRounding(self.0.rounded(zero.0, low.0, high.0))
    }

    #[inline(always)]
    fn bits(self) -> Self::Ints {
        OneRounding(self.0.bits())
    }
}

impl<N: Ints> Ints for OneRounding<N> {
    type Floats = OneRounding<N::Floats>;

    #[inline(always)]
    fn floats(self) -> Self::Floats {
        OneRounding(self.0.floats())
    }

    #[inline(always)]
    fn shifted_right(self, places: usize) -> Self {
        Self(self.0.shifted_right(places))
    }

    #[inline(always)]
    fn compressed(self, mask: LaneMask) -> Self {
        Self(self.0.compressed(mask))
    }
}

impl<I: CodeIsa> CodeIsa for OneRounding<I> {
    type CodeTable = I::CodeTable;

    #[inline(always)]
    fn code_table(self, less: f32) -> Self::CodeTable {
        self.0.code_table(less)
    }

    #[inline(always)]
    fn code<const BITS: usize>(
        self,
        words: Self::Ints,
        number: usize,
        table: Self::CodeTable,
    ) -> Self::Floats {
        OneRounding(self.0.code::<BITS>(words.0, number, table))
    }
}

impl<I: DotIsa> DotIsa for OneRounding<I> {
    type Terms = I::Terms;

    const WORDS: usize = I::WORDS;
    const SIGNED_COLUMNS: bool = I::SIGNED_COLUMNS;
    const BYTE_MR: usize = I::BYTE_MR;
    const HAS_REGISTERS: bool = I::HAS_REGISTERS;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> I::Terms {
        self.0.terms(from)
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> I::Terms {
        self.0.windows(from, step, index)
    }

    #[inline(always)]
    fn add_dot(self, sum: Self::Ints, terms: I::Terms, row: &[u32]) -> Self::Ints {
        OneRounding(self.0.add_dot(sum.0, terms, row))
    }

    #[inline(always)]
    fn code_offset(bits: usize) -> i32 {
        I::code_offset(bits)
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: Self::Ints, codes: Self::Ints, row: u32) -> Self::Ints {
        OneRounding(self.0.add_code_dot::<BITS>(sum.0, codes.0, row))
    }
}

macro_rules! operators {
    ($($operator:ident $name:ident;)*) => {$(
        impl<R: $operator<Output = R>> $operator for OneRounding<R> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(self.0.$name(other.0))
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
    BitAnd bitand;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_rounded_once() {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        // Numbers of all magnitudes, and of such ones that products and addends nearly cancel.
        let check = |a: f32, b: f32, c: f32| {
            let (found, expected) = (mul_add(a, b, c), f32::mul_add(a, b, c));
            let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            assert!(is_equal, "{a:e} * {b:e} + {c:e}: {found:e}, not {expected:e}");
        };
        for _ in 0..200_000 {
            let [a, b, c] = std::array::from_fn(|_| f32::from_bits(next() as u32));
            check(a, b, c);
            let small = |bits: u64| f32::from_bits(0x3f80_0000 | (bits as u32 & 0x807f_ffff));
            let [a, b] = [next(), next()].map(small);
            check(a, b, -(a * b));
            check(a, b, c);
            let scale = f32::from_bits(((next() % 60 + 80) as u32) << 23);
            check(a, b, small(next()) * scale);
        }
        let special =
            [0.0, -0.0, f32::MIN_POSITIVE, 1e-45, -1e-45, f32::MAX, f32::MIN, f32::INFINITY, f32::NAN, 1.0];
        for a in special {
            for b in special {
                for c in special {
                    check(a, b, c);
                }
            }
        }
    }
}
