//! What comes of the numbers that windows see.

use super::Masked;
use crate::flex::gemm::Plain;

/// Output pixels of one channel that a register has.
#[derive(Clone, Copy)]
pub struct At {
    /// Depth, row and column of the first one.
    pub position: [usize; 3],
    /// Index of the first one in the channel.
    pub offset: usize,
    /// The lanes that are output pixels.
    pub mask: u32,
}

/// What comes of the numbers that a window sees.
pub trait Fold<L: Masked> {
    /// What is there before the first number.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of the lanes, as for all methods.
    unsafe fn begin(&self) -> L;

    /// With the numbers that a tap sees.
    unsafe fn step(&self, sum: L, values: L, tap: usize) -> L;

    /// The results, from what there is after the last tap.
    unsafe fn end(&self, sum: L, at: At) -> L;
}

macro_rules! any_fold {
    ($($lanes:ty),*) => {
        /// A fold for each set of instructions.
        pub trait AnyFold: Fold<Plain> $(+ Fold<$lanes>)* {}

        impl<F: Fold<Plain> $(+ Fold<$lanes>)*> AnyFold for F {}
    };
}

#[cfg(target_arch = "x86_64")]
any_fold! { std::arch::x86_64::__m256, std::arch::x86_64::__m512 }
#[cfg(target_arch = "aarch64")]
any_fold! { std::arch::aarch64::float32x4_t }
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
any_fold! {}
