//! Dot products of bytes.
//!
//! Each lane of a register sums four products at once.

#[cfg(target_arch = "aarch64")]
mod arm;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub use arm::NeonDot;
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx512Vnni, AvxVnni};

#[cfg(target_arch = "x86_64")]
use super::Avx2;
#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::Simd128;
#[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
use super::set::OneRounding;
use super::{InstructionSet, Isa, Portable};
use crate::deterministic;

/// The most significant bits of four bytes: flipping them turns signed bytes into unsigned ones, 128 more.
pub const SIGNS: u32 = 0x8080_8080;

/// An instruction set with sums of products of four bytes.
///
/// One operand of a product is a row of signed bytes, the same for all lanes; the other one, the terms of
/// columns, is signed or unsigned by [`DotIsa::SIGNED_COLUMNS`].
pub trait DotIsa: Isa {
    /// Four bytes for each lane.
    type Terms: Copy;

    /// Number of words that four bytes of a row take, as [`DotInstructions::write_row`] writes them.
    const WORDS: usize;
    /// Whether terms of columns are signed bytes.
    const SIGNED_COLUMNS: bool;
    /// Maximum number of rows of a tile of bytes.
    const BYTE_MR: usize;
    /// Whether there are registers for several rows of windows.
    const HAS_REGISTERS: bool = true;

    /// The terms of the first [`Isa::LANES`] words.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn terms(self, from: &[u32]) -> Self::Terms;

    /// Terms from anywhere in blocks of sixteen bytes, one for each four lanes, which begin `step` bytes
    /// apart. `index` has the offsets of the terms in a block, less than 16.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes.
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> Self::Terms;

    /// Adds the products with four bytes of a row, the first [`DotIsa::WORDS`] words.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn add_dot(self, sum: Self::Ints, terms: Self::Terms, row: &[u32]) -> Self::Ints;

    /// Adds the products of four bytes of each row with the terms of some columns.
    ///
    /// # Panics
    ///
    /// If there are fewer words than rows have.
    #[inline(always)]
    fn add_dots<const ROWS: usize, const REGISTERS: usize>(
        self,
        sums: &mut [[Self::Ints; REGISTERS]; ROWS],
        rows: &[u32],
        columns: [Self::Terms; REGISTERS],
    ) {
        let rows = &rows[..ROWS * Self::WORDS];
        for (row, sums) in sums.iter_mut().enumerate() {
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = self.add_dot(*sum, column, &rows[row * Self::WORDS..]);
            }
        }
    }

    /// Number that [`DotIsa::add_code_dot`] subtracts from codes of `bits` bits.
    #[inline(always)]
    fn code_offset(_bits: usize) -> i32 {
        0
    }

    /// Adds the products of four codes of `BITS` bits, in bytes, with four signed bytes above -128.
    fn add_code_dot<const BITS: usize>(self, sum: Self::Ints, codes: Self::Ints, row: u32) -> Self::Ints;
}

/// Instructions for products of bytes that the processor has, from the fastest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DotInstructions {
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni(Avx512Vnni),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(AvxVnni),
    /// Products of integers of 16 bits: those of bytes saturate.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    NeonDot(NeonDot),
    /// Products of integers of 16 bits.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    /// Products of integers of 16 bits.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(Simd128),
    Portable(Portable),
    /// The fastest of those without fused instructions for floats, for deterministic calls.
    #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
    OneRounding(OneRounding),
}

/// Evaluates an expression with the token of [`DotInstructions`].
macro_rules! match_dot_isa {
    ($dot:expr, $isa:ident => $run:expr) => {
        match $dot {
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::DotInstructions::Avx512Vnni($isa) => $run,
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::DotInstructions::AvxVnni($isa) => $run,
            #[cfg(target_arch = "x86_64")]
            $crate::flex::simd::DotInstructions::Avx2($isa) => $run,
            #[cfg(target_arch = "aarch64")]
            $crate::flex::simd::DotInstructions::NeonDot($isa) => $run,
            #[cfg(target_arch = "aarch64")]
            $crate::flex::simd::DotInstructions::Neon($isa) => $run,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            $crate::flex::simd::DotInstructions::Simd128($isa) => $run,
            $crate::flex::simd::DotInstructions::Portable($isa) => $run,
            #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
            $crate::flex::simd::DotInstructions::OneRounding($isa) => $run,
        }
    };
}

/// Evaluates an expression with the token of [`DotInstructions`], compiled for it.
macro_rules! with_dot_isa {
    ($dot:expr, $isa:ident => $run:expr) => {
        $crate::flex::simd::match_dot_isa!($dot, $isa => {
            $crate::flex::simd::Isa::call(
                $isa,
                #[inline(always)]
                || $run,
            )
        })
    };
}

pub(crate) use {match_dot_isa, with_dot_isa};

/// A constant of the token of `self`.
macro_rules! constant {
    ($self:ident, $constant:ident: $type:ty) => {{
        fn constant<I: DotIsa>(_: I) -> $type {
            I::$constant
        }
        match_dot_isa!($self, isa => constant(isa))
    }};
}

