//! Fourier transforms with rows in the lanes: each row is rounded alone, by the same operations on all processors.

mod numbers;

use std::array::from_fn;
use std::f64::consts::TAU;
use std::sync::Arc;

use rustfft::num_complex::Complex;

use super::{Float, Rows, kept::Kept};
use crate::{
    flex::{
        memory::{on_chunks, repeated},
        plan::tuning::transformed_per_part,
        simd::{MulAdd, compiled_per_set},
    },
    spec::dft::Dft,
};
use numbers::Numbers;

/// Number of rows that are transformed at once.
const LANES: usize = 8;

/// Plans by length of the rows, whether they are those of inverses, and of real rows. Lengths with large prime factors have none.
static KEPT: Kept<(usize, bool, bool), Option<Arc<Plan>>> = Kept::new();

/// The transform of a length whose prime factors are at most 13.
struct Plan {
    stages: Vec<Stage>,
    /// Negative multiples of a turn divided by the length, up to half of it, for real rows of even length: these are transformed as
    /// complex ones of half the length.
    turns: Vec<Complex<f64>>,
}

/// A pass over all numbers, which joins `radix` transforms of a length.
struct Stage {
    radix: usize,
    /// Distance of the numbers of a transform that is done.
    stride: usize,
    is_inverse: bool,
    /// Factors of the results of a butterfly, for each butterfly.
    twiddles: Vec<Complex<f64>>,
    /// Cosine and sine of the multiples of a turn divided by the radix.
    roots: Vec<[f64; 2]>,
}

/// Writes the transforms of as many rows as fit into `out`. Returns false for lengths with large prime factors.
pub fn transform<T: Float>(rows: &Rows<'_, T>, options: &Dft, out: &mut [T]) -> bool {
    let length = options.length;
    let is_real = !rows.complex && !options.inverse;
    let key = (length, options.inverse, is_real && length.is_multiple_of(2));
    let Some(plan) = KEPT.get(key, || Plan::new(key).map(Arc::new)) else {
        return false;
    };
    let one = options.outputs() * options.parts();
    let groups = (transformed_per_part() / (LANES * length)).max(1);
    let run = |share: usize, out: &mut [T]| {
        let mut memory = [repeated(length, Numbers::default()), repeated(length, Numbers::default())];
        for (at, out) in out.chunks_mut(LANES * one).enumerate() {
            let first = (share * groups + at) * LANES;
            group(rows, options, &plan, first, &mut memory, out);
        }
    };
    on_chunks(out, groups * LANES * one, run);
    true
}

/// Transforms the rows from `first` on, of which `out` has at most as many as there are lanes.
fn group<T: Float>(
    rows: &Rows<'_, T>,
    options: &Dft,
    plan: &Plan,
    first: usize,
    memory: &mut [Vec<Numbers>; 2],
    out: &mut [T],
) {
    let length = options.length;
    let one = options.outputs() * options.parts();
    let [numbers, other] = memory;
    let is_signal = options.inverse && options.onesided;
    for lane in 0..out.len() / one {
        if is_signal {
            let start = rows.start(first + lane);
            for at in 0..=length / 2 {
                let number = rows.number(start, at);
                // Both ends are their own mirror.
                let is_end = at == 0 || 2 * at == length;
                let number = if is_end { Complex::new(number.re, 0.0) } else { number };
                numbers[(length - at) % length].set(lane, number.conj());
                numbers[at].set(lane, number);
            }
        } else {
            load(rows, first + lane, lane, !plan.turns.is_empty(), &mut numbers[..length]);
        }
    }
    if plan.turns.is_empty() {
        plan.run(&mut numbers[..length], &mut other[..length]);
    } else {
        plan.run(&mut numbers[..length / 2], &mut other[..length / 2]);
        join(&numbers[..length / 2], &plan.turns, &mut other[..options.outputs()]);
        std::mem::swap(numbers, other);
    }
    let scale = if options.inverse { 1.0 / length as f64 } else { 1.0 };
    for (lane, out) in out.chunks_exact_mut(one).enumerate() {
        if is_signal {
            for (out, numbers) in out.iter_mut().zip(&*numbers) {
                *out = T::narrow(numbers.of(lane).re * scale);
            }
        } else {
            for (out, numbers) in out.as_chunks_mut::<2>().0.iter_mut().zip(&*numbers) {
                let number = numbers.of(lane) * scale;
                *out = [T::narrow(number.re), T::narrow(number.im)];
            }
        }
    }
}

