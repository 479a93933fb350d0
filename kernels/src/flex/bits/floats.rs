//! Products of codes with rows of floats, and codes as floats.

use super::{Block, BlockZeros, Numbers, Panel, by_panels, operand, registers, tile, with_bits};
use crate::flex::{
    memory::{InOrder, Unwritten, Written},
    simd::{CodeIsa, Floats, InstructionSet, Ints, halves, match_isa, with_isa},
    tile::Multiply,
    view::Matrix,
};
use crate::spec::bits::{PANEL, Panels};

/// Maximum number of rows of a tile.
const ROWS: usize = 4;

/// Operands of a tile: packed rows of floats, and outputs from `lane` on with codes of `BITS` bits.
struct FloatCodes<'a, const BITS: usize> {
    panel: Panel<'a>,
    lane: usize,
    rows: operand::FloatRows<'a>,
}

/// Writes `x * matrix + bias`, for few rows.
pub fn multiply<'a>(x: Matrix<'_>, panels: &Panels, bias: Option<&[f32]>, out: Unwritten<'a>) -> Written<'a> {
    let (set, rows) = (InstructionSet::best(), x.rows);
    let x = operand::Floats::new(x, panels, ROWS);
    by_panels(rows, panels, out, |number, out| {
        let panel = Panel { of: panels, number };
        let mut out = InOrder::rows(out);
        for x in x.rows() {
            out.write(x.rows, |out| panel.multiply_floats(set, x, bias, out));
        }
        out.finish()
    })
}

/// Writes NR outputs from `first` on, for each input, or for each position of the blocks if inputs are ordered by blocks.
pub fn unpack(set: InstructionSet, panels: &Panels, first: usize, out: &mut [f32]) {
    let width = set.nr();
    for at in (0..width).step_by(set.lanes()) {
        let output = first + at;
        let number = output / PANEL;
        if output >= panels.blocks.outputs {
            for out in out.chunks_exact_mut(width) {
                out[at..at + set.lanes()].fill(0.0);
            }
            continue;
        }
        let panel = Panel { of: panels, number };
        panel.unpack(set, output % PANEL, &mut out[at..], width);
    }
}

impl Panel<'_> {
    /// Writes the products of packed rows with the panel's outputs.
    fn multiply_floats<'a>(
        self,
        set: InstructionSet,
        rows: operand::FloatRows<'_>,
        bias: Option<&[f32]>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let count = rows.rows;
        let registers = registers(count, set.lanes());
        out.in_columns(registers * set.lanes(), |lane, out| {
            let (first, outputs) = (self.first_output() + lane, out.columns());
            match_isa!(set, isa => with_bits!(self, BITS => {
                let operands = FloatCodes::<BITS> { panel: self, lane, rows };
                tile(operands, [count, registers], bias, first, outputs).run_rows(isa, out)
            }))
        })
    }

    /// Writes a register of outputs, from `lane` of the panel on, for each position of the blocks. Positions
    /// are `step` elements apart.
    fn unpack(self, set: InstructionSet, lane: usize, out: &mut [f32], step: usize) {
        with_bits!(self, BITS => {
            with_isa!(set, isa => decode::<_, BITS>(isa, self, lane, out, step));
        });
    }
}

/// Decoder of a block: codes minus zero points, or minus the middle of their range.
#[derive(Clone, Copy)]
struct Codes<I: CodeIsa> {
    table: I::CodeTable,
    zeros: Option<I::Floats>,
}

/// What makes numbers of decoded codes.
#[derive(Clone, Copy)]
struct Factors<I: CodeIsa> {
    scale: I::Floats,
    /// Addend of each number, if the zero points were not subtracted.
    addend: Option<I::Floats>,
}

impl<I: CodeIsa> Factors<I> {
    #[inline(always)]
    fn new(isa: I, block: &Block<'_>, lane: usize, middle: f32) -> Self {
        match block.numbers {
            Numbers::Scaled(scales, _) => Self { scale: isa.load(&scales.0[lane..]), addend: None },
            Numbers::Halves(words) => {
                let [scale, offset] = halves(isa, isa.load_words(&words.0[lane..]));
                Self { scale, addend: Some(scale * isa.splat(middle) - offset) }
            }
        }
    }
}

