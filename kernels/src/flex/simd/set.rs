//! The instruction sets that kernels are compiled for.

use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512};
use super::{Isa, Portable};
use crate::backend::switches;

/// An instruction set that the processor has, from the widest one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    Portable(Portable),
}

/// Evaluates an expression with the token of an [`InstructionSet`], compiled for it.
macro_rules! with_isa {
    ($set:expr, $isa:ident => $run:expr) => {
        match $set {
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::InstructionSet::Avx512($isa) => $crate::flex::simd::Isa::call(
                $isa,
                #[inline(always)]
                || $run,
            ),
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::InstructionSet::Avx2($isa) => $crate::flex::simd::Isa::call(
                $isa,
                #[inline(always)]
                || $run,
            ),
            #[cfg(target_arch = "aarch64")]
            $crate::flex::simd::InstructionSet::Neon($isa) => $crate::flex::simd::Isa::call(
                $isa,
                #[inline(always)]
                || $run,
            ),
            $crate::flex::simd::InstructionSet::Portable($isa) => $run,
        }
    };
}

pub(crate) use with_isa;

impl InstructionSet {
    /// Names in the environment, from the widest set on.
    const NAMES: &[(&str, usize)] = &[
        #[cfg(target_arch = "x86_64")]
        ("avx512", 0),
        #[cfg(target_arch = "x86_64")]
        ("avx2", 1),
        #[cfg(target_arch = "aarch64")]
        ("neon", 1),
        ("portable", 2),
    ];

    /// The sets that the processor has, from the widest one on.
    pub fn all() -> impl Iterator<Item = Self> {
        let sets = [
            #[cfg(target_arch = "x86_64")]
            Avx512::new().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            Neon::new().map(Self::Neon),
            Some(Self::Portable(Portable)),
        ];
        sets.into_iter().flatten()
    }

    /// The widest set that the processor has and the environment allows.
    pub fn best() -> Self {
        static BEST: OnceLock<InstructionSet> = OnceLock::new();
        #[cfg(test)]
        if let Some(set) = FORCED.get() {
            return set;
        }
        *BEST.get_or_init(|| {
            let best = Self::all().find(|set| set.is_allowed());
            best.unwrap_or(Self::Portable(Portable))
        })
    }

    /// Whether the environment allows it: `ONNX_EMBED_INSTRUCTIONS` names the widest set that is used.
    pub fn is_allowed(self) -> bool {
        static WIDEST: OnceLock<usize> = OnceLock::new();
        let rank = match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 0,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 1,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => 1,
            Self::Portable(_) => 2,
        };
        let widest = || switches::chosen("ONNX_EMBED_INSTRUCTIONS", Self::NAMES).unwrap_or(0);
        rank >= *WIDEST.get_or_init(widest)
    }

    /// Number of 32-bit lanes of a register.
    pub fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Avx512::LANES,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Avx2::LANES,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => Neon::LANES,
            Self::Portable(_) => Portable::LANES,
        }
    }

    /// Maximum number of rows of a tile of floats.
    pub fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 14,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 6,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => 12,
            Self::Portable(_) => 6,
        }
    }

    /// Number of columns of a tile of floats.
    pub fn columns(self) -> usize {
        2 * self.lanes()
    }

    /// Whether there are 32 registers, not 16.
    pub fn has_many_registers(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => false,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => true,
            Self::Portable(_) => false,
        }
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<InstructionSet>> = const { std::cell::Cell::new(None) };
}

/// Runs a test with each set that the processor has.
#[cfg(test)]
pub fn with_each_set(run: impl Fn(InstructionSet)) {
    for set in InstructionSet::all() {
        FORCED.set(Some(set));
        run(set);
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
