//! Products of codes with rows that are rounded to 8 bits, summed block by block in integers.

use super::operand::{Rounded, RoundedRows};
use super::{Panel, by_bits, by_panels, finish};
use crate::flex::{
    memory::{InOrder, Unwritten, Written},
    simd::{DotInstructions, DotIsa, Floats, Ints, Isa, match_dot_isa},
    view::Matrix,
};
use crate::spec::bits::{PANEL, Panels, ZeroPoints};

/// Rows that are multiplied at once at most.
const ROWS: usize = 8;

/// Sums of rows for a panel.
type Sums = [[f32; PANEL]; ROWS];

/// Writes `x * matrix + bias`.
pub fn multiply<'a>(
    x: Matrix<'_>,
    panels: &Panels,
    bias: Option<&[f32]>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let dot = DotInstructions::best();
    let x = Rounded::new(x, panels, rows(dot));
    let count = x.count();
    by_panels(count, panels, out, |number, out| {
        let panel = Panel { of: panels, number };
        let mut sums: Sums = [[0.0; PANEL]; ROWS];
        let mut out = InOrder::rows(out);
        for (rows, x) in x.rows() {
            panel.multiply(dot, x, &mut sums);
            out.write(rows.len(), |out| finish(&sums, number, bias, out));
        }
        out.finish()
    })
}

/// As many rows as there are registers for.
fn rows(dot: DotInstructions) -> usize {
    fn rows<I: DotIsa>(_: I) -> usize {
        if I::REGISTERS > 16 { ROWS } else { ROWS / 2 }
    }
    match_dot_isa!(dot, isa => rows(isa))
}

impl Panel<'_> {
    fn multiply(self, dot: DotInstructions, x: RoundedRows<'_>, out: &mut Sums) {
        self.check();
        let numbers = self.of.count * x.rows;
        assert!(x.scales.len() >= numbers && x.sums.len() >= numbers);
        assert!(!matches!(self.of.zeros, ZeroPoints::Floats(_)));
        match_dot_isa!(dot, isa => by_bits!(isa, self, multiply_rows(x, out), x.rows));
    }
}

/// The bits of the first code of each byte.
const fn mask(bits: usize) -> i32 {
    0x0101_0101 * ((1 << bits) - 1)
}

/// Writes the products of `R` rows with the outputs of a panel.
#[inline(always)]
fn multiply_rows<I: DotIsa, const BITS: usize, const R: usize>(
    isa: I,
    panel: Panel<'_>,
    x: RoundedRows<'_>,
    out: &mut Sums,
) {
    let (of, words, count) = (panel.of, panel.of.words(), panel.of.count);
    let first = panel.number * count;
    let (middle, less) = (1 << (BITS - 1), I::code_offset(BITS));
    for lane in (0..PANEL).step_by(I::LANES) {
        let mut all = [isa.splat(0.0); R];
        let mut values = x.values.chunks_exact(R * (8 / BITS));
        let of_rows = x
            .sums
            .as_chunks::<R>()
            .0
            .iter()
            .zip(x.scales.as_chunks::<R>().0);
        for (block, (row_sums, row_scales)) in (first..first + count).zip(of_rows) {
            let mut sums = [isa.splat_int(0); R];
            match &of.zeros {
                ZeroPoints::Whole(zeros) => {
                    let zeros = isa.load_bytes(&zeros[block][lane..]) + isa.splat_int(-less);
                    for (sum, row_sum) in sums.iter_mut().zip(row_sums) {
                        *sum = zeros * isa.splat_int(-*row_sum);
                    }
                }
                _ => {
                    for (sum, row_sum) in sums.iter_mut().zip(row_sums) {
                        *sum = isa.splat_int((less - middle) * *row_sum);
                    }
                }
            }
            for word in &of.codes[block * words..][..words] {
                let word = isa.load_words(&word.0[lane..]);
                let values = values.next().expect("rows have a word for each code");
                for part in 0..8 / BITS {
                    let codes = match BITS {
                        8 => word,
                        _ => word.shifted_right(BITS * part) & isa.splat_int(mask(BITS)),
                    };
                    for (row, sum) in sums.iter_mut().enumerate() {
                        *sum = isa.add_code_dot::<BITS>(*sum, codes, values[part * R + row]);
                    }
                }
            }
            let scale = isa.load(&of.scales[block].0[lane..]);
            for ((all, sum), row_scale) in all.iter_mut().zip(sums).zip(row_scales) {
                *all = (sum.floats() * scale).mul_add(isa.splat(*row_scale), *all);
            }
        }
        for (all, out) in all.iter().zip(out.iter_mut()) {
            all.store(&mut out[lane..]);
        }
    }
}
