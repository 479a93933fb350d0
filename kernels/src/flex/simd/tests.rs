//! Each operation of each set, compared with scalars.

use std::mem::MaybeUninit;

use super::*;

const FACTOR: i32 = -0x0765_4321;

/// Numbers of all kinds.
const NUMBERS: [f32; 16] = [
    0.0,
    -0.0,
    1.5,
    2.5,
    -2.5,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    3.0,
    -7.25,
    1e30,
    -1e30,
    0.1,
    255.5,
    127.49,
    -128.5,
];

fn array<I: Isa>(register: I::Floats) -> Vec<f32> {
    let mut lanes = vec![0.0; I::LANES];
    register.store(&mut lanes);
    lanes
}

fn ints<I: Isa>(register: I::Ints) -> Vec<i32> {
    let mut bytes = vec![MaybeUninit::uninit(); 4 * I::LANES];
    let bytes = register.write_compressed(&mut bytes, LaneMask::first(I::LANES));
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| i32::from_ne_bytes(*word)).collect()
}

/// The same of two numbers.
type Scalar = &'static dyn Fn(f32, f32) -> f32;

fn is_same(a: f32, b: f32) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

#[inline(always)]
fn arithmetic<I: Isa>(isa: I) {
    for shift in 0..16 {
        let other: [f32; 16] = std::array::from_fn(|lane| NUMBERS[(lane + shift) % 16]);
        let (x, y) = (isa.load(&NUMBERS), isa.load(&other));
        let results: [(I::Floats, Scalar); 6] = [
            (x + y, &|a, b| a + b),
            (x - y, &|a, b| a - b),
            (x * y, &|a, b| a * b),
            (x / y, &|a, b| a / b),
            (x.max(y), &|a, b| {
                if a.is_nan() || b.is_nan() { f32::NAN } else { a.max(b) }
            }),
            (x.clamp(isa.splat(-2.0), isa.splat(2.0)), &|a, _| a.clamp(-2.0, 2.0)),
        ];
        for (at, (register, expected)) in results.into_iter().enumerate() {
            for (lane, value) in array::<I>(register).into_iter().enumerate() {
                let expected = expected(NUMBERS[lane], other[lane]);
                assert!(is_same(value, expected), "{at}: {value} {expected}");
            }
        }
        for (lane, value) in array::<I>(x.mul_add(y, x)).into_iter().enumerate() {
            let [a, b] = [NUMBERS[lane], other[lane]];
            assert!(is_same(value, a.mul_add(b, a)) || is_same(value, a * b + a));
        }
        let even = array::<I>(x.even_lanes(y));
        let both = [&NUMBERS[..I::LANES], &other[..I::LANES]].concat();
        assert!(even.iter().zip(both.iter().step_by(2)).all(|(a, b)| is_same(*a, *b)));
        let odd = array::<I>(x.odd_lanes(y));
        assert!(odd.iter().zip(both[1..].iter().step_by(2)).all(|(a, b)| is_same(*a, *b)));
        let turns = x.interleaved(y).map(array::<I>).concat();
        for (lane, pair) in turns.chunks(2).enumerate() {
            assert!(is_same(pair[0], NUMBERS[lane]) && is_same(pair[1], other[lane]));
        }
    }
    let rounded = isa.load(&NUMBERS).rounded(isa.splat(1.0), isa.splat(-100.0), isa.splat(100.0));
    for (value, x) in ints::<I>(rounded).into_iter().zip(NUMBERS) {
        let shifted = x.round_ties_even() + 1.0;
        let expected = if shifted.is_nan() { -100.0 } else { shifted.clamp(-100.0, 100.0) };
        assert_eq!(value, expected as i32, "{x}");
    }
    for (value, x) in ints::<I>(isa.load(&NUMBERS).bits()).into_iter().zip(NUMBERS) {
        assert_eq!(value as u32, x.to_bits());
    }
    let numbers: [i32; 16] = std::array::from_fn(|lane| (lane as i32 - 7) * 0x0123_4567);
    let (x, y) = (isa.load_ints(&numbers), isa.splat_int(FACTOR));
    for (lane, number) in numbers.into_iter().enumerate().take(I::LANES) {
        assert_eq!(ints::<I>(x + y)[lane], number.wrapping_add(FACTOR));
        assert_eq!(ints::<I>(x * y)[lane], number.wrapping_mul(FACTOR));
        assert_eq!(ints::<I>(x & y)[lane], number & FACTOR);
        assert_eq!(ints::<I>(x.shifted_right(5))[lane], (number as u32 >> 5) as i32);
        assert_eq!(array::<I>(x.floats())[lane], number as f32);
    }
}

