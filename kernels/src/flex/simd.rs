//! Registers of the processor's instruction sets, safe to use.
//!
//! A token such as `Avx512` exists only where the processor has the instructions: [`InstructionSet::best`] asks the processor.
//! Only tokens make registers, so that a register is a proof too. Loads and stores take slices and check their length.
//! Kernels are generic over [`Isa`] and are compiled once per set by [`with_isa`].
//!
//! `pulp` is not used. Its trait for all instruction sets lacks products of bytes, loads and stores that expand and compress by a
//! mask, and stores to memory that is not initialized, so that kernels would be written for one set after another again; and its
//! set for AVX-512 asks for four more features than products of floats need.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bytes;
mod codes;
mod dot;
mod memory;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod row;
mod scalar;
mod set;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;

use std::mem::MaybeUninit;
use std::ops::{Add, BitAnd, Div, Mul, Sub};

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
#[cfg(target_arch = "x86_64")]
pub use bytes::Avx512Bytes;
pub use bytes::look_up;
pub use codes::{CodeIsa, halves};
#[cfg(test)]
pub use dot::with_each_dot;
pub use dot::{DotInstructions, DotIsa, SIGNS};
pub(crate) use dot::{match_dot_isa, with_dot_isa};
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use portable::Portable;
pub use row::{MaskedLoad, RowLoads, Rows};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
pub use scalar::Fused;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use scalar::Separate;
pub(crate) use scalar::compiled_per_set;
pub use scalar::{MulAdd, Native, prefetch};
pub use set::{InstructionSet, vectorized};
pub(crate) use set::{match_isa, with_isa};
#[cfg(test)]
pub use set::{with_each_set, with_this_set};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use wasm::Simd128;

/// Number of lanes of the widest register.
pub const WIDEST: usize = 16;

/// An instruction set, as a token of its presence.
pub trait Isa: Copy + Send + Sync + 'static {
    type Floats: Floats<Ints = Self::Ints>;
    type Ints: Ints<Floats = Self::Floats>;
    /// How sums of products of scalars are rounded.
    type Scalar: MulAdd;

    /// Number of 32-bit lanes of a register.
    const LANES: usize;
    /// Number of registers.
    const REGISTERS: usize;
    /// Maximum number of rows of a tile of floats.
    const MR: usize;
    /// Name in the environment.
    const NAME: &str;
    /// True if the set has instructions for [`Isa::transposed`].
    const HAS_TRANSPOSE: bool = false;

    /// Calls a function that is compiled for the set if it, and all that it calls, is `#[inline(always)]`.
    fn call<R>(self, run: impl FnOnce() -> R) -> R;

    fn splat(self, value: f32) -> Self::Floats;

    fn splat_int(self, value: i32) -> Self::Ints;

    /// Loads the first [`Isa::LANES`] elements.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn load(self, from: &[f32]) -> Self::Floats;

    /// Loads the first [`Isa::LANES`] elements.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn load_ints(self, from: &[i32]) -> Self::Ints;

    /// Loads the first [`Isa::LANES`] words.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    #[inline(always)]
    fn load_words(self, from: &[u32]) -> Self::Ints {
        self.load_ints(bytemuck::cast_slice(from))
    }

    /// Loads the first [`Isa::LANES`] bytes, each in a lane of its own.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn load_bytes(self, from: &[u8]) -> Self::Ints;

    /// Loads the element `lane` for each lane of the mask. The other lanes are those of `other`.
    ///
    /// # Safety
    ///
    /// The elements of the mask are valid for reads.
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: Self::Floats) -> Self::Floats;

    /// Loads a slice of at most [`Isa::LANES`] elements, or as many of a longer one. The other lanes are those of `other`.
    #[inline(always)]
    fn load_first(self, from: &[f32], other: Self::Floats) -> Self::Floats {
        let count = from.len().min(Self::LANES);
        // SAFETY: the mask has the elements of the slice.
        unsafe { self.load_masked(from.as_ptr(), first_lanes(count), other) }
    }

    /// Loads consecutive elements into the lanes of a mask. The other lanes are 0.
    ///
    /// # Panics
    ///
    /// If there are fewer elements.
    #[inline(always)]
    fn load_expanded(self, from: &[f32], mask: LaneMask) -> Self::Floats {
        if mask.count == Self::LANES {
            return self.load(from);
        }
        let elements = &from[..mask.count];
        // SAFETY: the mask has as many lanes as there are elements.
        let elements = unsafe { self.load_masked(elements.as_ptr(), mask.first, self.splat(0.0)) };
        if mask.is_first() { elements } else { elements.expanded(mask) }
    }

    /// Adds the products of an element for each row and of some columns.
    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        self,
        sums: &mut [[Self::Floats; REGISTERS]; ROWS],
        rows: &[f32; ROWS],
        columns: [Self::Floats; REGISTERS],
    ) {
        for (row, sums) in sums.iter_mut().enumerate() {
            let value = self.splat(rows[row]);
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = value.mul_add(column, *sum);
            }
        }
    }

    /// Register `lane` of the result has the lane of this number of each register.
    ///
    /// # Panics
    ///
    /// If the set has no instructions for it ([`Isa::HAS_TRANSPOSE`]).
    #[inline(always)]
    fn transposed(self, _rows: [Self::Floats; WIDEST]) -> [Self::Floats; WIDEST] {
        panic!("{} has no transposition in registers", Self::NAME)
    }
}

