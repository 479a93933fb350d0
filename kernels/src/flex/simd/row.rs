//! Loads of registers at the ends of a row.
//!
//! They start before its first element or end after its last one.

use super::{Floats, Isa, WIDEST, first_lanes};

/// Loads of the input elements of one register of output pixels: a register for each tap of a window along a row.
pub struct RowLoads {
    /// Number of lanes that the masks are made for.
    lanes: usize,
    /// Number of elements of the row.
    width: usize,
    /// Distance of the elements of neighboring lanes.
    stride: usize,
    /// For each tap, the index of the element of the first lane, and the mask of the loaded lanes, or of the loaded
    /// elements if the stride is 2.
    taps: Vec<(isize, u32)>,
    /// True if the elements of neighboring taps are neighbors.
    are_adjacent: bool,
    /// True if all masks have all lanes.
    are_whole: bool,
}

impl RowLoads {
    /// Loads of `count` lanes. `first` has the index of the first lane's element for each tap, negative before the row.
    pub fn new(
        lanes: usize,
        count: usize,
        stride: usize,
        width: usize,
        first: impl Iterator<Item = isize>,
    ) -> Self {
        assert!(count <= lanes && lanes <= WIDEST);
        assert!(isize::try_from(width).is_ok() && isize::try_from(stride).is_ok());
        // Whole pairs are loaded where they are in the row: a full mask is an instruction less.
        let (loaded, step) = match stride {
            2 => (2 * count, 1),
            _ => (count, stride),
        };
        let mask = |first: isize| {
            let lanes = (0..loaded).filter(|lane| {
                let at = first.checked_add_unsigned(lane * step);
                at.is_some_and(|at| (0..width as isize).contains(&at))
            });
            lanes.fold(0, |mask, lane| mask | 1 << lane)
        };
        let taps: Vec<_> = first.map(|first| (first, mask(first))).collect();
        let are_adjacent = taps.windows(2).all(|taps| taps[0].0.checked_add(1) == Some(taps[1].0));
        let are_whole = count == lanes && taps.iter().all(|(_, mask)| *mask == first_lanes(loaded));
        Self { lanes, width, stride, taps, are_adjacent, are_whole }
    }

    /// Returns true if all lanes of all taps are elements of the row.
    #[inline(always)]
    pub fn are_whole(&self) -> bool {
        self.are_whole
    }

    /// Loads of `TAPS` adjacent taps from rows. `STRIDE` is 1 or 2. `WHOLE`: all lanes are elements of the row.
    ///
    /// # Panics
    ///
    /// If the rows have too few elements, there are fewer taps, or the loads are made for another stride or
    /// number of lanes. Further taps are not loaded.
    #[inline(always)]
    pub fn of_rows<
        'a,
        I: Isa,
        const STRIDE: usize,
        const TAPS: usize,
        const ROWS: usize,
        const WHOLE: bool,
    >(
        &'a self,
        isa: I,
        rows: &'a Rows<'a, ROWS>,
        padding: I::Floats,
    ) -> LoadsFromRows<'a, I, STRIDE, TAPS, ROWS, WHOLE> {
        self.check::<I, STRIDE>(rows.width);
        assert!(matches!(STRIDE, 1 | 2) && self.are_adjacent && (!WHOLE || self.are_whole));
        let Some(taps) = self.taps.first_chunk() else {
            panic!("fewer taps than a kernel has");
        };
        LoadsFromRows { isa, taps, rows, padding }
    }

    /// Calls `run` with the registers of all rows for each tap.
    ///
    /// # Panics
    ///
    /// If the rows have too few elements, or the loads are made for another stride or number of lanes.
    #[inline(always)]
    pub fn each<I: Isa, const STRIDE: usize, const ROWS: usize>(
        &self,
        isa: I,
        rows: &Rows<'_, ROWS>,
        padding: I::Floats,
        mut run: impl FnMut([I::Floats; ROWS]),
    ) {
        self.check::<I, STRIDE>(rows.width);
        for tap in &self.taps {
            let mut registers = [padding; ROWS];
            for (register, row) in registers.iter_mut().zip(rows.rows) {
                *register = match STRIDE {
                    1 if self.are_whole => load_whole(isa, row, tap.0, 0),
                    2 if self.are_whole => {
                        load_whole(isa, row, tap.0, 0).even_lanes(load_whole(isa, row, tap.0, 1))
                    }
                    // SAFETY: the row has all elements that the masks have.
                    _ => unsafe { load::<I, STRIDE>(isa, row, *tap, self.stride, padding) },
                };
            }
            run(registers);
        }
    }

    /// Asserts that the masks are made for the registers, and have elements of a row alone.
    #[inline(always)]
    fn check<I: Isa, const STRIDE: usize>(&self, width: usize) {
        assert!(width >= self.width && self.lanes == I::LANES);
        assert!(match STRIDE {
            0 => self.stride != 2,
            _ => self.stride == STRIDE,
        });
    }
}

/// The load of one register, which may begin before the first element of a row and end after the last one.
pub struct MaskedLoad {
    first: isize,
    mask: u32,
    width: usize,
}

impl MaskedLoad {
    /// The load of lanes from the elements `first` on, of rows of `width` elements.
    #[inline(always)]
    pub fn new(lanes: usize, first: isize, width: usize) -> Self {
        assert!(lanes <= WIDEST);
        let before = first.min(0).unsigned_abs().min(lanes);
        let end = width.saturating_add_signed(0isize.saturating_sub(first)).min(lanes);
        let mask = first_lanes(end) & !first_lanes(before);
        Self { first, mask, width }
    }

