//! Products of bytes, compared with scalars.

use std::mem::MaybeUninit;

use super::*;
use crate::flex::simd::{Ints, LaneMask};

fn lanes<I: Isa>(register: I::Ints) -> Vec<i32> {
    let mut bytes = vec![MaybeUninit::uninit(); 4 * I::LANES];
    let bytes = register.write_compressed(&mut bytes, LaneMask::first(I::LANES));
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| i32::from_ne_bytes(*word)).collect()
}

/// The sum of products of four terms of a column with those of a row.
fn dot(terms: [u8; 4], row: [i8; 4], is_signed: bool) -> i32 {
    let wide = |byte: u8| {
        if is_signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    terms.into_iter().zip(row).map(|(a, b)| wide(a) * i32::from(b)).sum()
}

#[inline(always)]
fn products<I: DotIsa>(isa: I, dot_of: DotInstructions) {
    let rows: [[i8; 4]; 3] = [[1, -2, 3, -4], [127, 127, -128, -128], [-128, 127, 0, 5]];
    let bytes: Vec<u8> = (0..128).map(|at: usize| (at * 37 + 200) as u8).collect();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut packed = vec![0; 3 * I::WORDS];
    for (row, packed) in rows.iter().zip(packed.chunks_exact_mut(I::WORDS)) {
        dot_of.write_row(u32::from_le_bytes(row.map(|byte| byte as u8)), packed);
    }
    let columns = [isa.terms(&words), isa.terms(&words[I::LANES..])];
    let mut sums = [[isa.splat_int(1000); 2]; 3];
    isa.add_dots(&mut sums, &packed, columns);
    for (sums, row) in sums.into_iter().zip(rows) {
        for (register, sum) in sums.into_iter().enumerate() {
            for (lane, sum) in lanes::<I>(sum).into_iter().enumerate() {
                let terms = words[register * I::LANES + lane].to_le_bytes();
                assert_eq!(sum, 1000 + dot(terms, row, I::SIGNED_COLUMNS));
            }
        }
    }
    // Neighbors, with strides and dilations that stay in a block.
    for [stride, dilation] in [[1, 1], [2, 1], [1, 3], [2, 2]] {
        let index = std::array::from_fn(|at| (at / 4 * stride + at % 4 * dilation) as u8);
        let step = 4 * stride;
        let length = (I::LANES / 4 - 1) * step + 16;
        let terms = isa.windows(&bytes[..length], step, &index);
        for (row, packed) in rows.iter().zip(packed.chunks_exact(I::WORDS)) {
            let sums = lanes::<I>(isa.add_dot(isa.splat_int(0), terms, packed));
            for (lane, sum) in sums.into_iter().enumerate() {
                let terms = std::array::from_fn(|term| bytes[lane * stride + term * dilation]);
                assert_eq!(sum, dot(terms, *row, I::SIGNED_COLUMNS));
            }
        }
    }
}

#[inline(always)]
fn codes<I: DotIsa, const BITS: usize>(isa: I) {
    let mask = ((1u32 << BITS) - 1) * 0x0101_0101;
    let words: [u32; 16] = std::array::from_fn(|at| (at as u32).wrapping_mul(0x1234_5677) & mask);
    let row: [i8; 4] = [127, -127, 5, -1];
    let codes = isa.load_ints(&words.map(|word| word as i32));
    let row_word = u32::from_le_bytes(row.map(|byte| byte as u8));
    let sums = lanes::<I>(isa.add_code_dot::<BITS>(isa.splat_int(7), codes, row_word));
    for (sum, word) in sums.into_iter().zip(words) {
        let row_sum: i32 = row.iter().map(|byte| i32::from(*byte)).sum();
        let expected = dot(word.to_le_bytes(), row, false) - I::code_offset(BITS) * row_sum;
        assert_eq!(sum, 7 + expected);
    }
}

#[test]
fn every_operation_of_every_set() {
    for dot in DotInstructions::all() {
        with_dot_isa!(dot, isa => {
            products(isa, dot);
            codes::<_, 2>(isa);
            codes::<_, 4>(isa);
            codes::<_, 8>(isa);
        });
    }
}
