//! Sums of 32 bits side by side in a register.

/// A register of sums, each of which takes products of four bytes at once.
///
/// The methods may run on processors that have their instructions alone, and pointers are good for as many
/// numbers as they read or write.
#[allow(clippy::missing_safety_doc)]
pub trait Lanes: Copy {
    const COUNT: usize;
    /// Words that four terms of a row take.
    const WORDS: usize;
    /// Whether there are registers for several rows of windows.
    const HAS_REGISTERS: bool = true;
    /// Four terms of each column.
    type Terms: Copy;
    type Float: Copy;

    unsafe fn splat(value: i32) -> Self;
    unsafe fn load(from: *const i32) -> Self;
    unsafe fn store(self, to: *mut i32);
    unsafe fn terms(from: *const u32) -> Self::Terms;
    /// Four terms of each lane from wherever they are: an index has the places of those of four lanes, and the
    /// next four lanes begin a `step` further. Reads sixteen bytes for each four lanes.
    unsafe fn windows(from: *const u8, step: usize, index: &[u8; 16]) -> Self::Terms;
    /// Adds the products with four signed terms of a row.
    unsafe fn plus(self, terms: Self::Terms, row: *const u32) -> Self;
    /// Adds the products of the terms of all rows with those of some columns.
    #[inline(always)]
    unsafe fn add_products<const G: usize, const V: usize>(
        sums: &mut [[Self; V]; G],
        rows: *const u32,
        columns: [Self::Terms; V],
    ) {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (sum, column) in sums.iter_mut().zip(columns) {
                // SAFETY: there are terms of each row.
                *sum = unsafe { sum.plus(column, rows.add(row * Self::WORDS)) };
            }
        }
    }

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;

    unsafe fn splat_float(value: f32) -> Self::Float;
    unsafe fn load_float(from: *const f32) -> Self::Float;
    /// `self * factor`, in floats.
    unsafe fn scaled(self, factor: Self::Float) -> Self::Float;
    unsafe fn add_float(a: Self::Float, b: Self::Float) -> Self::Float;
    /// The nearest integers, ties to even, plus `zero`, within bounds.
    unsafe fn rounded(
        x: Self::Float,
        zero: Self::Float,
        low: Self::Float,
        high: Self::Float,
    ) -> Self;
    unsafe fn bits(x: Self::Float) -> Self;

    /// Writes the lanes of a mask one after another.
    #[inline(always)]
    unsafe fn gather(self, to: *mut u32, mask: u32) {
        let mut lanes = [0i32; 16];
        // SAFETY: no register has more than sixteen lanes, and there is room for each lane of the mask.
        unsafe {
            self.store(lanes.as_mut_ptr());
            let mut to = to.cast::<i32>();
            for (lane, value) in lanes[..Self::COUNT].iter().enumerate() {
                if mask & (1 << lane) != 0 {
                    to.write_unaligned(*value);
                    to = to.add(1);
                }
            }
        }
    }

    /// Writes the lowest bytes of the lanes of a mask one after another.
    #[inline(always)]
    unsafe fn gather_bytes(self, to: *mut u8, mask: u32) {
        let mut lanes = [0i32; 16];
        // SAFETY: as above.
        unsafe {
            self.store(lanes.as_mut_ptr());
            let lanes = &lanes[..Self::COUNT];
            if mask == (1 << Self::COUNT) - 1 {
                for (at, value) in lanes.iter().enumerate() {
                    to.add(at).write(*value as u8);
                }
                return;
            }
            let mut to = to;
            for (lane, value) in lanes.iter().enumerate() {
                if mask & (1 << lane) != 0 {
                    to.write(*value as u8);
                    to = to.add(1);
                }
            }
        }
    }
}

/// Lanes for the compiler to find instructions for.
#[derive(Clone, Copy)]
pub struct Plain([i32; 4]);

impl Lanes for Plain {
    const COUNT: usize = 4;
    const WORDS: usize = 1;
    const HAS_REGISTERS: bool = false;
    type Terms = [u32; 4];
    type Float = [f32; 4];

    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: the pointer is good for four numbers.
        Self(unsafe { from.cast::<[i32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        // SAFETY: the pointer is good for four numbers.
        unsafe { to.cast::<[i32; 4]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    unsafe fn terms(from: *const u32) -> [u32; 4] {
        // SAFETY: the pointer is good for four numbers.
        unsafe { from.cast::<[u32; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn windows(from: *const u8, _: usize, index: &[u8; 16]) -> [u32; 4] {
        // SAFETY: the pointer is good for sixteen bytes, and places are less.
        let byte = |at: usize| unsafe { from.add(usize::from(index[at] & 15)).read() };
        std::array::from_fn(|lane| {
            u32::from_le_bytes(std::array::from_fn(|term| byte(4 * lane + term)))
        })
    }

    #[inline(always)]
    unsafe fn plus(self, terms: [u32; 4], row: *const u32) -> Self {
        // SAFETY: the pointer is good for one number.
        let row = unsafe { row.read() }.to_le_bytes().map(|byte| byte as i8);
        Self(std::array::from_fn(|lane| {
            let bytes = terms[lane].to_le_bytes();
            // Products of bytes have 16 bits.
            let product = |at: usize| i32::from(bytes[at]) * i32::from(row[at]);
            let sum = (product(0) + product(1)) + (product(2) + product(3));
            self.0[lane].wrapping_add(sum)
        }))
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            self.0[lane].wrapping_add(other.0[lane])
        }))
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            self.0[lane].wrapping_mul(other.0[lane])
        }))
    }

    #[inline(always)]
    unsafe fn splat_float(value: f32) -> [f32; 4] {
        [value; 4]
    }

    #[inline(always)]
    unsafe fn load_float(from: *const f32) -> [f32; 4] {
        // SAFETY: the pointer is good for four numbers.
        unsafe { from.cast::<[f32; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn scaled(self, factor: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|lane| self.0[lane] as f32 * factor[lane])
    }

    #[inline(always)]
    unsafe fn add_float(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    unsafe fn rounded(x: [f32; 4], zero: [f32; 4], low: [f32; 4], high: [f32; 4]) -> Self {
        Self(std::array::from_fn(|lane| {
            let value = x[lane].round_ties_even() + zero[lane];
            value.max(low[lane]).min(high[lane]) as i32
        }))
    }

    #[inline(always)]
    unsafe fn bits(x: [f32; 4]) -> Self {
        Self(x.map(|value| value.to_bits() as i32))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
pub use x86::{Madd, Vnni, VnniNarrow};

#[cfg(target_arch = "aarch64")]
mod arm;

#[cfg(target_arch = "aarch64")]
pub use arm::{Neon, Sdot};
