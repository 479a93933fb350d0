//! Squares of numbers, read and written with their axes exchanged.

use crate::flex::{
    gemm::{Lanes, Plain},
    instructions::WIDEST,
    memory::OutputTile,
};

/// Registers of channels, one for each place.
#[repr(align(64))]
#[derive(Default)]
pub struct Square(pub [[f32; WIDEST]; WIDEST]);

/// Lanes between which numbers move.
pub trait Transpose: Lanes {
    /// Reads some places of some channels, which are `step` numbers apart.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of the lanes.
    #[inline(always)]
    unsafe fn read(
        values: &[f32],
        step: usize,
        [channels, places]: [usize; 2],
        square: &mut Square,
    ) {
        for channel in 0..channels {
            let values = &values[channel * step..][..places];
            for (lanes, value) in square.0.iter_mut().zip(values) {
                lanes[channel] = *value;
            }
        }
    }

    /// Writes pixels of channels: a row for each channel.
    ///
    /// # Safety
    ///
    /// As for [`Transpose::read`].
    #[inline(always)]
    unsafe fn write(square: &Square, out: OutputTile<'_>) {
        assert!(out.rows() <= WIDEST && out.columns() <= WIDEST);
        for channel in 0..out.rows() {
            for (pixel, lanes) in square.0[..out.columns()].iter().enumerate() {
                // SAFETY: the channel and the pixel are a row and a column of the tile.
                unsafe {
                    out.as_mut_ptr()
                        .add(channel * out.stride() + pixel)
                        .write(lanes[channel])
                };
            }
        }
    }
}

impl Transpose for Plain {}