/// Masks of some lanes.
fn masks<I: Isa>() -> [u32; 7] {
    let all = first_lanes(I::LANES);
    [0, all, 1, all >> 1, all & 0b1011, 1 << (I::LANES - 1), 0xa5a5 & all]
}

#[inline(always)]
fn memory<I: Isa>(isa: I) {
    let values: Vec<f32> = (0..I::LANES).map(|at| at as f32 + 1.0).collect();
    let numbers: Vec<i32> = (0..16).map(|at| 0x0102_0300 + at).collect();
    let (x, words) = (isa.load(&values), isa.load_ints(&numbers));
    for count in 0..=I::LANES {
        // An allocation of its own: reads beyond it are errors.
        let first: Box<[f32]> = values[..count].into();
        let lanes = array::<I>(isa.load_first(&first, isa.splat(-7.0)));
        assert_eq!(lanes[..count], values[..count]);
        assert!(lanes[count..].iter().all(|lane| *lane == -7.0));
        let mut out = vec![MaybeUninit::uninit(); count];
        assert_eq!(x.write(&mut out), &values[..count]);
        let mut out = vec![0.0; count];
        x.store_first(&mut out);
        assert_eq!(out, values[..count]);
    }
    for mask in masks::<I>() {
        let mask = LaneMask::new(mask);
        let is_in = |lane: &usize| mask.has(*lane);
        let inside: Vec<usize> = (0..I::LANES).filter(is_in).collect();
        let of_mask: Vec<f32> = inside.iter().map(|lane| values[*lane]).collect();
        let mut out = vec![MaybeUninit::uninit(); inside.len()];
        assert_eq!(x.write_compressed(&mut out, mask), of_mask);
        let expanded = array::<I>(isa.load_expanded(&of_mask, mask));
        assert!(inside.iter().all(|lane| expanded[*lane] == values[*lane]));
        let mut out = vec![MaybeUninit::uninit(); inside.len()];
        let bytes: Vec<u8> = inside.iter().map(|lane| numbers[*lane] as u8).collect();
        assert_eq!(words.write_bytes(&mut out, mask), bytes);
        let mut out = vec![MaybeUninit::uninit(); 4 * inside.len()];
        let words_of: Vec<u8> = inside.iter().flat_map(|lane| numbers[*lane].to_ne_bytes()).collect();
        assert_eq!(words.write_compressed(&mut out, mask), words_of);
    }
}

#[inline(always)]
fn rows<I: Isa>(isa: I) {
    let padding = isa.splat(-7.0);
    for width in [1, 3, I::LANES, 2 * I::LANES + 1, 40] {
        let row: Box<[f32]> = (0..width).map(|at| at as f32 + 1.0).collect();
        for (stride, count) in [(1, I::LANES), (1, 3), (2, I::LANES), (2, 1), (3, I::LANES), (3, 2)] {
            let first = [-3, -1, 0, 1, 2, width as isize - 1, -1000, 1000];
            let loads = RowLoads::new(I::LANES, count, stride, width, first.into_iter());
            let mut taps = first.into_iter();
            let run = |[register]: [I::Floats; 1]| {
                let first = taps.next().expect("there are as many taps");
                for (lane, value) in array::<I>(register).into_iter().enumerate().take(count) {
                    let at = first + (lane * stride) as isize;
                    let inside = (0..width as isize).contains(&at);
                    assert_eq!(value, if inside { row[at as usize] } else { -7.0 });
                }
            };
            let rows = Rows::new([&row], width);
            match stride {
                1 => loads.each::<I, 1, 1>(isa, &rows, padding, run),
                2 => loads.each::<I, 2, 1>(isa, &rows, padding, run),
                _ => loads.each::<I, 0, 1>(isa, &rows, padding, run),
            }
            if stride == 1 {
                for first in first {
                    let load = MaskedLoad::new(I::LANES, first, width);
                    let lanes = array::<I>(load.load(isa, &row, padding));
                    for (lane, value) in (0..).zip(lanes) {
                        let expected = row.get((first + lane) as usize);
                        assert_eq!(value, *expected.unwrap_or(&-7.0));
                    }
                }
            }
            match stride {
                1 => adjacent_taps::<I, 1>(isa, count, &row),
                2 => adjacent_taps::<I, 2>(isa, count, &row),
                _ => {}
            }
        }
    }
}

