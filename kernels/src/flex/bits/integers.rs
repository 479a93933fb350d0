//! Products of codes with rows that are rounded to 8 bits, summed block by block in integers.

#[cfg(target_arch = "aarch64")]
use super::lanes::Neon;
use super::lanes::{Lanes, Words};
use super::operand::{Rounded, RoundedRows};
use super::{Panel, by_panels, finish};
use crate::flex::{
    gemm::Lanes as _,
    integer::Dot,
    memory::{InOrder, Unwritten, Written},
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
    let dot = Dot::best();
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
fn rows(dot: Dot) -> usize {
    match dot {
        #[cfg(target_arch = "x86_64")]
        Dot::Vnni => ROWS,
        #[cfg(target_arch = "x86_64")]
        Dot::VnniNarrow | Dot::Madd => 4,
        #[cfg(target_arch = "aarch64")]
        Dot::Sdot | Dot::Neon => ROWS,
        Dot::Portable => 4,
    }
}

impl Panel<'_> {
    fn multiply(self, dot: Dot, x: RoundedRows<'_>, out: &mut Sums) {
        let (count, words) = (self.of.count, self.of.words());
        assert!(dot.is_there() && x.rows <= rows(dot));
        self.check();
        assert!(!matches!(self.of.zeros, ZeroPoints::Floats(_)));
        let parts = 8 / self.of.blocks.bits;
        assert!(x.values.len() >= count * words * parts * x.rows);
        assert!(x.scales.len() >= count * x.rows && x.sums.len() >= count * x.rows);
        // SAFETY: the processor has the instructions, and the assertions hold for what is read.
        unsafe {
            match dot {
                #[cfg(target_arch = "x86_64")]
                Dot::Vnni => compiled::wide(self, x, out),
                #[cfg(target_arch = "x86_64")]
                Dot::VnniNarrow => compiled::narrow_vnni(self, x, out),
                #[cfg(target_arch = "x86_64")]
                Dot::Madd => compiled::narrow(self, x, out),
                #[cfg(target_arch = "aarch64")]
                Dot::Sdot => compiled::neon_dot(self, x, out),
                #[cfg(target_arch = "aarch64")]
                Dot::Neon => by_bits!(self, x, out, run::<Neon>),
                Dot::Portable => by_bits!(self, x, out, run::<Words>),
            }
        }
    }
}

/// Runs the loop for as many bits and rows as there are.
macro_rules! by_bits {
    ($panel:expr, $x:expr, $out:expr, $run:ident::<$lanes:ty>) => {
        match $panel.of.blocks.bits {
            2 => by_bits!(@ $panel, $x, $out, $run, $lanes, 2),
            4 => by_bits!(@ $panel, $x, $out, $run, $lanes, 4),
            _ => by_bits!(@ $panel, $x, $out, $run, $lanes, 8),
        }
    };
    (@ $panel:expr, $x:expr, $out:expr, $run:ident, $lanes:ty, $bits:literal) => {
        match $x.rows {
            1 => $run::<$lanes, $bits, 1>($panel, $x, $out),
            2 => $run::<$lanes, $bits, 2>($panel, $x, $out),
            4 => $run::<$lanes, $bits, 4>($panel, $x, $out),
            8 => $run::<$lanes, $bits, 8>($panel, $x, $out),
            rows => panic!("no panel has {rows} rows"),
        }
    };
}

use by_bits;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod compiled {
    use super::super::lanes;
    use super::{Lanes, Panel, RoundedRows, Sums, run};

    macro_rules! compiled {
        ($name:ident $one:ident $feature:literal $lanes:ident) => {
            pub unsafe fn $name(panel: Panel<'_>, x: RoundedRows<'_>, out: &mut Sums) {
                #[target_feature(enable = $feature)]
                unsafe fn $one<L: Lanes, const BITS: usize, const R: usize>(
                    panel: Panel<'_>,
                    x: RoundedRows<'_>,
                    out: &mut Sums,
                ) {
                    // SAFETY: what the caller says.
                    unsafe { run::<L, BITS, R>(panel, x, out) }
                }
                // SAFETY: what the caller says.
                unsafe { super::by_bits!(panel, x, out, $one::<lanes::$lanes>) }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    compiled! { wide wide_rows "avx512f,avx512bw,avx512vnni" Wide }
    #[cfg(target_arch = "x86_64")]
    compiled! { narrow_vnni narrow_vnni_rows "avx2,fma,avxvnni" NarrowVnni }
    #[cfg(target_arch = "x86_64")]
    compiled! { narrow narrow_rows "avx2,fma" Narrow }
    #[cfg(target_arch = "aarch64")]
    compiled! { neon_dot neon_dot_rows "dotprod" NeonDot }
}

/// # Safety
///
/// [`Panel::multiply`] has checked panel and rows, of which there are `R`.
#[inline(always)]
unsafe fn run<L: Lanes, const BITS: usize, const R: usize>(
    panel: Panel<'_>,
    x: RoundedRows<'_>,
    out: &mut Sums,
) {
    let (of, words, count) = (panel.of, panel.of.words(), panel.of.count);
    let first = panel.number * count;
    let (middle, less) = (1 << (BITS - 1), L::less(BITS));
    for lane in (0..PANEL).step_by(L::COUNT) {
        // SAFETY: of all reads and writes: the assertions of the caller.
        unsafe {
            let mut all = [L::Float::splat(0.0); R];
            let mut codes = of.codes.as_ptr().add(first * words).cast::<u32>().add(lane);
            let mut values = x.values.as_ptr();
            for block in 0..count {
                let numbers = x.sums.as_ptr().add(block * R);
                let mut sums = [L::splat(0); R];
                match &of.zeros {
                    ZeroPoints::Whole(zeros) => {
                        let zeros = zeros.as_ptr().add(first + block).cast::<u8>();
                        let zeros = L::widened(zeros.add(lane));
                        for (row, sum) in sums.iter_mut().enumerate() {
                            *sum = zeros.times::<BITS>(-*numbers.add(row));
                        }
                    }
                    _ => {
                        for (row, sum) in sums.iter_mut().enumerate() {
                            *sum = L::splat((less - middle) * *numbers.add(row));
                        }
                    }
                }
                for _ in 0..words {
                    let word = L::load(codes);
                    for part in 0..8 / BITS {
                        let part = word.part::<BITS>(part);
                        for sum in &mut sums {
                            *sum = sum.dot::<BITS>(part, values);
                            values = values.add(1);
                        }
                    }
                    codes = codes.add(PANEL);
                }
                let scale = of
                    .scales
                    .as_ptr()
                    .add(first + block)
                    .cast::<f32>()
                    .add(lane);
                let scale = L::Float::load(scale);
                for (row, (all, sum)) in all.iter_mut().zip(sums).enumerate() {
                    let of_row = L::Float::splat(*x.scales.as_ptr().add(block * R + row));
                    *all = all.plus(L::mul(sum.float(), scale), of_row);
                }
            }
            for (all, out) in all.iter().zip(out.iter_mut()) {
                all.store(out.as_mut_ptr().add(lane));
            }
        }
    }
}