/// A register of numbers of single precision.
pub trait Floats:
    sealed::Register<f32> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    type Ints: Ints<Floats = Self>;

    /// `self * factor + addend`, rounded once where the set has such instructions.
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// The greater numbers; NaN where one is.
    fn max(self, other: Self) -> Self;

    /// Numbers within bounds; NaN stays.
    fn clamp(self, low: Self, high: Self) -> Self;

    /// Lanes 0, 2, 4 .. of this register and then of `high`.
    fn even_lanes(self, high: Self) -> Self;

    /// Lanes 1, 3, 5 .. of this register and then of `high`.
    fn odd_lanes(self, high: Self) -> Self;

    /// Lanes of this register and of `other` in turn: those of the lower halves, then those of the upper halves.
    fn interleaved(self, other: Self) -> [Self; 2];

    /// The lanes of a mask, moved to the first ones. The other lanes are 0.
    #[inline(always)]
    fn compressed(self, mask: LaneMask) -> Self {
        self.with_lanes(memory::compressed(self.lanes(), mask))
    }

    /// The first lanes, moved to those of a mask. The other lanes are 0.
    #[inline(always)]
    fn expanded(self, mask: LaneMask) -> Self {
        self.with_lanes(memory::expanded(self.lanes(), mask))
    }

    /// The nearest integers, ties to even, plus `zero`, within bounds; `low` where a number is NaN. `zero`
    /// and bounds are integers.
    fn rounded(self, zero: Self, low: Self, high: Self) -> Self::Ints;

    /// The bits of the numbers.
    fn bits(self) -> Self::Ints;

    /// Stores all lanes to the first elements.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let lanes = self.lanes();
        let lanes = lanes.as_ref();
        to[..lanes.len()].copy_from_slice(lanes);
    }

    /// Stores the first lanes, as many as there are elements.
    ///
    /// # Panics
    ///
    /// If there are more.
    #[inline(always)]
    fn store_first(self, to: &mut [f32]) {
        // SAFETY: no register writes elements that are not initialized, and no other module implements the trait.
        let to = unsafe { &mut *(std::ptr::from_mut(to) as *mut [MaybeUninit<f32>]) };
        self.write(to);
    }

    /// Writes the first lanes, as many as there are elements.
    ///
    /// # Panics
    ///
    /// If there are more.
    #[inline(always)]
    fn write(self, to: &mut [MaybeUninit<f32>]) -> &mut [f32] {
        memory::write_first(self.lanes().as_ref(), size_of::<Self>() / 4, to)
    }

    /// Writes the lanes of a mask to a slice of as many elements.
    ///
    /// # Panics
    ///
    /// If there are more or fewer.
    #[inline(always)]
    fn write_compressed(self, to: &mut [MaybeUninit<f32>], mask: LaneMask) -> &mut [f32] {
        assert!(to.len() == mask.count);
        let lanes = if mask.is_first() { self } else { self.compressed(mask) };
        lanes.write(to)
    }
}

