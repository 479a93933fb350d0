//! Instructions for products of bytes.

use crate::flex::instructions::Set;

/// The most significant bits of four bytes: what tells signed from unsigned ones, shifted by 128.
pub const SHIFT: u32 = 0x8080_8080;

/// How four products of bytes are added to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    VnniNarrow,
    #[cfg(target_arch = "x86_64")]
    Madd,
    #[cfg(target_arch = "aarch64")]
    Sdot,
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// What the compiler may assume.
    Portable,
}

impl Dot {
    pub const ALL: &[Self] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Vnni,
        #[cfg(target_arch = "x86_64")]
        Self::VnniNarrow,
        #[cfg(target_arch = "x86_64")]
        Self::Madd,
        #[cfg(target_arch = "aarch64")]
        Self::Sdot,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
        Self::Portable,
    ];

    /// The best one that the processor has and the environment allows.
    pub fn best() -> Self {
        #[cfg(test)]
        if let Some(dot) = FORCED.get() {
            return dot;
        }
        let mut all = Self::ALL.iter().copied();
        all.find(|dot| dot.is_there() && dot.set().is_allowed())
            .unwrap_or(Self::Portable)
    }

    /// The set that its instructions go with.
    fn set(self) -> Set {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => Set::Avx512,
            #[cfg(target_arch = "x86_64")]
            Self::VnniNarrow | Self::Madd => Set::Avx2,
            #[cfg(target_arch = "aarch64")]
            Self::Sdot | Self::Neon => Set::Neon,
            Self::Portable => Set::Portable,
        }
    }

    /// Whether the processor has its instructions.
    pub fn is_there(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => {
                self.set().is_there()
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "x86_64")]
            Self::VnniNarrow => self.set().is_there() && is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Self::Madd => self.set().is_there(),
            #[cfg(target_arch = "aarch64")]
            Self::Sdot => {
                self.set().is_there() && std::arch::is_aarch64_feature_detected!("dotprod")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => self.set().is_there(),
            Self::Portable => true,
        }
    }

    /// How many sums a register has.
    pub fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => 16,
            #[cfg(target_arch = "x86_64")]
            Self::VnniNarrow | Self::Madd => 8,
            #[cfg(target_arch = "aarch64")]
            Self::Sdot | Self::Neon => 4,
            Self::Portable => 4,
        }
    }

    /// How many rows the largest tile has.
    pub fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => 14,
            #[cfg(target_arch = "x86_64")]
            Self::VnniNarrow => 6,
            #[cfg(target_arch = "x86_64")]
            Self::Madd => 4,
            #[cfg(target_arch = "aarch64")]
            Self::Sdot => 12,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 8,
            Self::Portable => 4,
        }
    }

    /// How many columns a tile has.
    pub fn columns(self) -> usize {
        2 * self.lanes()
    }

    /// How many words four terms of a row take.
    pub fn words(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Madd => 2,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 2,
            _ => 1,
        }
    }

    /// Whether terms of columns are signed bytes, as those of rows are, and not unsigned ones.
    fn has_signed_columns(self) -> bool {
        match self {
            #[cfg(target_arch = "aarch64")]
            Self::Sdot | Self::Neon => true,
            _ => false,
        }
    }

    /// The bits that change in four terms of columns, from signed or unsigned bytes.
    pub fn flip(self, is_signed: bool) -> u32 {
        if is_signed == self.has_signed_columns() {
            0
        } else {
            SHIFT
        }
    }

    /// What that adds to them and to their zero point.
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
        if self.has_signed_columns() {
            (SHIFT, 128)
        } else {
            (0, 0)
        }
    }

    /// Writes four signed terms of a row as tiles read them.
    #[inline(always)]
    pub fn write(self, terms: u32, to: &mut [u32]) {
        if self.words() == 1 {
            to[0] = terms;
        } else {
            // Numbers of 16 bits: the first and the third term, then the others.
            let wide = |byte: u32| u32::from((byte as u8 as i8) as u16);
            to[0] = wide(terms) | wide(terms >> 16) << 16;
            to[1] = wide(terms >> 8) | wide(terms >> 24) << 16;
        }
    }

    /// How many rows panels of about equal size have.
    pub fn panel(self, rows: usize) -> usize {
        let panels = rows.div_ceil(self.rows());
        rows.div_ceil(panels.max(1)).max(1)
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<Dot>> = const { std::cell::Cell::new(None) };
}

/// Runs a test with each kind of product that the processor has.
#[cfg(test)]
pub fn with_each_dot(run: impl Fn(Dot)) {
    for dot in Dot::ALL {
        if dot.is_there() {
            FORCED.set(Some(*dot));
            run(*dot);
        }
    }
    FORCED.set(None);
}