/// Loads a row, times the window, into a lane of the first numbers, and 0 into the rest of it. If `halved`, a number has two
/// elements of a real row.
fn load<T: Float>(rows: &Rows<'_, T>, row: usize, lane: usize, halved: bool, numbers: &mut [Numbers]) {
    assert!(lane < LANES);
    let parts = if rows.complex { 2 } else { 1 };
    let size = rows.frames.size.min(numbers.len());
    let elements = &rows.values[parts * rows.start(row)..][..parts * size];
    let count = if halved { numbers.len() / 2 } else { numbers.len() };
    let numbers = &mut numbers[..count];
    let window =
        |at: usize| rows.window.and_then(|window| window.get(at)).map_or(1.0, |factor| factor.widen());
    if halved || rows.complex {
        let (pairs, last) = elements.as_chunks::<2>();
        let (at, step) = if halved { (1, 2) } else { (0, 1) };
        for (to, (of, [re, im])) in numbers.iter_mut().zip(pairs.iter().enumerate()) {
            to.set(lane, Complex::new(re.widen() * window(step * of), im.widen() * window(step * of + at)));
        }
        for to in &mut numbers[pairs.len()..] {
            to.set(lane, Complex::default());
        }
        if let [re] = last {
            numbers[pairs.len()].set(lane, Complex::new(re.widen() * window(step * pairs.len()), 0.0));
        }
    } else {
        for (to, (at, re)) in numbers.iter_mut().zip(elements.iter().enumerate()) {
            to.set(lane, Complex::new(re.widen() * window(at), 0.0));
        }
        for to in &mut numbers[elements.len()..] {
            to.set(lane, Complex::default());
        }
    }
}

/// A unit number: `at` of `length` parts of a turn, backward unless the transform is an inverse.
fn turn(at: usize, length: usize, is_inverse: bool) -> Complex<f64> {
    let (sine, cosine) = libm::sincos(TAU * (at % length) as f64 / length as f64);
    Complex::new(cosine, if is_inverse { sine } else { -sine })
}

impl Plan {
    fn new((length, is_inverse, is_halved): (usize, bool, bool)) -> Option<Self> {
        let turns = if is_halved { length / 2 } else { 0 };
        let (mut rest, mut stride) = (if is_halved { length / 2 } else { length }, 1);
        let mut stages = Vec::new();
        for radix in [4, 2, 3, 5, 7, 11, 13] {
            while rest.is_multiple_of(radix) && rest > 1 {
                let count = rest / radix;
                let twiddles = (0..count).flat_map(|at| (0..radix).map(move |of| (at, of)));
                let roots = (0..radix).map(|at| {
                    let root = turn(at, radix, true);
                    [root.re, root.im]
                });
                stages.push(Stage {
                    radix,
                    stride,
                    is_inverse,
                    twiddles: twiddles.map(|(at, of)| turn(at * of, rest, is_inverse)).collect(),
                    roots: roots.collect(),
                });
                (rest, stride) = (count, stride * radix);
            }
        }
        let turns = (0..turns).map(|at| turn(at, length, false)).collect();
        (rest == 1).then_some(Self { stages, turns })
    }

    /// Transforms `numbers` in place.
    fn run(&self, numbers: &mut [Numbers], other: &mut [Numbers]) {
        let (mut from, mut to) = (numbers, other);
        for step in &self.stages {
            stage(step, from, to);
            (from, to) = (to, from);
        }
        if self.stages.len() % 2 == 1 {
            to.copy_from_slice(from);
        }
    }
}

compiled_per_set! {
    fn stage(of: &Stage, from: &[Numbers], to: &mut [Numbers]) = stage_of;
    /// Spectra of real rows, or their first halves, from those of their even and odd elements.
    fn join(half: &[Numbers], turns: &[Complex<f64>], out: &mut [Numbers]) = join_of;
}

#[inline(always)]
fn stage_of<S: MulAdd>(of: &Stage, from: &[Numbers], to: &mut [Numbers]) {
    match of.radix {
        2 => butterflies(
            of,
            from,
            to,
            #[inline(always)]
            |[a, b]: [Numbers; 2]| [a.plus(b), a.minus(b)],
        ),
        4 => butterflies(
            of,
            from,
            to,
            #[inline(always)]
            |[a, b, c, d]: [Numbers; 4]| {
                let (even, odd) = (a.plus(c), b.plus(d));
                let (less, turned) = (a.minus(c), b.minus(d).turned(of.is_inverse));
                [even.plus(odd), less.plus(turned), even.minus(odd), less.minus(turned)]
            },
        ),
        3 => odd_butterflies::<3>(of, from, to),
        5 => odd_butterflies::<5>(of, from, to),
        7 => odd_butterflies::<7>(of, from, to),
        11 => odd_butterflies::<11>(of, from, to),
        _ => odd_butterflies::<13>(of, from, to),
    }
}

