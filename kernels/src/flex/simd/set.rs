//! The instruction sets that kernels are compiled for.

#[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
mod one_rounding;

use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::Simd128;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512};
use super::{Isa, Portable};
use crate::{backend::switches, deterministic};
#[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
pub use one_rounding::OneRounding;

/// An instruction set that the processor has, from the widest one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(Simd128),
    Portable(Portable),
    /// The widest of the sets above without fused instructions, for deterministic calls.
    #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
    OneRounding(OneRounding),
}

/// Evaluates an expression with the token of an [`InstructionSet`].
macro_rules! match_isa {
    ($set:expr, $isa:ident => $run:expr) => {
        match $set {
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::InstructionSet::Avx512($isa) => $run,
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::InstructionSet::Avx2($isa) => $run,
            #[cfg(target_arch = "aarch64")]
            $crate::flex::simd::InstructionSet::Neon($isa) => $run,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            $crate::flex::simd::InstructionSet::Simd128($isa) => $run,
            $crate::flex::simd::InstructionSet::Portable($isa) => $run,
            #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
            $crate::flex::simd::InstructionSet::OneRounding($isa) => $run,
        }
    };
}

/// Evaluates an expression with the token of an [`InstructionSet`], compiled for it.
macro_rules! with_isa {
    ($set:expr, $isa:ident => $run:expr) => {
        $crate::flex::simd::match_isa!($set, $isa => {
            $crate::flex::simd::Isa::call(
                $isa,
                #[inline(always)]
                || $run,
            )
        })
    };
}

pub(crate) use {match_isa, with_isa};

/// Calls a function that is compiled for the widest set if it, and all that it calls, is `#[inline(always)]`.
#[inline(always)]
pub fn vectorized<R>(run: impl FnOnce() -> R) -> R {
    match_isa!(InstructionSet::best(), isa => isa.call(run))
}

impl InstructionSet {
    /// The sets that the processor has, from the widest one on, without that of deterministic calls.
    pub fn all() -> impl Iterator<Item = Self> {
        let sets = [
            #[cfg(target_arch = "x86_64")]
            Avx512::new().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            Neon::new().map(Self::Neon),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Some(Self::Simd128(Simd128)),
            Some(Self::Portable(Portable)),
        ];
        sets.into_iter().flatten()
    }

    /// The widest set that the processor has and the environment allows. In a deterministic call it rounds products and their
    /// sums once.
    pub fn best() -> Self {
        let best = Self::widest();
        if deterministic::is_on() { best.with_one_rounding() } else { best }
    }

    /// The set itself if it has fused instructions, else one that computes the same.
    fn with_one_rounding(self) -> Self {
        match self {
            #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
            Self::Portable(_) => Self::OneRounding(OneRounding::HERE),
            #[cfg(all(feature = "deterministic", target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128(_) => Self::OneRounding(OneRounding::HERE),
            set => set,
        }
    }

    fn widest() -> Self {
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

    /// Returns false for sets that are wider than `ONNX_EMBED_INSTRUCTIONS` says.
    pub fn is_allowed(self) -> bool {
        static WIDEST: OnceLock<usize> = OnceLock::new();
        /// Names of all sets, from the widest one on, and their ranks.
        const NAMES: [(&str, usize); 5] =
            [("avx512", 0), ("avx2", 1), ("neon", 2), ("simd128", 3), ("portable", 4)];
        let is_here = |(name, _): &(&str, usize)| match *name {
            "avx512" | "avx2" => cfg!(target_arch = "x86_64"),
            "neon" => cfg!(target_arch = "aarch64"),
            "simd128" => cfg!(target_arch = "wasm32"),
            _ => true,
        };
        let widest = || {
            let names: Vec<_> = NAMES.into_iter().filter(is_here).collect();
            switches::chosen("ONNX_EMBED_INSTRUCTIONS", &names).unwrap_or(0)
        };
        let own = NAMES.iter().find(|(name, _)| *name == self.name());
        own.is_some_and(|(_, rank)| rank >= WIDEST.get_or_init(widest))
    }

    /// Its name in the environment.
    fn name(self) -> &'static str {
        fn name<I: Isa>(_: I) -> &'static str {
            I::NAME
        }
        match_isa!(self, isa => name(isa))
    }

    /// Number of 32-bit lanes of a register.
    pub fn lanes(self) -> usize {
        fn lanes<I: Isa>(_: I) -> usize {
            I::LANES
        }
        match_isa!(self, isa => lanes(isa))
    }

    /// Maximum number of rows of a tile of floats.
    pub fn mr(self) -> usize {
        fn rows<I: Isa>(_: I) -> usize {
            I::MR
        }
        match_isa!(self, isa => rows(isa))
    }

    /// Number of columns of a tile of floats.
    pub fn nr(self) -> usize {
        2 * self.lanes()
    }

    /// Returns true if there are more than 16 registers.
    pub fn has_many_registers(self) -> bool {
        fn has_many<I: Isa>(_: I) -> bool {
            I::REGISTERS > 16
        }
        match_isa!(self, isa => has_many(isa))
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
