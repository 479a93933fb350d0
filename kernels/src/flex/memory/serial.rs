//! Output memory that is written one part after another.

use std::mem::MaybeUninit;

use super::{
    region::{Unwritten, Written},
    repeated,
};

impl<'a, T> Unwritten<'a, T> {
    /// Writes rows, `step` at a time, with the number of the first one.
    #[inline(always)]
    pub fn in_rows(
        self,
        step: usize,
        mut write: impl for<'p> FnMut(usize, Unwritten<'p, T>) -> Written<'p, T>,
    ) -> Written<'a, T> {
        let mut rows = InOrder::rows(self);
        while rows.missing() > 0 {
            let first = rows.done;
            rows.write(step.min(rows.missing()), |part| write(first, part));
        }
        rows.finish()
    }

    /// Writes columns, `step` at a time, with the number of the first one.
    #[inline(always)]
    pub fn in_columns(
        self,
        step: usize,
        mut write: impl for<'p> FnMut(usize, Unwritten<'p, T>) -> Written<'p, T>,
    ) -> Written<'a, T> {
        let mut columns = InOrder::columns(self);
        while columns.missing() > 0 {
            let first = columns.done;
            columns.write(step.min(columns.missing()), |part| write(first, part));
        }
        columns.finish()
    }
}

/// Rows, or columns, of a rectangle that are written one group after another.
pub struct InOrder<'a, T, const BY_ROWS: bool> {
    out: Unwritten<'a, T>,
    /// Number of rows or columns that are written.
    done: usize,
}

impl<'a, T> InOrder<'a, T, true> {
    #[inline(always)]
    pub fn rows(out: Unwritten<'a, T>) -> Self {
        Self { out, done: 0 }
    }
}

impl<'a, T> InOrder<'a, T, false> {
    #[inline(always)]
    pub fn columns(out: Unwritten<'a, T>) -> Self {
        Self { out, done: 0 }
    }
}

impl<'a, T, const BY_ROWS: bool> InOrder<'a, T, BY_ROWS> {
    /// Number of rows or columns that are missing.
    #[inline(always)]
    fn missing(&self) -> usize {
        let all = if BY_ROWS { self.out.rows() } else { self.out.columns() };
        all - self.done
    }

    /// Writes the next rows or columns.
    ///
    /// # Panics
    ///
    /// If fewer are missing, or `write` returns the proof for other elements.
    #[inline(always)]
    pub fn write(&mut self, count: usize, write: impl for<'p> FnOnce(Unwritten<'p, T>) -> Written<'p, T>) {
        assert!(count > 0 && count <= self.missing());
        let next = self.done..self.done + count;
        let (rows, columns) =
            if BY_ROWS { (next.clone(), 0..self.out.columns()) } else { (0..self.out.rows(), next.clone()) };
        // SAFETY: `done` ascends, so that no other part has the elements. The part ends with this call.
        let part = unsafe { self.out.part(rows.clone(), columns.clone()) };
        let proof = write(part);
        self.out.check(&proof, rows, columns);
        self.done = next.end;
    }

    /// The whole rectangle.
    ///
    /// # Panics
    ///
    /// If rows or columns are missing.
    #[inline(always)]
    pub fn finish(self) -> Written<'a, T> {
        assert_eq!(self.missing(), 0, "a kernel writes all elements of its output");
        // SAFETY: all rows, or all columns, have their proofs.
        unsafe { self.out.assume_written() }
    }
}

/// Runs of elements of a rectangle that are written in any order, each once.
pub struct RunWriter<'a, T = f32> {
    out: Unwritten<'a, T>,
    /// Number of elements of a run. Each row consists of whole runs.
    length: usize,
    /// Whether a run is written, row by row.
    done: Vec<bool>,
    missing: usize,
}

impl<'a, T> RunWriter<'a, T> {
    /// Runs of `length` elements.
    ///
    /// # Panics
    ///
    /// If rows do not consist of whole runs.
    pub fn new(out: Unwritten<'a, T>, length: usize) -> Self {
        assert!(length > 0 && out.columns().is_multiple_of(length));
        let runs = out.rows() * (out.columns() / length);
        Self { out, length, done: repeated(runs, false), missing: runs }
    }

    /// Writes a run of a row.
    ///
    /// # Panics
    ///
    /// If it is written already, or `write` returns other elements.
    pub fn write(
        &mut self,
        row: usize,
        run: usize,
        write: impl for<'p> FnOnce(&'p mut [MaybeUninit<T>]) -> &'p mut [T],
    ) {
        let runs = self.out.columns() / self.length;
        assert!(run < runs, "a run is in its row");
        let was_done = std::mem::replace(&mut self.done[row * runs + run], true);
        assert!(!was_done, "a run is written once");
        let elements = &mut self.out.row(row)[run * self.length..][..self.length];
        let _ = Unwritten::of_slice(elements).write(write);
        self.missing -= 1;
    }

    /// The whole rectangle.
    ///
    /// # Panics
    ///
    /// If runs are missing.
    pub fn finish(self) -> Written<'a, T> {
        assert_eq!(self.missing, 0, "a kernel writes all elements of its output");
        // SAFETY: each run is written, and the runs are all elements.
        unsafe { self.out.assume_written() }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{
        super::slices::{overwrite, write_by_index},
        *,
    };

    #[test]
    fn rows_and_columns_come_one_group_after_another() {
        let run = |by_rows: bool, groups: &[usize]| {
            let mut values = [1u8; 16];
            let run = AssertUnwindSafe(|| {
                overwrite(&mut values, |out| {
                    let out = out.reshaped(4, 4);
                    if by_rows {
                        let mut rows = InOrder::rows(out);
                        groups.iter().for_each(|count| rows.write(*count, |part| part.zeroed()));
                        rows.finish()
                    } else {
                        let mut columns = InOrder::columns(out);
                        groups.iter().for_each(|count| columns.write(*count, |part| part.zeroed()));
                        columns.finish()
                    }
                });
            });
            catch_unwind(run).is_ok()
        };
        for by_rows in [true, false] {
            assert!(run(by_rows, &[1, 2, 1]) && run(by_rows, &[4]));
            for groups in [&[1, 2][..], &[1, 4], &[], &[2, usize::MAX], &[0, 4]] {
                assert!(!run(by_rows, groups), "{groups:?}");
            }
        }
    }

    #[test]
    fn runs_come_in_any_order() {
        let run = |order: &[(usize, usize)]| {
            let mut values = [9u8; 12];
            let run = AssertUnwindSafe(|| {
                overwrite(&mut values, |out| {
                    let mut runs = RunWriter::new(out.reshaped(2, 6), 3);
                    for (at, (row, run)) in order.iter().enumerate() {
                        runs.write(*row, *run, |elements| write_by_index(elements, |_| at as u8));
                    }
                    runs.finish()
                });
            });
            let fails = catch_unwind(run).is_err();
            (!fails).then_some(values)
        };
        let expected = [2, 2, 2, 0, 0, 0, 3, 3, 3, 1, 1, 1];
        assert_eq!(run(&[(0, 1), (1, 1), (0, 0), (1, 0)]), Some(expected));
        assert_eq!(run(&[(0, 1), (1, 1), (0, 0)]), None);
        assert_eq!(run(&[(0, 1), (1, 1), (0, 0), (0, 0)]), None);
        assert_eq!(run(&[(0, 1), (1, 1), (0, 0), (0, 2)]), None);
    }
}