impl DotInstructions {
    /// Returns true if one instruction multiplies four bytes for each lane and adds the products.
    pub fn adds_bytes_at_once(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni(_) | Self::AvxVnni(_) => true,
            #[cfg(target_arch = "aarch64")]
            Self::NeonDot(_) => true,
            _ => false,
        }
    }

    /// All instructions of the processor, from the fastest on, without those of deterministic calls.
    pub fn all() -> impl Iterator<Item = Self> {
        let all = [
            #[cfg(target_arch = "x86_64")]
            Avx512Vnni::new().map(Self::Avx512Vnni),
            #[cfg(target_arch = "x86_64")]
            AvxVnni::new().map(Self::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            NeonDot::new().map(Self::NeonDot),
            #[cfg(target_arch = "aarch64")]
            Neon::new().map(Self::Neon),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Some(Self::Simd128(Simd128)),
            Some(Self::Portable(Portable)),
        ];
        all.into_iter().flatten()
    }

    /// The fastest instructions that the processor has and the environment allows. In a deterministic call they round
    /// products of floats and their sums once.
    pub fn best() -> Self {
        let best = Self::fastest();
        if deterministic::is_on() { best.with_one_rounding() } else { best }
    }

    /// The instructions themselves if they are fused, else others that compute the same.
    fn with_one_rounding(self) -> Self {
        match self {
            #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
            Self::Portable(_) => Self::OneRounding(OneRounding::HERE),
            #[cfg(all(feature = "deterministic", target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128(_) => Self::OneRounding(OneRounding::HERE),
            dot => dot,
        }
    }

    fn fastest() -> Self {
        #[cfg(test)]
        if let Some(dot) = FORCED.get() {
            return dot;
        }
        let best = Self::all().find(|dot| dot.set().is_allowed());
        best.unwrap_or(Self::Portable(Portable))
    }

    /// The instruction set that they go with.
    fn set(self) -> InstructionSet {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni(isa) => InstructionSet::Avx512(isa.base()),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(isa) => InstructionSet::Avx2(isa.base()),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) => InstructionSet::Avx2(isa),
            #[cfg(target_arch = "aarch64")]
            Self::NeonDot(isa) => InstructionSet::Neon(isa.base()),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(isa) => InstructionSet::Neon(isa),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128(isa) => InstructionSet::Simd128(isa),
            Self::Portable(isa) => InstructionSet::Portable(isa),
            #[cfg(all(feature = "deterministic", not(target_arch = "aarch64")))]
            Self::OneRounding(isa) => InstructionSet::OneRounding(isa),
        }
    }

    /// Number of sums of a register.
    pub fn lanes(self) -> usize {
        constant!(self, LANES: usize)
    }

    /// Maximum number of rows of a tile.
    pub fn mr(self) -> usize {
        constant!(self, BYTE_MR: usize)
    }

    /// Number of columns of a tile.
    pub fn nr(self) -> usize {
        2 * self.lanes()
    }

    /// Number of words that four terms of a row take.
    pub fn words(self) -> usize {
        constant!(self, WORDS: usize)
    }

    fn has_signed_columns(self) -> bool {
        constant!(self, SIGNED_COLUMNS: bool)
    }

    /// The bits that change in four terms of columns, from signed or unsigned bytes.
    pub fn flip(self, is_signed: bool) -> u32 {
        if is_signed == self.has_signed_columns() { 0 } else { SIGNS }
    }

    /// Number that [`DotInstructions::flip`] adds to terms, and that their zero point needs too.
    pub fn shift(self, is_signed: bool) -> i32 {
        match (is_signed, self.has_signed_columns()) {
            (true, false) => 128,
            (false, true) => -128,
            _ => 0,
        }
    }

    /// The bits that make unsigned bytes of terms of columns, and what that adds to each.
    #[inline(always)]
    pub fn unsigned(self) -> (u32, i32) {
        if self.has_signed_columns() { (SIGNS, 128) } else { (0, 0) }
    }

    /// Writes four signed terms of a row as [`DotIsa::add_dot`] reads them.
    #[inline(always)]
    pub fn write_row(self, terms: u32, to: &mut [u32]) {
        if self.words() == 1 {
            to[0] = terms;
        } else {
            // Integers of 16 bits: the first and the third term, then the others.
            let wide = |byte: u32| u32::from((byte as u8 as i8) as u16);
            to[0] = wide(terms) | wide(terms >> 16) << 16;
            to[1] = wide(terms >> 8) | wide(terms >> 24) << 16;
        }
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<DotInstructions>> = const { std::cell::Cell::new(None) };
}

/// Runs a test with all instructions that the processor has.
#[cfg(test)]
pub fn with_each_dot(run: impl Fn(DotInstructions)) {
    for dot in DotInstructions::all() {
        FORCED.set(Some(dot));
        run(dot);
    }
    FORCED.set(None);
}

/// Blocks of sixteen bytes that begin `step` bytes apart.
///
/// # Panics
///
/// If there are fewer bytes.
#[inline(always)]
fn blocks<const N: usize>(from: &[u8], step: usize) -> [[u8; 16]; N] {
    let last = step.checked_mul(N - 1);
    let end = last.and_then(|last| last.checked_add(16));
    assert!(end.is_some_and(|end| end <= from.len()));
    let mut blocks = [[0; 16]; N];
    for (at, block) in blocks.iter_mut().enumerate() {
        // SAFETY: the last block begins in the slice, by the assertion, and the others before it.
        let first = unsafe { from.as_ptr().add(at * step) };
        // SAFETY: by the assertion, all 16 bytes are in the slice.
        *block = unsafe { first.cast::<[u8; 16]>().read() };
    }
    blocks
}
