//! Registers that read only the numbers of a mask.

use crate::flex::gemm::{Lanes, Plain};

/// Lanes that are read and written by the bits of a mask.
///
/// As for [`Lanes`], pointers are good for what the mask has, and for nothing else.
#[allow(clippy::missing_safety_doc)]
pub trait Masked: Lanes {
    /// The greater number; NaN where one is.
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// Lane `at` reads the number `at`, or that of `other`.
    unsafe fn load_some(from: *const f32, mask: u32, other: Self) -> Self;
    /// Lane `at` reads the number `2 * at`; the mask has a bit for each number.
    unsafe fn load_pairs(from: *const f32, mask: u32, other: Self) -> Self;
    unsafe fn store_some(self, to: *mut f32, mask: u32);

    /// Lane `at` reads the number `stride * at`.
    #[inline(always)]
    unsafe fn load_strided(from: *const f32, stride: usize, mask: u32, other: Self) -> Self {
        let mut lanes = [0f32; 16];
        // SAFETY: no register has more than sixteen lanes, and the mask says what is read.
        unsafe {
            other.store(lanes.as_mut_ptr());
            for (at, lane) in lanes[..Self::COUNT].iter_mut().enumerate() {
                if mask & (1 << at) != 0 {
                    *lane = *from.wrapping_add(at * stride);
                }
            }
            Self::load(lanes.as_ptr())
        }
    }
}