    /// Loads the lanes that are in a row. The others are those of `padding`.
    ///
    /// # Panics
    ///
    /// If the row has fewer elements.
    #[inline(always)]
    pub fn load<I: Isa>(&self, isa: I, row: &[f32], padding: I::Floats) -> I::Floats {
        assert!(row.len() >= self.width);
        // SAFETY: the mask has elements of the row alone.
        unsafe { isa.load_masked(row.as_ptr().wrapping_offset(self.first), self.mask, padding) }
    }
}

/// Rows of at least `width` elements.
pub struct Rows<'a, const ROWS: usize> {
    rows: [&'a [f32]; ROWS],
    width: usize,
}

impl<'a, const ROWS: usize> Rows<'a, ROWS> {
    /// # Panics
    ///
    /// If a row has fewer elements.
    #[inline(always)]
    pub fn new(rows: [&'a [f32]; ROWS], width: usize) -> Self {
        for row in rows {
            assert!(row.len() >= width);
        }
        Self { rows, width }
    }
}

/// Loads of some taps from rows that have all elements of their masks.
pub struct LoadsFromRows<
    'a,
    I: Isa,
    const STRIDE: usize,
    const TAPS: usize,
    const ROWS: usize,
    const WHOLE: bool,
> {
    isa: I,
    taps: &'a [(isize, u32); TAPS],
    rows: &'a Rows<'a, ROWS>,
    padding: I::Floats,
}

impl<I: Isa, const STRIDE: usize, const TAPS: usize, const ROWS: usize, const WHOLE: bool>
    LoadsFromRows<'_, I, STRIDE, TAPS, ROWS, WHOLE>
{
    /// The registers of the taps of a row.
    #[inline(always)]
    pub fn of_row(&self, row: usize) -> [I::Floats; TAPS] {
        let row = self.rows.rows[row];
        let mut registers = [self.padding; TAPS];
        for (registers, taps) in registers.chunks_mut(STRIDE).zip(self.taps.chunks(STRIDE)) {
            let (first, mask) = taps[0];
            let [low, high] = std::array::from_fn(
                #[inline(always)]
                |number| self.register(row, (first, mask), number),
            );
            match registers {
                [of_tap] if STRIDE == 1 => *of_tap = low,
                [of_tap] => *of_tap = low.even_lanes(high),
                [of_tap, next] => (*of_tap, *next) = (low.even_lanes(high), low.odd_lanes(high)),
                _ => {}
            }
        }
        registers
    }

    /// Loads register `number` of a tap: the first one, or the second one of elements that are 2 apart.
    #[inline(always)]
    fn register(&self, row: &[f32], (first, mask): (isize, u32), number: usize) -> I::Floats {
        if number >= STRIDE {
            return self.padding;
        }
        if WHOLE {
            let first = first as usize + number * I::LANES;
            // SAFETY: `RowLoads::of_rows` has found that the rows have all elements of the register.
            return self.isa.load(unsafe { row.get_unchecked(first..first + I::LANES) });
        }
        // SAFETY: `RowLoads::of_rows` has found that the rows have all elements of the mask.
        unsafe { load_part(self.isa, row, (first, mask), number, self.padding) }
    }
}

/// Loads register `number` of the elements from `first` on.
#[inline(always)]
fn load_whole<I: Isa>(isa: I, row: &[f32], first: isize, number: usize) -> I::Floats {
    isa.load(&row[first as usize + number * I::LANES..][..I::LANES])
}

/// Loads register `number` of the elements of a mask.
///
/// # Safety
///
/// The mask has elements of the row alone.
#[inline(always)]
unsafe fn load_part<I: Isa>(
    isa: I,
    row: &[f32],
    (first, mask): (isize, u32),
    number: usize,
    padding: I::Floats,
) -> I::Floats {
    let from = row.as_ptr().wrapping_offset(first).wrapping_add(number * I::LANES);
    let mask = (u64::from(mask) >> (number * I::LANES)) as u32 & first_lanes(I::LANES);
    // SAFETY: the part of the mask has elements of the row alone.
    unsafe { isa.load_masked(from, mask, padding) }
}

/// Loads the register of a tap.
///
/// # Safety
///
/// [`RowLoads::check`] has run for the row.
#[inline(always)]
unsafe fn load<I: Isa, const STRIDE: usize>(
    isa: I,
    row: &[f32],
    (first, mask): (isize, u32),
    stride: usize,
    padding: I::Floats,
) -> I::Floats {
    match STRIDE {
        // SAFETY: the mask has elements of the row alone.
        1 => unsafe { load_part(isa, row, (first, mask), 0, padding) },
        2 => {
            // SAFETY: the mask has elements of the row alone.
            let low = unsafe { load_part(isa, row, (first, mask), 0, padding) };
            // SAFETY: the mask has elements of the row alone.
            let high = unsafe { load_part(isa, row, (first, mask), 1, padding) };
            low.even_lanes(high)
        }
        _ => {
            let mut lanes = [0.0; WIDEST];
            padding.store(&mut lanes);
            for (lane, value) in lanes[..I::LANES].iter_mut().enumerate() {
                if mask & (1 << lane) != 0 {
                    *value = row[first.wrapping_add_unsigned(lane * stride) as usize];
                }
            }
            isa.load(&lanes)
        }
    }
}