/// Five taps of a window, with masks and, where all their lanes are in the row, without them.
#[inline(always)]
fn adjacent_taps<I: Isa, const STRIDE: usize>(isa: I, count: usize, row: &[f32]) {
    let padding = isa.splat(-7.0);
    let rows = Rows::new([row], row.len());
    for first in -6..row.len() as isize + 2 {
        let loads = RowLoads::new(I::LANES, count, STRIDE, row.len(), first..first + 5);
        let end = first + 4 + (I::LANES * STRIDE) as isize;
        assert_eq!(loads.are_whole(), count == I::LANES && first >= 0 && end <= row.len() as isize);
        let check = |registers: [I::Floats; 5]| {
            for (first, register) in (first..).zip(registers) {
                for (lane, value) in array::<I>(register).into_iter().enumerate().take(count) {
                    let expected = row.get((first + (lane * STRIDE) as isize) as usize);
                    assert_eq!(value, *expected.unwrap_or(&-7.0));
                }
            }
        };
        check(loads.of_rows::<I, STRIDE, 5, 1, false>(isa, &rows, padding).of_row(0));
        if loads.are_whole() {
            check(loads.of_rows::<I, STRIDE, 5, 1, true>(isa, &rows, padding).of_row(0));
        }
    }
}

#[inline(always)]
fn products<I: Isa>(isa: I) {
    let rows = [1.0, -2.0, 3.0, 0.5, 4.0, 7.0];
    let values: [f32; 16] = std::array::from_fn(|lane| lane as f32 - 5.0);
    let columns = [isa.load(&values), isa.splat(3.0)];
    let mut sums = [[isa.splat(1.0); 2]; 6];
    isa.add_products(&mut sums, &rows, columns);
    for (sums, row) in sums.into_iter().zip(rows) {
        for (sum, column) in sums.into_iter().zip(columns) {
            for (sum, column) in array::<I>(sum).into_iter().zip(array::<I>(column)) {
                assert_eq!(sum, row * column + 1.0);
            }
        }
    }
    if I::HAS_TRANSPOSE {
        let values: Vec<f32> = (0..256).map(|at| at as f32).collect();
        let columns = isa.transposed(std::array::from_fn(|row| isa.load(&values[row * 16..])));
        for (lane, column) in columns.into_iter().enumerate() {
            let expected = (0..16).map(|row| values[row * 16 + lane]);
            assert!(array::<I>(column).into_iter().eq(expected));
        }
    }
}

/// Codes of each number of bits, less a number.
#[inline(always)]
fn codes<I: CodeIsa, const BITS: usize>(isa: I) {
    let words: [i32; 16] = std::array::from_fn(|at| 0x1234_5678i32.wrapping_mul(2 * at as i32 + 1));
    let table = isa.code_table(2.5);
    for number in 0..32 / BITS {
        let found = array::<I>(isa.code::<BITS>(isa.load_ints(&words), number, table));
        for (found, word) in found.into_iter().zip(words) {
            let code = (word as u32 >> (BITS * number)) & ((1 << BITS) - 1);
            assert_eq!(found, code as f32 - 2.5);
        }
    }
    let bytes: Vec<u8> = (0..16).map(|at| 250 - 16 * at).collect();
    let widened = ints::<I>(isa.load_bytes(&bytes[..I::LANES]));
    assert!(widened.into_iter().zip(bytes).all(|(word, byte)| word == i32::from(byte)));
}

#[test]
fn every_operation_of_every_set() {
    for set in InstructionSet::all() {
        with_isa!(set, isa => {
            arithmetic(isa);
            memory(isa);
            rows(isa);
            products(isa);
            codes::<_, 2>(isa);
            codes::<_, 4>(isa);
            codes::<_, 8>(isa);
        });
    }
}

#[test]
fn tokens_are_there_for_portable_code() {
    assert!(InstructionSet::all().last() == Some(InstructionSet::Portable(Portable)));
    assert!(InstructionSet::all().is_sorted());
}