impl Masked for Plain {
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b || a.is_nan() { a } else { b })
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn load_some(from: *const f32, mask: u32, other: Self) -> Self {
        // SAFETY: a full mask reads all lanes.
        unsafe {
            if mask == 15 {
                Self::load(from)
            } else {
                Self::load_strided(from, 1, mask, other)
            }
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: *const f32, mask: u32, other: Self) -> Self {
        let every = (0..4).fold(0, |lanes, at| lanes | (mask >> at & 1 << at));
        // SAFETY: the mask has a bit for each number.
        unsafe { Self::load_strided(from, 2, every, other) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: u32) {
        let mut lanes = [0f32; 4];
        // SAFETY: the mask says what is written.
        unsafe {
            self.store(lanes.as_mut_ptr());
            for (at, lane) in lanes.into_iter().enumerate() {
                if mask & (1 << at) != 0 {
                    to.add(at).write(lane);
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::Masked;

    /// Lane `at` of a mask reads the number `stride * at`.
    ///
    /// # Safety
    ///
    /// There are the numbers of the mask.
    #[inline(always)]
    unsafe fn load(
        from: *const f32,
        stride: usize,
        mask: u32,
        mut values: float32x4_t,
    ) -> float32x4_t {
        let at = |lane: usize| from.wrapping_add(lane * stride);
        // SAFETY: what the caller says.
        unsafe {
            if mask & 1 != 0 {
                values = vld1q_lane_f32::<0>(at(0), values);
            }
            if mask & 2 != 0 {
                values = vld1q_lane_f32::<1>(at(1), values);
            }
            if mask & 4 != 0 {
                values = vld1q_lane_f32::<2>(at(2), values);
            }
            if mask & 8 != 0 {
                values = vld1q_lane_f32::<3>(at(3), values);
            }
        }
        values
    }

    impl Masked for float32x4_t {
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            // SAFETY: the processor has the instructions, as for all methods.
            unsafe { vmaxq_f32(self, other) }
        }

        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vmulq_f32(self, other) }
        }

        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vdivq_f32(self, other) }
        }

        #[inline(always)]
        unsafe fn load_some(from: *const f32, mask: u32, other: Self) -> Self {
            // SAFETY: as above, and the mask says what is read.
            unsafe {
                if mask == 15 {
                    vld1q_f32(from)
                } else {
                    load(from, 1, mask, other)
                }
            }
        }

        #[inline(always)]
        unsafe fn load_pairs(from: *const f32, mask: u32, other: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                if mask & 0x55 == 0x55 {
                    // Lane 3 is number 6: there need not be a number 7.
                    let (low, high) = (vld1q_f32(from), vld1q_f32(from.add(3)));
                    return vuzp1q_f32(low, vextq_f32::<1>(high, high));
                }
                let every = mask & 1 | mask >> 1 & 2 | mask >> 2 & 4 | mask >> 3 & 8;
                load(from, 2, every, other)
            }
        }

        #[inline(always)]
        unsafe fn load_strided(from: *const f32, stride: usize, mask: u32, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { load(from, stride, mask, other) }
        }

        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, mask: u32) {
            // SAFETY: as above, and the mask says what is written.
            unsafe {
                if mask == 15 {
                    return vst1q_f32(to, self);
                }
                if mask & 1 != 0 {
                    vst1q_lane_f32::<0>(to, self);
                }
                if mask & 2 != 0 {
                    vst1q_lane_f32::<1>(to.add(1), self);
                }
                if mask & 4 != 0 {
                    vst1q_lane_f32::<2>(to.add(2), self);
                }
                if mask & 8 != 0 {
                    vst1q_lane_f32::<3>(to.add(3), self);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Masked;

    impl Masked for __m512 {
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            // SAFETY: the processor has the instructions, as for all methods.
            unsafe {
                // The second operand passes where one is NaN.
                let unordered = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self, self);
                _mm512_mask_mov_ps(_mm512_max_ps(self, other), unordered, self)
            }
        }

        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_mul_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_div_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn load_some(from: *const f32, mask: u32, other: Self) -> Self {
            // SAFETY: as above; a masked load reads the numbers of the mask.
            unsafe { _mm512_mask_loadu_ps(other, mask as u16, from) }
        }

        #[inline(always)]
        unsafe fn load_pairs(from: *const f32, mask: u32, other: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let low = _mm512_mask_loadu_ps(other, mask as u16, from);
                let next = from.wrapping_add(16);
                let high = _mm512_mask_loadu_ps(other, (mask >> 16) as u16, next);
                let even =
                    _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                _mm512_permutex2var_ps(low, even, high)
            }
        }

        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, mask: u32) {
            // SAFETY: as above; a masked store writes the numbers of the mask.
            unsafe { _mm512_mask_storeu_ps(to, mask as u16, self) }
        }
    }

    /// All bits of the lanes of a mask.
    ///
    /// # Safety
    ///
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn wide(mask: u32) -> __m256i {
        // SAFETY: as above.
        unsafe {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let mask = _mm256_and_si256(_mm256_set1_epi32(mask as i32), bits);
            _mm256_cmpeq_epi32(mask, bits)
        }
    }

    impl Masked for __m256 {
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            // SAFETY: the processor has the instructions, as for all methods.
            unsafe {
                let unordered = _mm256_cmp_ps::<_CMP_UNORD_Q>(self, self);
                _mm256_blendv_ps(_mm256_max_ps(self, other), self, unordered)
            }
        }

        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_mul_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_div_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn load_some(from: *const f32, mask: u32, other: Self) -> Self {
            // SAFETY: as above; a masked load reads the numbers of the mask.
            unsafe {
                if mask == 255 {
                    return _mm256_loadu_ps(from);
                }
                let mask = wide(mask);
                let values = _mm256_maskload_ps(from, mask);
                _mm256_blendv_ps(other, values, _mm256_castsi256_ps(mask))
            }
        }

        #[inline(always)]
        unsafe fn load_pairs(from: *const f32, mask: u32, other: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let low = Self::load_some(from, mask & 255, other);
                let high = Self::load_some(from.wrapping_add(8), mask >> 8 & 255, other);
                let mixed = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(mixed))
            }
        }

        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, mask: u32) {
            // SAFETY: as above; a masked store writes the numbers of the mask.
            unsafe { _mm256_maskstore_ps(to, wide(mask), self) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads with every part of a mask, where there is no memory behind what it has.
    unsafe fn check<L: Masked>() {
        let values: Vec<f32> = (0..2 * L::COUNT).map(|at| at as f32 + 1.0).collect();
        let all = (1u64 << L::COUNT) - 1;
        for mask in [0, all, 1, all >> 1, all & 0b1011, 1 << (L::COUNT - 1)] {
            let mask = mask as u32;
            let lanes = (0..L::COUNT).map(|at| mask & (1 << at) != 0);
            let spread = lanes.clone().enumerate();
            let spread = spread.fold(0, |bits, (at, on)| bits | u32::from(on) << (2 * at));
            // SAFETY: there are two numbers for each lane.
            let [one, two, three] = unsafe {
                let other = L::splat(-7.0);
                [
                    L::load_some(values.as_ptr(), mask, other),
                    L::load_pairs(values.as_ptr(), spread, other),
                    L::load_strided(values.as_ptr(), 2, mask, other),
                ]
            };
            for (register, stride) in [(one, 1), (two, 2), (three, 2)] {
                let mut out = [f32::NAN; 16];
                // SAFETY: no register has more than sixteen lanes.
                unsafe { register.store_some(out.as_mut_ptr(), all as u32) };
                for (at, on) in lanes.clone().enumerate() {
                    let expected = if on { values[stride * at] } else { -7.0 };
                    assert_eq!(out[at], expected, "{mask:b} {stride}");
                }
                let mut out = [f32::NAN; 16];
                // SAFETY: as above.
                unsafe { register.store_some(out.as_mut_ptr(), mask) };
                for (at, on) in lanes.clone().enumerate() {
                    assert_eq!(out[at].is_nan(), !on, "{mask:b}");
                }
            }
        }
    }

    #[test]
    fn masks_say_what_is_read_and_written() {
        // SAFETY: the processor has the instructions.
        unsafe {
            check::<Plain>();
            #[cfg(target_arch = "aarch64")]
            check::<std::arch::aarch64::float32x4_t>();
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                check::<std::arch::x86_64::__m256>();
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512f") {
                check::<std::arch::x86_64::__m512>();
            }
        }
    }
}
