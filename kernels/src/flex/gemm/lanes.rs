//! Numbers side by side in a register.

/// A register of as many numbers as a set of instructions takes at once.
///
/// The methods of a set may run on processors that have its instructions alone, and pointers are good
/// for as many numbers as they read or write.
#[allow(clippy::missing_safety_doc)]
pub trait Lanes: Copy {
    const COUNT: usize;

    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// `a * b + self`.
    unsafe fn plus(self, a: Self, b: Self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// Within bounds; NaN stays.
    unsafe fn clamp(self, low: Self, high: Self) -> Self;

    /// Adds the products of the numbers of all rows with some columns.
    #[inline(always)]
    unsafe fn add_products<const G: usize, const V: usize>(
        sums: &mut [[Self; V]; G],
        rows: *const f32,
        columns: [Self; V],
    ) {
        for (row, sums) in sums.iter_mut().enumerate() {
            // SAFETY: there is a number for each row.
            let value = unsafe { Self::splat(*rows.add(row)) };
            for (sum, column) in sums.iter_mut().zip(columns) {
                // SAFETY: the processor has the instructions.
                *sum = unsafe { sum.plus(value, column) };
            }
        }
    }

    /// Numbers that lie one after another, for the lanes of a mask; the other lanes are anything.
    #[inline(always)]
    unsafe fn spread(from: *const f32, mask: u32) -> Self {
        let mut lanes = [0f32; 16];
        let mut from = from;
        for (lane, value) in lanes[..Self::COUNT].iter_mut().enumerate() {
            if mask & (1 << lane) != 0 {
                // SAFETY: there is a number for each lane of the mask.
                unsafe {
                    *value = *from;
                    from = from.add(1);
                }
            }
        }
        // SAFETY: no register has more than sixteen lanes.
        unsafe { Self::load(lanes.as_ptr()) }
    }

    /// Writes the lanes of a mask one after another.
    #[inline(always)]
    unsafe fn gather(self, to: *mut f32, mask: u32) {
        let mut lanes = [0f32; 16];
        // SAFETY: no register has more than sixteen lanes.
        unsafe { self.store(lanes.as_mut_ptr()) };
        let mut to = to;
        for (lane, value) in lanes[..Self::COUNT].iter().enumerate() {
            if mask & (1 << lane) != 0 {
                // SAFETY: there is room for each lane of the mask.
                unsafe {
                    *to = *value;
                    to = to.add(1);
                }
            }
        }
    }
}

/// Lanes for the compiler to find instructions for.
#[derive(Clone, Copy)]
pub struct Plain([f32; 4]);

impl Plain {
    #[inline(always)]
    pub fn zip(self, other: Self, run: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| run(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Plain {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the pointer is good for four numbers.
        Self(unsafe { from.cast::<[f32; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the pointer is good for four numbers.
        unsafe { to.cast::<[f32; 4]>().write(self.0) };
    }

    #[inline(always)]
    unsafe fn plus(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            if cfg!(target_arch = "aarch64") {
                a.0[lane].mul_add(b.0[lane], self.0[lane])
            } else {
                a.0[lane] * b.0[lane] + self.0[lane]
            }
        }))
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }

    #[inline(always)]
    unsafe fn clamp(self, low: Self, high: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            let value = self.0[lane];
            let value = if value < low.0[lane] {
                low.0[lane]
            } else {
                value
            };
            if value > high.0[lane] {
                high.0[lane]
            } else {
                value
            }
        }))
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::Lanes;

    impl Lanes for float32x4_t {
        const COUNT: usize = 4;

        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the processor has the instructions, as for all methods.
            unsafe { vdupq_n_f32(value) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above, and the pointer is good for the lanes.
            unsafe { vld1q_f32(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { vst1q_f32(to, self) };
        }

        #[inline(always)]
        unsafe fn plus(self, a: Self, b: Self) -> Self {
            // SAFETY: as above.
            unsafe { vfmaq_f32(self, a, b) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vaddq_f32(self, other) }
        }

        #[inline(always)]
        unsafe fn clamp(self, low: Self, high: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let value = vbslq_f32(vcltq_f32(self, low), low, self);
                vbslq_f32(vcgtq_f32(value, high), high, value)
            }
        }

        /// Takes the numbers of four rows out of a register, which loads and copies of single ones are slower than.
        #[inline(always)]
        unsafe fn add_products<const G: usize, const V: usize>(
            sums: &mut [[Self; V]; G],
            rows: *const f32,
            columns: [Self; V],
        ) {
            // SAFETY: as above; there is a number for each row.
            unsafe {
                let mut row = 0;
                while row + 4 <= G {
                    let four = vld1q_f32(rows.add(row));
                    for (at, column) in columns.into_iter().enumerate() {
                        sums[row][at] = vfmaq_laneq_f32::<0>(sums[row][at], column, four);
                        sums[row + 1][at] = vfmaq_laneq_f32::<1>(sums[row + 1][at], column, four);
                        sums[row + 2][at] = vfmaq_laneq_f32::<2>(sums[row + 2][at], column, four);
                        sums[row + 3][at] = vfmaq_laneq_f32::<3>(sums[row + 3][at], column, four);
                    }
                    row += 4;
                }
                while row < G {
                    let value = vld1q_dup_f32(rows.add(row));
                    for (at, column) in columns.into_iter().enumerate() {
                        sums[row][at] = vfmaq_f32(sums[row][at], value, column);
                    }
                    row += 1;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    macro_rules! lanes {
        ($kind:ident $count:literal $splat:ident $load:ident $store:ident $fused:ident $add:ident $min:ident $max:ident { $($own:item)* }) => {
            impl Lanes for $kind {
                const COUNT: usize = $count;

                #[inline(always)]
                unsafe fn splat(value: f32) -> Self {
                    // SAFETY: the processor has the instructions, as for all methods.
                    unsafe { $splat(value) }
                }

                #[inline(always)]
                unsafe fn load(from: *const f32) -> Self {
                    // SAFETY: as above, and the pointer is good for the lanes.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut f32) {
                    // SAFETY: as above, and the pointer is good for the lanes.
                    unsafe { $store(to, self) };
                }

                #[inline(always)]
                unsafe fn plus(self, a: Self, b: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $fused(a, b, self) }
                }

                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $add(self, other) }
                }

                #[inline(always)]
                unsafe fn clamp(self, low: Self, high: Self) -> Self {
                    // The second operand passes where one is NaN.
                    // SAFETY: as above.
                    unsafe { $min(high, $max(low, self)) }
                }

                $($own)*
            }
        };
    }

    lanes! {
        __m512 16 _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps _mm512_add_ps _mm512_min_ps _mm512_max_ps {
            #[inline(always)]
            unsafe fn spread(from: *const f32, mask: u32) -> Self {
                let few = (1u32 << mask.count_ones()) - 1;
                // SAFETY: as above; a masked load reads as many numbers as there are lanes.
                unsafe {
                    let values = _mm512_maskz_loadu_ps(few as u16, from);
                    _mm512_maskz_expand_ps(mask as u16, values)
                }
            }

            #[inline(always)]
            unsafe fn gather(self, to: *mut f32, mask: u32) {
                let few = (1u32 << mask.count_ones()) - 1;
                // SAFETY: as above; a masked store writes as many numbers as there are lanes.
                unsafe {
                    let values = _mm512_maskz_compress_ps(mask as u16, self);
                    _mm512_mask_storeu_ps(to, few as u16, values);
                }
            }
        }
    }
    lanes! {
        __m256 8 _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_add_ps _mm256_min_ps _mm256_max_ps {}
    }
}
