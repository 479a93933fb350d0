//! Products of codes with rows of floats, and codes as floats.

#[cfg(target_arch = "aarch64")]
use super::lanes::Neon;
use super::lanes::{Lanes, Words};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Narrow, Wide};
use super::operand::Floats;
use super::{Panel, by_panels, finish};
use crate::flex::{
    gemm::Lanes as _,
    instructions::Set,
    memory::{InOrder, Unwritten, Written},
    view::Matrix,
};
use crate::spec::bits::{PANEL, Panels, ZeroPoints};

/// Rows that are multiplied at once at most.
const ROWS: usize = 4;

/// Sums of rows for a panel.
type Sums = [[f32; PANEL]; ROWS];

/// Floats of as many outputs as a register has, those of each place one `step` after another.
#[derive(Clone, Copy)]
struct Place {
    first: *mut f32,
    step: usize,
    places: usize,
    /// The first output of the panel.
    lane: usize,
}

/// Writes `x * matrix + bias`, for few rows.
pub fn multiply<'a>(
    x: Matrix<'_>,
    panels: &Panels,
    bias: Option<&[f32]>,
    out: Unwritten<'a>,
) -> Written<'a> {
    let (set, rows) = (Set::best(), x.rows);
    let x = Floats::new(x, panels, ROWS);
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
pub fn unpack(set: Set, panels: &Panels, first: usize, out: &mut [f32]) {
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
    fn multiply_floats(self, set: Set, rows: usize, x: &[f32], out: &mut Sums) {
        self.check();
        assert!(set.is_there());
        assert!(x.len() >= self.of.count * self.of.blocks.size * rows);
        // SAFETY: the processor has the instructions, and the assertions hold for what is read.
        unsafe {
            match set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide(self, rows, x, out),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow(self, rows, x, out),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => by_bits!(self.of, run, Neon, (self, x, out), rows),
                Set::Portable => by_bits!(self.of, run, Words, (self, x, out), rows),
            }
        }
    }

    /// Writes outputs from `lane` of the panel on, as many as a register has.
    fn unpack(self, set: Set, lane: usize, out: &mut [f32], step: usize) {
        self.check();
        assert!(set.is_there());
        let lanes = set.lanes();
        let all = self.of.count * self.of.blocks.size;
        let places = (out.len() + step - lanes) / step;
        assert!(lane + lanes <= PANEL && places <= all);
        let place = Place {
            first: out.as_mut_ptr(),
            step,
            places,
            lane,
        };
        // SAFETY: as above, and there is room for the places.
        unsafe {
            match set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide_floats(self, place),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow_floats(self, place),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => by_bits!(self.of, write, Neon, (self, place)),
                Set::Portable => by_bits!(self.of, write, Words, (self, place)),
            }
        }
    }
}

/// Runs a function for as many bits, and rows, as there are.
macro_rules! by_bits {
    ($of:expr, $run:ident, $lanes:ty, $arguments:tt $(, $rows:expr)?) => {
        match $of.blocks.bits {
            2 => by_bits!(@ $run, $lanes, $arguments, 2 $(, $rows)?),
            4 => by_bits!(@ $run, $lanes, $arguments, 4 $(, $rows)?),
            _ => by_bits!(@ $run, $lanes, $arguments, 8 $(, $rows)?),
        }
    };
    (@ $run:ident, $lanes:ty, ($($argument:expr),*), $bits:literal) => {
        $run::<$lanes, $bits>($($argument),*)
    };
    (@ $run:ident, $lanes:ty, ($($argument:expr),*), $bits:literal, $rows:expr) => {
        match $rows {
            1 => $run::<$lanes, $bits, 1>($($argument),*),
            2 => $run::<$lanes, $bits, 2>($($argument),*),
            4 => $run::<$lanes, $bits, 4>($($argument),*),
            rows => panic!("no panel has {rows} rows"),
        }
    };
}

use by_bits;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lanes, Narrow, Panel, Place, Sums, Wide, run, write};

    macro_rules! compiled {
        ($name:ident $floats:ident $feature:literal $lanes:ty) => {
            pub unsafe fn $name(panel: Panel<'_>, rows: usize, x: &[f32], out: &mut Sums) {
                #[target_feature(enable = $feature)]
                unsafe fn one<L: Lanes, const BITS: usize, const R: usize>(
                    panel: Panel<'_>,
                    x: &[f32],
                    out: &mut Sums,
                ) {
                    // SAFETY: what the caller says.
                    unsafe { run::<L, BITS, R>(panel, x, out) }
                }
                // SAFETY: what the caller says.
                unsafe { by_bits!(panel.of, one, $lanes, (panel, x, out), rows) }
            }

            pub unsafe fn $floats(panel: Panel<'_>, place: Place) {
                #[target_feature(enable = $feature)]
                unsafe fn one<L: Lanes, const BITS: usize>(panel: Panel<'_>, place: Place) {
                    // SAFETY: what the caller says.
                    unsafe { write::<L, BITS>(panel, place) }
                }
                // SAFETY: what the caller says.
                unsafe { by_bits!(panel.of, one, $lanes, (panel, place)) }
            }
        };
    }

    compiled! { wide wide_floats "avx512f" Wide }
    compiled! { narrow narrow_floats "avx2,fma" Narrow }
}

