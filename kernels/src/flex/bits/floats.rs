//! Products of codes with rows of floats, and codes as floats.

use super::{Panel, by_bits, by_panels, finish, operand};
use crate::flex::{
    memory::{InOrder, Unwritten, Written},
    simd::{CodeIsa, Floats, InstructionSet, Ints, Isa, match_isa},
    view::Matrix,
};
use crate::spec::bits::{PANEL, Panels, ZeroPoints};

/// Rows that are multiplied at once at most.
const ROWS: usize = 4;

/// Sums of rows for a panel.
type Sums = [[f32; PANEL]; ROWS];

/// Writes `x * matrix + bias`, for few rows.
pub fn multiply<'a>(
    x: Matrix<'_>,
    panels: &Panels,
    bias: Option<&[f32]>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let (set, rows) = (InstructionSet::best(), x.rows);
    let x = operand::Floats::new(x, panels, ROWS);
    by_panels(rows, panels, out, |number, out| {
        let panel = Panel { of: panels, number };
        let mut sums: Sums = [[0.0; PANEL]; ROWS];
        let mut out = InOrder::rows(out);
        for (rows, x) in x.rows() {
            panel.multiply_floats(set, rows.len(), x, &mut sums);
            out.write(rows.len(), |out| finish(&sums, number, bias, out));
        }
        out.finish()
    })
}

/// Writes the outputs from `first` on, as many as tiles have columns, for each input, or for each place of blocks where
/// inputs are ordered by them.
pub fn unpack(set: InstructionSet, panels: &Panels, first: usize, out: &mut [f32]) {
    let width = set.columns();
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
    fn multiply_floats(self, set: InstructionSet, rows: usize, x: &[f32], out: &mut Sums) {
        self.check();
        match_isa!(set, isa => by_bits!(isa, self, multiply_rows(x, out), rows));
    }

    /// Writes outputs from `lane` of the panel on, as many as a register has, for each place. Places are `step` elements
    /// apart.
    fn unpack(self, set: InstructionSet, lane: usize, out: &mut [f32], step: usize) {
        self.check();
        match_isa!(set, isa => by_bits!(isa, self, decode(lane, out, step)));
    }
}

/// Codes of a block less its zero points.
struct Codes<I: CodeIsa> {
    table: I::CodeTable,
    zeros: Option<I::Floats>,
}

impl<I: CodeIsa> Codes<I> {
    #[inline(always)]
    fn new(isa: I, of: &Panels, block: usize, lane: usize, middle: f32) -> Self {
        let zeros = match &of.zeros {
            ZeroPoints::Middle => None,
            ZeroPoints::Whole(zeros) => Some(isa.load_bytes(&zeros[block][lane..]).floats()),
            ZeroPoints::Floats(zeros) => Some(isa.load(&zeros[block].0[lane..])),
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

/// Writes the products of `R` rows with the outputs of a panel.
#[inline(always)]
fn multiply_rows<I: CodeIsa, const BITS: usize, const R: usize>(
    isa: I,
    panel: Panel<'_>,
    x: &[f32],
    out: &mut Sums,
) {
    let (of, words, count) = (panel.of, panel.of.words(), panel.of.count);
    let first = panel.number * count;
    let middle = (1 << (BITS - 1)) as f32;
    for lane in (0..PANEL).step_by(I::LANES) {
        let mut all = [isa.splat(0.0); R];
        let mut x = x.chunks_exact(R * (32 / BITS));
        for block in first..first + count {
            let codes = Codes::new(isa, of, block, lane, middle);
            // Sums of even and odd terms do not wait for each other.
            let mut sums = [[isa.splat(0.0); 2]; R];
            for word in &of.codes[block * words..][..words] {
                let word = isa.load_words(&word.0[lane..]);
                let x = x.next().expect("rows have an element for each code");
                for term in 0..32 / BITS {
                    let value = codes.value::<BITS>(isa, word, term);
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let x = isa.splat(x[term * R + row]);
                        sums[term % 2] = value.mul_add(x, sums[term % 2]);
                    }
                }
            }
            let scale = isa.load(&of.scales[block].0[lane..]);
            for (all, [even, odd]) in all.iter_mut().zip(sums) {
                *all = (even + odd).mul_add(scale, *all);
            }
        }
        for (all, out) in all.iter().zip(out.iter_mut()) {
            all.store(&mut out[lane..]);
        }
    }
}

/// Writes the floats of a register of outputs for each place, `step` elements apart.
#[inline(always)]
fn decode<I: CodeIsa, const BITS: usize>(
    isa: I,
    panel: Panel<'_>,
    lane: usize,
    out: &mut [f32],
    step: usize,
) {
    let (of, words) = (panel.of, panel.of.words());
    let first = panel.number * of.count;
    let middle = (1 << (BITS - 1)) as f32;
    let mut out = out.chunks_mut(step);
    for block in first..first + of.count {
        let codes = Codes::new(isa, of, block, lane, middle);
        let scale = isa.load(&of.scales[block].0[lane..]);
        for word in &of.codes[block * words..][..words] {
            let word = isa.load_words(&word.0[lane..]);
            for term in 0..32 / BITS {
                if let Some(out) = out.next() {
                    (codes.value::<BITS>(isa, word, term) * scale).store(out);
                }
            }
        }
    }
}
