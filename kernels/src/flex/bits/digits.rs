//! Products of codes with rows of floats by sums of integers.
//!
//! A float is the sum of three digits of 8 bits. Instructions for products of bytes take a third of the time of those for
//! decoded floats, so that reading the weights determines the time.

mod operand;

use super::{BlockZeros, Numbers, Panel, by_panels, registers, tile, with_bits};
use crate::flex::{
    memory::{InOrder, Unwritten, Written},
    simd::{DotInstructions, DotIsa, Floats, Ints, halves, match_dot_isa},
    tile::Multiply,
};
use crate::spec::bits::{PANEL, Panels};
use operand::DigitRow;
pub use operand::Digits;

/// Maximum number of rows: each decodes the codes, while rows of floats share them.
pub const ROWS: usize = 2;

/// Operands of a tile: a row of digits, and outputs from `lane` on with codes of `BITS` bits.
struct DigitCodes<'a, const BITS: usize> {
    panel: Panel<'a>,
    lane: usize,
    row: DigitRow<'a>,
}

/// Returns the number that is added to codes of `bits` bits: their zero point in the middle, or nothing where an instruction
/// subtracts that already.
pub fn offset(dot: DotInstructions, bits: usize) -> i32 {
    fn less<I: DotIsa>(_: I, bits: usize) -> i32 {
        I::code_offset(bits)
    }
    match_dot_isa!(dot, isa => less(isa, bits)) - (1 << (bits - 1))
}

/// Writes `x * matrix + bias`, for few rows.
pub fn multiply<'a>(
    dot: DotInstructions,
    x: &Digits,
    panels: &Panels,
    bias: Option<&[f32]>,
    out: Unwritten<'a>,
) -> Written<'a> {
    by_panels(x.rows().count(), panels, out, |number, out| {
        let panel = Panel { of: panels, number };
        let mut out = InOrder::rows(out);
        for row in x.rows() {
            out.write(1, |out| panel.multiply_digits(dot, row, bias, out));
        }
        out.finish()
    })
}

impl Panel<'_> {
    /// Writes the products of a row with the panel's outputs.
    fn multiply_digits<'a>(
        self,
        dot: DotInstructions,
        row: DigitRow<'_>,
        bias: Option<&[f32]>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let registers = registers(1, dot.lanes());
        out.in_columns(registers * dot.lanes(), |lane, out| {
            let (first, outputs) = (self.first_output() + lane, out.columns());
            match_dot_isa!(dot, isa => with_bits!(self, BITS => {
                let operands = DigitCodes::<BITS> { panel: self, lane, row };
                tile(operands, [1, registers], bias, first, outputs).run_rows(isa, out)
            }))
        })
    }
}

/// Mask of the first code of each byte.
const fn mask(bits: usize) -> i32 {
    0x0101_0101 * ((1 << bits) - 1)
}

impl<I: DotIsa, const BITS: usize> Multiply<I> for DigitCodes<'_, BITS> {
    type Sum = f32;

    const MR: usize = 1;
    const REGISTERS: usize = PANEL / I::LANES;

    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &mut [[I::Floats; REGISTERS]; ROWS],
    ) {
        let (panel, lane, row) = (self.panel, self.lane, self.row);
        let words = panel.of.words();
        let (values, _) = row.values.as_chunks::<3>();
        let count = panel.of.count;
        assert!(values.len() == count * words * (8 / BITS));
        assert!(row.factors.len() == count && row.offsets.len() == count && row.sums.len() == count);
        // Lets the compiler leave out the checks of each load from a line.
        assert!(lane + REGISTERS * I::LANES <= PANEL);
        let middle = (1 << (BITS - 1)) as f32;
        let of_blocks = row.factors.iter().zip(row.offsets).zip(row.sums);
        let values = values.chunks_exact(words * (8 / BITS));
        for (number, (((factors, offsets), row_sum), values)) in of_blocks.zip(values).enumerate() {
            let block = panel.block(number);
            let mut of_block = [[isa.splat_int(0); 3]; REGISTERS];
            for sums in &mut of_block {
                for (sum, offset) in sums.iter_mut().zip(offsets) {
                    *sum = isa.splat_int(*offset);
                }
            }
            for (word, values) in block.codes.iter().zip(values.chunks_exact(8 / BITS)) {
                for (register, sums) in of_block.iter_mut().enumerate() {
                    let word = isa.load_words(&word.0[lane + register * I::LANES..]);
                    for (part, digits) in values.iter().enumerate() {
                        let codes = match BITS {
                            8 => word,
                            _ => word.shifted_right(BITS * part) & isa.splat_int(mask(BITS)),
                        };
                        for (sum, digit) in sums.iter_mut().zip(digits) {
                            *sum = isa.add_code_dot::<BITS>(*sum, codes, *digit);
                        }
                    }
                }
            }
            let [first, second, third] = factors.map(|factor| isa.splat(factor));
            for (register, digits) in of_block.into_iter().enumerate() {
                let lane = lane + register * I::LANES;
                let [high, low, lowest] = digits.map(I::Ints::floats);
                let product = high.mul_add(first, low.mul_add(second, lowest * third));
                let (scale, less) = match block.numbers {
                    Numbers::Halves(words) => {
                        let [scale, offset] = halves(isa, isa.load_words(&words.0[lane..]));
                        (scale, Some(scale * isa.splat(middle) - offset))
                    }
                    Numbers::Scaled(scales, zeros) => {
                        let scale = isa.load(&scales.0[lane..]);
                        let zeros = match zeros {
                            BlockZeros::Middle => None,
                            BlockZeros::Whole(zeros) => Some(isa.load_bytes(&zeros[lane..]).floats()),
                            BlockZeros::Floats(zeros) => Some(isa.load(&zeros.0[lane..])),
                        };
                        (scale, zeros.map(|zeros| (isa.splat(middle) - zeros) * scale))
                    }
                };
                for sums in sums.iter_mut() {
                    sums[register] = product.mul_add(scale, sums[register]);
                    if let Some(less) = less {
                        sums[register] = less.mul_add(isa.splat(*row_sum), sums[register]);
                    }
                }
            }
        }
    }
}
