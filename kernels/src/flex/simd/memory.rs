//! Registers from slices and to slices.

use std::mem::MaybeUninit;

use bytemuck::{Pod, must_cast};

use super::LaneMask;
use crate::flex::memory::SliceWriter;

/// The first elements as a register.
///
/// # Panics
///
/// If there are fewer than lanes.
#[inline(always)]
pub fn load<V: Pod, T: Pod, const LANES: usize>(from: &[T]) -> V {
    must_cast(first::<T, LANES>(from))
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

/// Writes the first of `count` lanes, as many as there are elements.
///
/// # Panics
///
/// If there are more.
#[inline(always)]
pub fn write_first<'a, T: Pod>(lanes: &[T], count: usize, to: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
    if to.len() == count {
        // A copy of constant size is a store. Both slices get the constant, since the compiler may take the length of either.
        return to[..count].write_copy_of_slice(&lanes[..count]);
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

/// The lanes of a mask, moved to the first ones. The other lanes are 0.
#[inline(always)]
pub fn compressed<T: Pod, Lanes: Pod + AsRef<[T]> + AsMut<[T]>>(lanes: Lanes, mask: LaneMask) -> Lanes {
    let mut all = Lanes::zeroed();
    let compressed = all.as_mut();
    let mut count = 0;
    for (lane, value) in lanes.as_ref().iter().enumerate() {
        // Without a branch: a lane that the mask lacks is overwritten by the next one that it has.
        compressed[count % compressed.len()] = *value;
        count += usize::from(mask.has(lane));
    }
    if count < compressed.len() {
        compressed[count] = T::zeroed();
    }
    all
}

/// The first lanes, moved to those of a mask. The other lanes are 0.
#[inline(always)]
pub fn expanded<T: Pod, Lanes: Pod + AsRef<[T]> + AsMut<[T]>>(lanes: Lanes, mask: LaneMask) -> Lanes {
    let mut expanded = Lanes::zeroed();
    let mut count = 0;
    for (lane, value) in expanded.as_mut().iter_mut().enumerate() {
        if mask.has(lane) {
            *value = lanes.as_ref()[count];
            count += 1;
        }
    }
    expanded
}

/// Types of registers. Each has the number and the type of its lanes.
macro_rules! registers {
    ($($register:ident($vector:ty): [$element:ty; $lanes:literal];)*) => {$(
        #[derive(Clone, Copy)]
        pub struct $register(pub(super) $vector);

        impl $crate::flex::simd::sealed::Register<$element> for $register {
            type Lanes = [$element; $lanes];

            #[inline(always)]
            fn lanes(self) -> Self::Lanes {
                bytemuck::must_cast(self.0)
            }

            #[inline(always)]
            fn with_lanes(self, lanes: Self::Lanes) -> Self {
                Self(bytemuck::must_cast(lanes))
            }
        }
    )*};
}

pub(crate) use registers;

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

/// Operators of registers, each an instruction.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_macros))]
macro_rules! operators {
    ($features:literal: $($register:ident $operator:ident $name:ident $intrinsic:ident;)*) => {$(
        impl std::ops::$operator for $register {
            type Output = Self;

            $crate::flex::simd::memory::with_features! { $features:
                fn $name(x: $register, other: $register) -> $register {
                    $register($intrinsic(x.0, other.0))
                }
            }
        }
    )*};
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use operators;