/// Codes of a block less its zero points.
struct Codes<L: Lanes> {
    table: L::Table,
    zeros: Option<L::Float>,
}

impl<L: Lanes> Codes<L> {
    /// # Safety
    ///
    /// [`Panel::check`] has run, and there is such a block.
    #[inline(always)]
    unsafe fn new(of: &Panels, block: usize, lane: usize, middle: f32) -> Self {
        // SAFETY: what the caller says.
        unsafe {
            let zeros = match &of.zeros {
                ZeroPoints::Middle => None,
                ZeroPoints::Whole(zeros) => {
                    let zeros = zeros.as_ptr().add(block).cast::<u8>();
                    Some(L::widened(zeros.add(lane)).float())
                }
                ZeroPoints::Floats(zeros) => {
                    let zeros = zeros.as_ptr().add(block).cast::<f32>();
                    Some(L::Float::load(zeros.add(lane)))
                }
            };
            let less = if zeros.is_none() { middle } else { 0.0 };
            let table = L::table(less);
            Self { table, zeros }
        }
    }

    /// # Safety
    ///
    /// As for the methods of [`Lanes`].
    #[inline(always)]
    unsafe fn value<const BITS: usize>(&self, word: L, term: usize) -> L::Float {
        // SAFETY: what the caller says.
        unsafe {
            let value = word.value::<BITS>(term, self.table);
            match self.zeros {
                None => value,
                Some(zeros) => L::sub(value, zeros),
            }
        }
    }
}

/// # Safety
///
/// [`Panel::multiply_floats`] has checked panel and rows, of which there are `R`.
#[inline(always)]
unsafe fn run<L: Lanes, const BITS: usize, const R: usize>(
    panel: Panel<'_>,
    x: &[f32],
    out: &mut Sums,
) {
    let (of, words, count) = (panel.of, panel.of.words(), panel.of.count);
    let first = panel.number * count;
    let middle = (1 << (BITS - 1)) as f32;
    for lane in (0..PANEL).step_by(L::COUNT) {
        // SAFETY: of all reads and writes: the assertions of the caller.
        unsafe {
            let mut all = [L::Float::splat(0.0); R];
            let mut words_of = of.codes.as_ptr().add(first * words).cast::<u32>().add(lane);
            let mut x = x.as_ptr();
            for block in 0..count {
                let codes = Codes::<L>::new(of, first + block, lane, middle);
                // Sums of even and odd terms do not wait for each other.
                let mut sums = [[L::Float::splat(0.0); 2]; R];
                for _ in 0..words {
                    let word = L::load(words_of);
                    for term in 0..32 / BITS {
                        let value = codes.value::<BITS>(word, term);
                        for sums in &mut sums {
                            sums[term % 2] = sums[term % 2].plus(value, L::Float::splat(*x));
                            x = x.add(1);
                        }
                    }
                    words_of = words_of.add(PANEL);
                }
                let scale = of
                    .scales
                    .as_ptr()
                    .add(first + block)
                    .cast::<f32>()
                    .add(lane);
                let scale = L::Float::load(scale);
                for (all, [even, odd]) in all.iter_mut().zip(sums) {
                    *all = all.plus(even.add(odd), scale);
                }
            }
            for (all, out) in all.iter().zip(out.iter_mut()) {
                all.store(out.as_mut_ptr().add(lane));
            }
        }
    }
}

/// # Safety
///
/// [`Panel::unpack`] has checked panel and place.
#[inline(always)]
unsafe fn write<L: Lanes, const BITS: usize>(panel: Panel<'_>, place: Place) {
    let (of, words) = (panel.of, panel.of.words());
    let first = panel.number * of.count;
    let middle = (1 << (BITS - 1)) as f32;
    let mut left = place.places;
    let mut to = place.first;
    // SAFETY: of all reads and writes: the assertions of the caller.
    unsafe {
        for block in first..first + of.count {
            let codes = Codes::<L>::new(of, block, place.lane, middle);
            let scale = of.scales.as_ptr().add(block).cast::<f32>().add(place.lane);
            let scale = L::Float::load(scale);
            for word in block * words..(block + 1) * words {
                let word = of.codes.as_ptr().add(word).cast::<u32>().add(place.lane);
                let word = L::load(word);
                let terms = left.min(32 / BITS);
                for term in 0..32 / BITS {
                    if term < terms {
                        L::mul(codes.value::<BITS>(word, term), scale).store(to);
                        to = to.wrapping_add(place.step);
                    }
                }
                left -= terms;
            }
        }
    }
}
