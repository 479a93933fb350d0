//! Registers from slices and to slices.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use std::arch::wasm32::v128;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::mem::{MaybeUninit, transmute_copy};

use bytemuck::Pod;

use super::LaneMask;
use crate::flex::memory::SliceWriter;

/// Vector types of `std::arch`.
///
/// # Safety
///
/// All bits are those of lanes, and any bits are a value.
pub unsafe trait Vector: Copy {}

macro_rules! vectors {
    ($($vector:ty),*) => {$(
        // SAFETY: the lanes are integers or floats.
        unsafe impl Vector for $vector {}
    )*};
}

#[cfg(target_arch = "x86_64")]
vectors! { __m128i, __m256, __m256i, __m512, __m512i }
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
vectors! { v128 }
#[cfg(target_arch = "aarch64")]
vectors! { float32x4_t, int32x4_t, uint32x4_t, int8x16_t, uint8x16_t, int16x4_t }

/// The first elements as a register.
///
/// # Panics
///
/// If there are fewer than lanes.
#[inline(always)]
pub fn load<V: Vector, T: Pod, const LANES: usize>(from: &[T]) -> V {
    const { assert!(size_of::<V>() == size_of::<[T; LANES]>()) };
    let lanes: [T; LANES] = first(from);
    // SAFETY: the array has the bytes of the register, and any bytes are a value.
    unsafe { transmute_copy(&lanes) }
}

/// The first elements.
///
/// # Panics
///
/// If there are fewer.
#[inline(always)]
pub fn first<T: Pod, const LANES: usize>(from: &[T]) -> [T; LANES] {
    match from.first_chunk() {
        Some(lanes) => *lanes,
        None => panic!("fewer elements than the register has lanes"),
    }
}

/// The lanes of a register.
#[inline(always)]
pub fn lanes<V: Vector, T: Pod, const LANES: usize>(register: V) -> [T; LANES] {
    const { assert!(size_of::<V>() == size_of::<[T; LANES]>()) };
    // SAFETY: the register has the bytes of the array, and any bytes are a value.
    unsafe { transmute_copy(&register) }
}

/// Writes the first lanes, as many as there are elements.
///
/// # Panics
///
/// If there are more.
#[inline(always)]
pub fn write_first<T: Pod, const LANES: usize>(lanes: [T; LANES], to: &mut [MaybeUninit<T>]) -> &mut [T] {
    if to.len() == LANES {
        // A copy of constant size is a store.
        return to.write_copy_of_slice(&lanes);
    }
    write_in_blocks(&lanes[..to.len()], to)
}

/// Copies elements that are fewer than a register has.
///
/// # Panics
///
/// If there are more or fewer.
#[inline(always)]
fn write_in_blocks<'a, T: Pod>(from: &[T], to: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
    #[inline(always)]
    fn write_block<T: Pod, const LEN: usize>(from: &[T], to: &mut SliceWriter<'_, T>) {
        if let Some(block) = from.get(to.len()..).and_then(<[T]>::first_chunk::<LEN>) {
            to.copy(block);
        }
    }
    assert!(from.len() < 64);
    let mut writer = SliceWriter::new(to);
    // Copies of constant sizes are stores. The call that copies any number of elements takes longer than they do.
    write_block::<_, 32>(from, &mut writer);
    write_block::<_, 16>(from, &mut writer);
    write_block::<_, 8>(from, &mut writer);
    write_block::<_, 4>(from, &mut writer);
    write_block::<_, 2>(from, &mut writer);
    write_block::<_, 1>(from, &mut writer);
    writer.finish()
}

/// Writes the lanes of a mask to a slice of as many elements.
///
/// # Panics
///
/// If there are more or fewer.
#[inline(always)]
pub fn write_compressed<T: Pod, const LANES: usize>(
    lanes: [T; LANES],
    to: &mut [MaybeUninit<T>],
    mask: LaneMask,
) -> &mut [T] {
    assert!(to.len() == mask.count);
    write_first(if mask.is_first() { lanes } else { compressed(lanes, mask) }, to)
}

/// Writes the bytes of the lanes of a mask, four each, one after another.
///
/// # Panics
///
/// If there are more or fewer.
#[inline(always)]
pub fn write_words<const LANES: usize>(
    lanes: [i32; LANES],
    to: &mut [MaybeUninit<u8>],
    mask: LaneMask,
) -> &mut [u8] {
    assert!(to.len() == 4 * mask.count);
    let lanes = if mask.is_first() { lanes } else { compressed(lanes, mask) };
    let bytes = bytemuck::cast_slice(&lanes[..mask.count]);
    if mask.count == LANES { to.write_copy_of_slice(bytes) } else { write_in_blocks(bytes, to) }
}

