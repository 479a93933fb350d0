//! Products of packed weights with rows rounded to 8 bits.

use super::operand::{Rounded, RoundedRows};
use super::{BlockZeros, Numbers, Panel, by_panels, registers, tile, with_bits};
use crate::flex::{
    memory::{InOrder, Unwritten, Written},
    simd::{DotInstructions, DotIsa, Floats, Ints, halves, match_dot_isa},
    tile::Multiply,
    view::Matrix,
};
use crate::spec::bits::{PANEL, Panels};

/// Maximum number of rows of a tile.
const ROWS: usize = 8;

/// Operands of a tile: packed rows of bytes, and outputs from `lane` on with codes of `BITS` bits.
struct ByteCodes<'a, const BITS: usize> {
    panel: Panel<'a>,
    lane: usize,
    rows: RoundedRows<'a>,
}

/// Writes `x * matrix + bias`.
pub fn multiply<'a>(x: Matrix<'_>, panels: &Panels, bias: Option<&[f32]>, out: Unwritten<'a>) -> Written<'a> {
    let dot = DotInstructions::best();
    let x = Rounded::new(x, panels, rows(dot));
    let count = x.count();
    by_panels(count, panels, out, |number, out| {
        let panel = Panel { of: panels, number };
        let mut out = InOrder::rows(out);
        for (rows, x) in x.rows() {
            out.write(rows.len(), |out| panel.multiply_bytes(dot, x, bias, out));
        }
        out.finish()
    })
}

/// Number of rows whose accumulators fit the registers.
fn rows(dot: DotInstructions) -> usize {
    fn rows<I: DotIsa>(_: I) -> usize {
        if I::REGISTERS > 16 { ROWS } else { ROWS / 2 }
    }
    match_dot_isa!(dot, isa => rows(isa))
}

impl Panel<'_> {
    /// Writes the products of rounded rows with the panel's outputs.
    fn multiply_bytes<'a>(
        self,
        dot: DotInstructions,
        rows: RoundedRows<'_>,
        bias: Option<&[f32]>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let registers = registers(rows.rows, dot.lanes());
        out.in_columns(registers * dot.lanes(), |lane, out| {
            let (first, outputs) = (self.first_output() + lane, out.columns());
            match_dot_isa!(dot, isa => with_bits!(self, BITS => {
                let operands = ByteCodes::<BITS> { panel: self, lane, rows };
                tile(operands, [rows.rows, registers], bias, first, outputs).run_rows(isa, out)
            }))
        })
    }
}

/// Mask of the first code of each byte.
const fn mask(bits: usize) -> i32 {
    0x0101_0101 * ((1 << bits) - 1)
}

impl<I: DotIsa, const BITS: usize> Multiply<I> for ByteCodes<'_, BITS> {
    type Sum = f32;

    const MR: usize = ROWS;
    const REGISTERS: usize = PANEL / I::LANES;

    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &mut [[I::Floats; REGISTERS]; ROWS],
    ) {
        let (panel, lane, each) = (self.panel, self.lane, ROWS * (8 / BITS));
        let (row_sums, _) = self.rows.sums.as_chunks::<ROWS>();
        let (row_scales, _) = self.rows.scales.as_chunks::<ROWS>();
        assert!(self.rows.values.len() == panel.words() * each);
        assert!(row_sums.len() == panel.of.count && row_scales.len() == panel.of.count);
        // Lets the compiler leave out the checks of each load from a line.
        assert!(lane + REGISTERS * I::LANES <= PANEL);
        let (middle, less) = (1 << (BITS - 1), I::code_offset(BITS));
        let rows =
            row_sums.iter().zip(row_scales).zip(self.rows.values.chunks_exact(panel.of.words() * each));
        for (number, ((row_sums, row_scales), values)) in rows.enumerate() {
            let block = panel.block(number);
            let mut of_block = [[isa.splat_int(0); REGISTERS]; ROWS];
            for (row_sum, sums) in row_sums.iter().zip(&mut of_block) {
                for (register, sum) in sums.iter_mut().enumerate() {
                    *sum = match block.numbers {
                        Numbers::Scaled(_, BlockZeros::Whole(zeros)) => {
                            let zeros = isa.load_bytes(&zeros[lane + register * I::LANES..]);
                            (zeros + isa.splat_int(-less)) * isa.splat_int(-*row_sum)
                        }
                        _ => isa.splat_int((less - middle) * *row_sum),
                    };
                }
            }
            for (word, values) in block.codes.iter().zip(values.chunks_exact(each)) {
                for register in 0..REGISTERS {
                    let word = isa.load_words(&word.0[lane + register * I::LANES..]);
                    for part in 0..8 / BITS {
                        let codes = match BITS {
                            8 => word,
                            _ => word.shifted_right(BITS * part) & isa.splat_int(mask(BITS)),
                        };
                        for (row, sums) in of_block.iter_mut().enumerate() {
                            let value = values[part * ROWS + row];
                            sums[register] = isa.add_code_dot::<BITS>(sums[register], codes, value);
                        }
                    }
                }
            }
            let of_rows = row_sums.iter().zip(row_scales);
            for ((sums, of_block), (row_sum, row_scale)) in sums.iter_mut().zip(of_block).zip(of_rows) {
                for (register, (sum, of_block)) in sums.iter_mut().zip(of_block).enumerate() {
                    let lane = lane + register * I::LANES;
                    let row_sum = isa.splat(*row_sum as f32);
                    let of_block = of_block.floats();
                    let scaled = match block.numbers {
                        Numbers::Scaled(scales, BlockZeros::Floats(zeros)) => {
                            let less = isa.splat(middle as f32) - isa.load(&zeros.0[lane..]);
                            less.mul_add(row_sum, of_block) * isa.load(&scales.0[lane..])
                        }
                        Numbers::Scaled(scales, _) => of_block * isa.load(&scales.0[lane..]),
                        Numbers::Halves(words) => {
                            let [scale, offset] = halves(isa, isa.load_words(&words.0[lane..]));
                            let addend = scale * isa.splat(middle as f32) - offset;
                            addend.mul_add(row_sum, of_block * scale)
                        }
                    };
                    *sum = scaled.mul_add(isa.splat(*row_scale), *sum);
                }
            }
        }
    }
}