/// A register of integers of 32 bits, whose arithmetic wraps around.
pub trait Ints:
    sealed::Register<i32> + Add<Output = Self> + Mul<Output = Self> + BitAnd<Output = Self>
{
    type Floats: Floats<Ints = Self>;

    /// The numbers in single precision.
    fn floats(self) -> Self::Floats;

    /// Logical shift of each lane by less than 32 bits.
    fn shifted_right(self, places: usize) -> Self;

    /// The lanes of a mask, moved to the first ones. The other lanes are 0.
    #[inline(always)]
    fn compressed(self, mask: LaneMask) -> Self {
        self.with_lanes(memory::compressed(self.lanes(), mask))
    }

    /// Writes all lanes to a slice of as many elements.
    ///
    /// # Panics
    ///
    /// If there are more or fewer.
    #[inline(always)]
    fn write_all(self, to: &mut [MaybeUninit<i32>]) -> &mut [i32] {
        to.write_copy_of_slice(self.lanes().as_ref())
    }

    /// Writes the bytes of the lanes of a mask, four each, one after another.
    ///
    /// # Panics
    ///
    /// If there are more or fewer.
    #[inline(always)]
    fn write_compressed(self, to: &mut [MaybeUninit<u8>], mask: LaneMask) -> &mut [u8] {
        assert!(to.len() == 4 * mask.count);
        let lanes = if mask.is_first() { self } else { self.compressed(mask) };
        memory::write_first(bytemuck::bytes_of(&lanes.lanes()), size_of::<Self>(), to)
    }

    /// Writes the least significant byte of the lanes of a mask one after another.
    ///
    /// # Panics
    ///
    /// If there are more or fewer.
    #[inline(always)]
    fn write_bytes(self, to: &mut [MaybeUninit<u8>], mask: LaneMask) -> &mut [u8] {
        assert!(to.len() == mask.count);
        let lanes = if mask.is_first() { self } else { self.compressed(mask) }.lanes();
        let mut bytes = [0; WIDEST];
        for (byte, lane) in bytes.iter_mut().zip(lanes.as_ref()) {
            *byte = *lane as u8;
        }
        memory::write_first(&bytes, size_of::<Self>() / 4, to)
    }
}

mod sealed {
    use bytemuck::Pod;

    /// Registers, which this module alone has: unsafe code relies on what they write.
    pub trait Register<T>: Copy {
        /// The lanes as an array.
        type Lanes: Pod + AsRef<[T]> + AsMut<[T]>;

        fn lanes(self) -> Self::Lanes;

        /// Returns a register with other lanes. Its argument `self` proves that the instructions are available.
        fn with_lanes(self, lanes: Self::Lanes) -> Self;
    }
}

/// Some lanes of a register.
#[derive(Clone, Copy, Debug)]
pub struct LaneMask {
    /// A bit for each lane.
    bits: u32,
    /// The first lanes, as many as there are in the mask.
    first: u32,
    count: usize,
}

impl LaneMask {
    /// The lanes whose bits are set.
    ///
    /// # Panics
    ///
    /// If a bit is not a lane of the widest register.
    #[inline(always)]
    pub fn new(bits: u32) -> Self {
        assert!(bits >> WIDEST == 0);
        let count = bits.count_ones() as usize;
        Self { bits, first: first_lanes(count), count }
    }

    /// The first lanes.
    ///
    /// # Panics
    ///
    /// If the widest register has fewer.
    #[inline(always)]
    pub fn first(count: usize) -> Self {
        assert!(count <= WIDEST);
        let bits = first_lanes(count);
        Self { bits, first: bits, count }
    }

    /// Number of lanes.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.count
    }

    /// Returns true if the mask has the lane.
    #[inline(always)]
    pub fn has(self, lane: usize) -> bool {
        self.bits & (1 << lane) != 0
    }

    /// Returns true for a mask of the first lanes.
    #[inline(always)]
    fn is_first(self) -> bool {
        self.bits == self.first
    }
}

/// The mask of the first lanes.
#[inline(always)]
fn first_lanes(count: usize) -> u32 {
    ((1u64 << count) - 1) as u32
}
