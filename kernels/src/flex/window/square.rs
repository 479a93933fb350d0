//! Windows of square kernels without dilation.
//!
//! Each input element is loaded once for several output rows. Registers whose taps have all their elements in the input are
//! loaded without masks.

use super::{
    ROWS, Windows, end,
    fold::Fold,
    part::{LINES, Lines, Part},
    tables::Register,
};
use crate::flex::{
    memory::SliceWriter,
    simd::{Floats, Isa, WIDEST},
};

/// `R` output rows of square kernels, at one depth.
pub struct Square<'a, F, const R: usize> {
    fold: &'a F,
    windows: &'a Windows,
    /// Depth and first row.
    position: [usize; 2],
    /// Input rows of the first square of the kernel, and of the other ones.
    first: Lines<'a>,
    others: Vec<Lines<'a>>,
}

/// Weights of the taps of a square.
struct Weights<'a, I: Isa, const WIDE: usize, const R: usize> {
    numbers: &'a [[f32; WIDE]; WIDE],
    registers: [[I::Floats; WIDE]; WIDE],
}

impl<'a, F: Fold, const R: usize> Square<'a, F, R> {
    #[inline(always)]
    pub fn new<const STRIDE: usize, const WIDE: usize>(
        part: &'a Part<'a>,
        fold: &'a F,
        [depth, row]: [usize; 2],
    ) -> Self {
        let windows = part.windows;
        let fronts = windows.geometry.kernel[0];
        let begins = &windows.lines[0][depth * fronts..][..fronts];
        Self {
            fold,
            windows,
            position: [depth, row],
            first: part.lines::<STRIDE, WIDE, R>(begins[0], row),
            others: match &begins[1..] {
                // Nearly all kernels. Collecting no elements takes 4 % of the time.
                [] => Vec::new(),
                begins => begins.iter().map(|begin| part.lines::<STRIDE, WIDE, R>(*begin, row)).collect(),
            },
        }
    }

    /// Writes the rows.
    ///
    /// A function of its own: inlined into others, it would have no registers for the weights.
    #[inline(never)]
    pub fn write<I: Isa, const STRIDE: usize, const WIDE: usize>(
        &self,
        isa: I,
        out: &mut [SliceWriter<'_, f32>; R],
    ) {
        isa.call(
            #[inline(always)]
            || {
                let weights = Weights::<I, WIDE, R>::new(isa, self.fold.weights(), 0);
                for register in &self.windows.registers {
                    let sums = [self.fold.begin(isa); R];
                    let (lines, weights) = (&self.first, &weights);
                    let mut sums = if register.taps.are_whole() {
                        self.added::<I, STRIDE, WIDE, true>(isa, sums, register, lines, weights)
                    } else {
                        self.added::<I, STRIDE, WIDE, false>(isa, sums, register, lines, weights)
                    };
                    for (front, lines) in (1..).zip(&self.others) {
                        let weights = Weights::<I, WIDE, R>::new(isa, self.fold.weights(), front);
                        sums = self.added::<I, STRIDE, WIDE, false>(isa, sums, register, lines, &weights);
                    }
                    self.end(isa, sums, register, out);
                }
            },
        );
    }

    /// The sums of a register with the taps of a square. `WHOLE`: all lanes of all taps are elements of the input.
    #[inline(always)]
    fn added<I: Isa, const STRIDE: usize, const WIDE: usize, const WHOLE: bool>(
        &self,
        isa: I,
        mut sums: [I::Floats; R],
        register: &Register,
        lines: &Lines<'_>,
        weights: &Weights<'_, I, WIDE, R>,
    ) -> [I::Floats; R] {
        let padding = isa.splat(self.windows.value);
        let loads = register.taps.of_rows::<I, STRIDE, WIDE, LINES, WHOLE>(isa, &lines.rows, padding);
        for down in 0..(R - 1) * STRIDE + WIDE {
            // Half of the rows of flat planes are padding, which changes no sum.
            if R < ROWS && !lines.inside.contains(&down) {
                continue;
            }
            let seen = loads.of_row(down);
            for (at, sum) in sums.iter_mut().enumerate() {
                let tap = down.wrapping_sub(at * STRIDE);
                if tap < WIDE {
                    for (seen, weight) in seen.into_iter().zip(weights.row(isa, tap)) {
                        *sum = self.fold.step(isa, *sum, seen, weight);
                    }
                }
            }
        }
        sums
    }

    /// Writes the output pixels of a register.
    #[inline(always)]
    fn end<I: Isa>(
        &self,
        isa: I,
        sums: [I::Floats; R],
        register: &Register,
        out: &mut [SliceWriter<'_, f32>; R],
    ) {
        // All sums are stored at once: the compiler would compute them one after another if each was written alone.
        let mut stored = [[0.0; WIDEST]; R];
        for (sum, stored) in sums.into_iter().zip(&mut stored) {
            sum.store(stored);
        }
        end(
            isa,
            self.windows,
            self.fold,
            self.position,
            register,
            #[inline(always)]
            |at| isa.load(&stored[at]),
            out,
        );
    }
}

impl<'a, I: Isa, const WIDE: usize, const R: usize> Weights<'a, I, WIDE, R> {
    /// The weights of square `front` of a kernel; 0 if there are none.
    #[inline(always)]
    fn new(isa: I, weights: &'a [f32], front: usize) -> Self {
        let numbers = if weights.is_empty() {
            &[[0.0; WIDE]; WIDE]
        } else {
            match weights[front * WIDE * WIDE..].as_chunks().0.first_chunk() {
                Some(weights) => weights,
                None => panic!("a kernel has fewer weights than taps"),
            }
        };
        let mut registers = [[isa.splat(0.0); WIDE]; WIDE];
        if Self::ARE_IN_REGISTERS {
            for (register, number) in registers.as_flattened_mut().iter_mut().zip(numbers.as_flattened()) {
                *register = isa.splat(*number);
            }
        }
        Self { numbers, registers }
    }

    /// True if all weights are broadcast before the first register of output pixels.
    ///
    /// More than those of 3 x 3 taps are spilled to the stack. AVX-512 broadcasts an operand from memory in the multiplication
    /// itself; AVX2 has an instruction for it, which costs more than a spilled register unless there are few output rows.
    const ARE_IN_REGISTERS: bool = WIDE <= 3 || (I::REGISTERS <= 16 && R == ROWS);

    /// The weights of a row of taps.
    #[inline(always)]
    fn row(&self, isa: I, row: usize) -> [I::Floats; WIDE] {
        if Self::ARE_IN_REGISTERS {
            return self.registers[row];
        }
        let mut registers = [isa.splat(0.0); WIDE];
        for (register, number) in registers.iter_mut().zip(&self.numbers[row]) {
            *register = isa.splat(*number);
        }
        registers
    }
}