#[cfg(target_arch = "aarch64")]
impl Transpose for std::arch::aarch64::float32x4_t {}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{OutputTile, Square, Transpose, WIDEST};

    impl Transpose for __m256 {}

    impl Transpose for __m512 {
        #[inline(always)]
        unsafe fn read(
            values: &[f32],
            step: usize,
            [channels, places]: [usize; 2],
            square: &mut Square,
        ) {
            assert!(channels <= WIDEST && places <= WIDEST && channels > 0);
            let last = (channels - 1).checked_mul(step);
            let end = last.and_then(|last| last.checked_add(places));
            assert!(end.is_some_and(|end| values.len() >= end));
            let mask = ((1u32 << places) - 1) as u16;
            // SAFETY: masked loads read the places of the channels; and what the caller says.
            unsafe {
                let mut rows = [_mm512_setzero_ps(); WIDEST];
                for (channel, row) in rows[..channels].iter_mut().enumerate() {
                    *row = _mm512_maskz_loadu_ps(mask, values.as_ptr().add(channel * step));
                }
                for (lanes, row) in square.0.iter_mut().zip(transposed(rows)) {
                    _mm512_storeu_ps(lanes.as_mut_ptr(), row);
                }
            }
        }

        #[inline(always)]
        unsafe fn write(square: &Square, out: OutputTile<'_>) {
            assert!(out.rows() <= WIDEST && out.columns() <= WIDEST);
            let mask = ((1u32 << out.columns()) - 1) as u16;
            // SAFETY: masked stores write the columns of the tile's rows. The caller's promise for the rest.
            unsafe {
                let mut rows = [_mm512_setzero_ps(); WIDEST];
                for (row, lanes) in rows.iter_mut().zip(&square.0) {
                    *row = _mm512_loadu_ps(lanes.as_ptr());
                }
                for (channel, row) in transposed(rows)[..out.rows()].iter().enumerate() {
                    let to = out.as_mut_ptr().add(channel * out.stride());
                    _mm512_mask_storeu_ps(to, mask, *row);
                }
            }
        }
    }

    /// Number `i` of row `j` becomes number `j` of row `i`.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512.
    #[inline(always)]
    unsafe fn transposed(rows: [__m512; WIDEST]) -> [__m512; WIDEST] {
        // SAFETY: what the caller says.
        unsafe {
            let mut pairs = rows;
            for at in (0..WIDEST).step_by(2) {
                pairs[at] = _mm512_unpacklo_ps(rows[at], rows[at + 1]);
                pairs[at + 1] = _mm512_unpackhi_ps(rows[at], rows[at + 1]);
            }
            // Register `4 * i + j` has number `4 * k + j` of four rows in its part `k`.
            let mut fours = [_mm512_setzero_pd(); WIDEST];
            for at in (0..WIDEST).step_by(4) {
                // Closures over registers are not inlined for sure.
                let a = _mm512_castps_pd(pairs[at]);
                let b = _mm512_castps_pd(pairs[at + 1]);
                let c = _mm512_castps_pd(pairs[at + 2]);
                let d = _mm512_castps_pd(pairs[at + 3]);
                fours[at] = _mm512_unpacklo_pd(a, c);
                fours[at + 1] = _mm512_unpackhi_pd(a, c);
                fours[at + 2] = _mm512_unpacklo_pd(b, d);
                fours[at + 3] = _mm512_unpackhi_pd(b, d);
            }
            let mut columns = rows;
            for at in 0..4 {
                let a = _mm512_castpd_ps(fours[at]);
                let b = _mm512_castpd_ps(fours[at + 4]);
                let c = _mm512_castpd_ps(fours[at + 8]);
                let d = _mm512_castpd_ps(fours[at + 12]);
                let even = [
                    _mm512_shuffle_f32x4::<0x88>(a, b),
                    _mm512_shuffle_f32x4::<0x88>(c, d),
                ];
                let odd = [
                    _mm512_shuffle_f32x4::<0xdd>(a, b),
                    _mm512_shuffle_f32x4::<0xdd>(c, d),
                ];
                columns[at] = _mm512_shuffle_f32x4::<0x88>(even[0], even[1]);
                columns[at + 4] = _mm512_shuffle_f32x4::<0x88>(odd[0], odd[1]);
                columns[at + 8] = _mm512_shuffle_f32x4::<0xdd>(even[0], even[1]);
                columns[at + 12] = _mm512_shuffle_f32x4::<0xdd>(odd[0], odd[1]);
            }
            columns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::instructions::{Set, with_each_set};
    use crate::flex::memory::overwrite;

    #[test]
    fn axes_are_exchanged() {
        let values: Vec<f32> = (0..800).map(|value| value as f32).collect();
        with_each_set(|set| {
            for (channels, places) in [(1, 1), (3, 4), (8, 7), (16, 16), (13, 2), (2, 13)] {
                let (channels, places) = (channels.min(set.lanes()), places.min(set.lanes()));
                let size = [channels, places];
                let mut square = Square::default();
                let length = (channels - 1) * 50 + places;
                let read = &values[..length];
                // SAFETY: the processor has the instructions, and this thread alone writes.
                let out = unsafe {
                    match set {
                        #[cfg(target_arch = "x86_64")]
                        Set::Avx512 => {
                            through::<std::arch::x86_64::__m512>(read, size, &mut square)
                        }
                        #[cfg(target_arch = "x86_64")]
                        Set::Avx2 => through::<std::arch::x86_64::__m256>(read, size, &mut square),
                        #[cfg(target_arch = "aarch64")]
                        Set::Neon => {
                            through::<std::arch::aarch64::float32x4_t>(read, size, &mut square)
                        }
                        Set::Portable => through::<Plain>(read, size, &mut square),
                    }
                };
                for channel in 0..channels {
                    for place in 0..places {
                        let value = (channel * 50 + place) as f32;
                        assert_eq!(square.0[place][channel], value, "{set:?} {size:?}");
                        assert_eq!(out[channel * 50 + place], value, "{set:?} {size:?}");
                    }
                }
            }
        });
    }

    /// # Safety
    ///
    /// The processor has the instructions of the lanes.
    unsafe fn through<L: Transpose>(
        values: &[f32],
        size: [usize; 2],
        square: &mut Square,
    ) -> Vec<f32> {
        let mut out = vec![0.0; values.len().next_multiple_of(50)];
        overwrite(&mut out, |out| {
            let mut out = out.reshaped(values.len().div_ceil(50), 50);
            // SAFETY: the caller's promise. All elements are initialized before.
            unsafe {
                L::read(values, 50, size, square);
                L::write(square, out.tile(0..size[0], 0..size[1]));
                out.assume_written()
            }
        });
        out
    }
}