impl<I: CodeIsa> Codes<I> {
    #[inline(always)]
    fn new(isa: I, block: &Block<'_>, lane: usize, middle: f32) -> Self {
        let zeros = match block.numbers {
            Numbers::Scaled(_, BlockZeros::Middle) | Numbers::Halves(_) => None,
            Numbers::Scaled(_, BlockZeros::Whole(zeros)) => Some(isa.load_bytes(&zeros[lane..]).floats()),
            Numbers::Scaled(_, BlockZeros::Floats(zeros)) => Some(isa.load(&zeros.0[lane..])),
        };
        let less = if zeros.is_none() { middle } else { 0.0 };
        let table = isa.code_table(less);
        Self { table, zeros }
    }

    #[inline(always)]
    fn value<const BITS: usize>(&self, isa: I, words: I::Ints, number: usize) -> I::Floats {
        let value = isa.code::<BITS>(words, number, self.table);
        match self.zeros {
            None => value,
            Some(zeros) => value - zeros,
        }
    }
}

impl<I: CodeIsa, const BITS: usize> Multiply<I> for FloatCodes<'_, BITS> {
    type Sum = f32;

    const MR: usize = ROWS;
    const REGISTERS: usize = PANEL / I::LANES;

    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        &self,
        isa: I,
        sums: &mut [[I::Floats; REGISTERS]; ROWS],
    ) {
        let (panel, lane, each) = (self.panel, self.lane, ROWS * (32 / BITS));
        let (row_sums, _) = self.rows.sums.as_chunks::<ROWS>();
        assert!(self.rows.values.len() == panel.words() * each && row_sums.len() == panel.of.count);
        // Lets the compiler leave out the checks of each load from a line.
        assert!(lane + REGISTERS * I::LANES <= PANEL);
        let middle = (1 << (BITS - 1)) as f32;
        let rows = self.rows.values.chunks_exact(panel.of.words() * each).zip(row_sums);
        for (number, (rows, row_sums)) in rows.enumerate() {
            let block = panel.block(number);
            let mut codes = [Codes::new(isa, &block, lane, middle); REGISTERS];
            for (register, codes) in codes.iter_mut().enumerate().skip(1) {
                *codes = Codes::new(isa, &block, lane + register * I::LANES, middle);
            }
            // Sums of even and odd terms are independent, which hides the latency of additions.
            let mut of_block = [[[isa.splat(0.0); 2]; REGISTERS]; ROWS];
            for (word, rows) in block.codes.iter().zip(rows.chunks_exact(each)) {
                for (register, codes) in codes.iter().enumerate() {
                    let word = isa.load_words(&word.0[lane + register * I::LANES..]);
                    for term in 0..32 / BITS {
                        let value = codes.value::<BITS>(isa, word, term);
                        for (row, sums) in of_block.iter_mut().enumerate() {
                            let x = isa.splat(rows[term * ROWS + row]);
                            let sum = &mut sums[register][term % 2];
                            *sum = value.mul_add(x, *sum);
                        }
                    }
                }
            }
            for ((sums, of_block), row_sum) in sums.iter_mut().zip(of_block).zip(row_sums) {
                for (register, (sum, [even, odd])) in sums.iter_mut().zip(of_block).enumerate() {
                    let factors = Factors::new(isa, &block, lane + register * I::LANES, middle);
                    *sum = (even + odd).mul_add(factors.scale, *sum);
                    if let Some(addend) = factors.addend {
                        *sum = addend.mul_add(isa.splat(*row_sum), *sum);
                    }
                }
            }
        }
    }
}

/// Writes the floats of a register of outputs for each position of the blocks, `step` elements apart.
#[inline(always)]
fn decode<I: CodeIsa, const BITS: usize>(
    isa: I,
    panel: Panel<'_>,
    lane: usize,
    out: &mut [f32],
    step: usize,
) {
    // Lets the compiler leave out the checks of each load from a line.
    assert!(lane + I::LANES <= PANEL);
    let middle = (1 << (BITS - 1)) as f32;
    let mut out = out.chunks_mut(step);
    for number in 0..panel.of.count {
        let block = panel.block(number);
        let codes = Codes::new(isa, &block, lane, middle);
        let Factors { scale, addend } = Factors::new(isa, &block, lane, middle);
        for word in block.codes {
            let word = isa.load_words(&word.0[lane..]);
            for term in 0..32 / BITS {
                if let Some(out) = out.next() {
                    let code = codes.value::<BITS>(isa, word, term);
                    match addend {
                        Some(addend) => code.mul_add(scale, addend).store(out),
                        None => (code * scale).store(out),
                    }
                }
            }
        }
    }
}