/// Writes the least significant byte of the lanes of a mask one after another.
///
/// # Panics
///
/// If there are more or fewer.
#[inline(always)]
pub fn write_bytes<const LANES: usize>(
    lanes: [i32; LANES],
    to: &mut [MaybeUninit<u8>],
    mask: LaneMask,
) -> &mut [u8] {
    write_compressed(lanes.map(|lane| lane as u8), to, mask)
}

/// The first lanes, moved to those of a mask. The other lanes are 0.
#[inline(always)]
pub fn expanded<T: Pod, const LANES: usize>(lanes: [T; LANES], mask: LaneMask) -> [T; LANES] {
    let mut expanded = [T::zeroed(); LANES];
    let mut count = 0;
    for (lane, value) in expanded.iter_mut().enumerate() {
        if mask.bits & (1 << lane) != 0 {
            *value = lanes[count];
            count += 1;
        }
    }
    expanded
}

/// The lanes of a mask, moved to the first ones. The other lanes are 0.
#[inline(always)]
pub fn compressed<T: Pod, const LANES: usize>(lanes: [T; LANES], mask: LaneMask) -> [T; LANES] {
    let mut compressed = [T::zeroed(); LANES];
    let mut count = 0;
    for (lane, value) in lanes.into_iter().enumerate() {
        // Without a branch: a lane that the mask lacks is overwritten by the next one that it has.
        compressed[count % LANES] = value;
        count += usize::from(mask.has(lane));
    }
    if count < LANES {
        compressed[count] = T::zeroed();
    }
    compressed
}

/// A token of an instruction set with more instructions than another one, whose registers it uses.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_macros))]
macro_rules! extended {
    ($(#[$doc:meta])* $token:ident, $base:ident, $features:literal, $($is_there:expr),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $token($base);

        impl $token {
            /// Returns `None` if the processor lacks the instructions.
            pub fn new() -> Option<Self> {
                $base::new().filter(|_| true $(&& $is_there)+).map(Self)
            }
        }

        impl $crate::flex::simd::Isa for $token {
            type Floats = <$base as $crate::flex::simd::Isa>::Floats;
            type Ints = <$base as $crate::flex::simd::Isa>::Ints;
            type Scalar = <$base as $crate::flex::simd::Isa>::Scalar;

            const LANES: usize = $base::LANES;
            const REGISTERS: usize = $base::REGISTERS;
            const MR: usize = $base::MR;
            const NAME: &str = $base::NAME;

            #[inline(always)]
            fn call<R>(self, run: impl FnOnce() -> R) -> R {
                #[target_feature(enable = $features)]
                fn compiled<R>(run: impl FnOnce() -> R) -> R {
                    run()
                }
                // SAFETY: the token exists only where the processor has the instructions.
                unsafe { compiled(run) }
            }

            #[inline(always)]
            fn splat(self, value: f32) -> Self::Floats {
                self.0.splat(value)
            }

            #[inline(always)]
            fn splat_int(self, value: i32) -> Self::Ints {
                self.0.splat_int(value)
            }

            #[inline(always)]
            fn load(self, from: &[f32]) -> Self::Floats {
                self.0.load(from)
            }

            #[inline(always)]
            fn load_ints(self, from: &[i32]) -> Self::Ints {
                self.0.load_ints(from)
            }

            #[inline(always)]
            fn load_bytes(self, from: &[u8]) -> Self::Ints {
                self.0.load_bytes(from)
            }

            #[inline(always)]
            unsafe fn load_masked(self, from: *const f32, mask: u32, other: Self::Floats) -> Self::Floats {
                // SAFETY: the caller promises that the elements of the mask are valid for reads.
                unsafe { self.0.load_masked(from, mask, other) }
            }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use extended;

/// Methods of tokens and registers, whose bodies use the instructions of some features.
///
/// The features must be among those that the token proves, which the macro cannot check.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_macros))]
macro_rules! with_features {
    ($features:literal: $(
        $(#[$attribute:meta])*
        fn $name:ident $([const $generic:ident])?
            ($this:ident: $own:ty $(, $argument:ident: $kind:ty)*) -> $result:ty $body:block
    )*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        fn $name $(<const $generic: usize>)? (self $(, $argument: $kind)*) -> $result {
            #[inline]
            #[target_feature(enable = $features)]
            fn compiled $(<const $generic: usize>)? ($this: $own $(, $argument: $kind)*) -> $result $body
            // SAFETY: tokens and registers exist only where the processor has the instructions.
            unsafe { compiled $(::<$generic>)? (self $(, $argument)*) }
        }
    )*};
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use with_features;