#[inline(always)]
fn odd_butterflies<const P: usize>(of: &Stage, from: &[Numbers], to: &mut [Numbers]) {
    butterflies(
        of,
        from,
        to,
        #[inline(always)]
        |a: [Numbers; P]| {
            let mut y = a;
            for other in &a[1..] {
                y[0] = y[0].plus(*other);
            }
            for at in 1..=P / 2 {
                let (mut even, mut odd) = (a[0], Numbers::default());
                for pair in 1..=P / 2 {
                    let [cosine, sine] = of.roots[at * pair % P];
                    even = even.plus(a[pair].plus(a[P - pair]).scaled(cosine));
                    odd = odd.plus(a[pair].minus(a[P - pair]).scaled(sine));
                }
                let odd = odd.turned(of.is_inverse);
                (y[at], y[P - at]) = (even.plus(odd), even.minus(odd));
            }
            y
        },
    );
}

/// Writes the results of all butterflies, times their factors.
#[inline(always)]
fn butterflies<const P: usize>(
    of: &Stage,
    from: &[Numbers],
    to: &mut [Numbers],
    run: impl Fn([Numbers; P]) -> [Numbers; P],
) {
    let (count, stride) = (of.twiddles.len() / P, of.stride);
    let (twiddles, _) = of.twiddles.as_chunks::<P>();
    assert!(from.len() == P * count * stride && to.len() == from.len());
    for ((at, twiddles), to) in twiddles.iter().enumerate().zip(to.chunks_exact_mut(P * stride)) {
        for lane in 0..stride {
            let numbers: [Numbers; P] = from_fn(
                #[inline(always)]
                |of| from[lane + stride * (at + of * count)],
            );
            let numbers = run(numbers);
            for (of, number) in numbers.into_iter().enumerate() {
                to[lane + stride * of] = if of == 0 || at == 0 { number } else { number.times(twiddles[of]) };
            }
        }
    }
}

#[inline(always)]
fn join_of<S: MulAdd>(half: &[Numbers], turns: &[Complex<f64>], out: &mut [Numbers]) {
    let (low, high) = out.split_at_mut(half.len());
    // The mirror of the first number is itself.
    let mirrored = half[..1].iter().chain(half[1..].iter().rev());
    for (((one, mirrored), turn), (at, low)) in
        half.iter().zip(mirrored).zip(turns).zip(low.iter_mut().enumerate())
    {
        let mirrored = mirrored.conjugate();
        let even = one.plus(mirrored).scaled(0.5);
        let odd = one.minus(mirrored).scaled(0.5).turned(false).times(*turn);
        *low = even.plus(odd);
        // Half a spectrum ends with the first of these.
        if let Some(high) = high.get_mut(at) {
            *high = even.minus(odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::deterministic::deterministic;
    use crate::flex::with_each_set;
    use crate::signal::dft::{Dft, dft, stft};
    use crate::testing::{near, noise, same};

    #[test]
    fn transforms_of_all_lengths_are_near_those_of_other_calls() {
        for length in [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 30, 49, 64, 90, 128, 143, 400, 1024] {
            for parts in [1, 2] {
                for (inverse, onesided) in [(false, false), (false, true), (true, false), (true, true)] {
                    // A spectrum has two parts; half of one is that of real numbers.
                    if parts == 1 && inverse || parts == 2 && onesided && !inverse {
                        continue;
                    }
                    let options = Dft { length, inverse, onesided };
                    let x = noise::<3>([11, length, parts], 1);
                    let y = deterministic(|| dft(x.clone(), 1, &options));
                    near(y.clone(), dft(x.clone(), 1, &options).into_data(), 1e-5);
                    with_each_set(|_| {
                        same(deterministic(|| dft(x.clone(), 1, &options)), y.to_data());
                    });
                }
            }
        }
    }

    #[test]
    fn rows_are_rounded_alone() {
        let x = noise::<3>([20, 700, 1], 1).cast(DType::F64);
        let run = |x: Tensor<3>| deterministic(|| stft(x, 90, None, 200, true));
        let all = run(x.clone());
        for row in [0, 7, 19] {
            same(run(x.clone().narrow(0, row, 1)), all.clone().narrow(0, row, 1).into_data());
        }
    }
}
