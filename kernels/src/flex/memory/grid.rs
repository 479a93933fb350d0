//! Output memory divided into disjoint parts.
//!
//! A [`Grid`] cuts rows and columns of an [`Unwritten`] rectangle. Each part is written once, by one thread, and the proofs of
//! all parts together are the proof for the rectangle.

use std::{marker::PhantomData, mem::MaybeUninit, ops::Range};

use super::{
    region::{Unwritten, Written},
    repeated,
};
use crate::flex::threads::{in_parts, part as split};

/// Where an axis is cut.
#[derive(Clone, Copy, Debug)]
pub enum Cuts<'a> {
    /// `groups` groups of `size` indices, each of which is cut after every `step`.
    Every {
        groups: usize,
        size: usize,
        step: usize,
    },
    /// `groups` groups of `size` indices, each divided into `parts` parts of whole units of `unit` indices, whose numbers of units
    /// differ by at most one.
    Split {
        groups: usize,
        size: usize,
        unit: usize,
        parts: usize,
    },
    /// Parts that end at these indices, which ascend. The last one is the size of the axis.
    Ends(&'a [usize]),
}

/// The order in which parts are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// All parts of some rows, then those of the next ones.
    RowMajor,
    /// All parts of some columns, then those of the next ones.
    ColumnMajor,
}

/// A division of a rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    pub rows: Cuts<'a>,
    pub columns: Cuts<'a>,
    pub order: Order,
}

/// A part of a rectangle.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl<'a> Cuts<'a> {
    /// An axis that is not cut.
    pub fn none(size: usize) -> Self {
        Self::every(size, size.max(1))
    }

    /// Parts of `step` indices, the last one shorter.
    pub fn every(size: usize, step: usize) -> Self {
        Self::Every {
            groups: 1,
            size,
            step,
        }
    }

    /// `parts` parts of whole units, of about equal size.
    pub fn split(size: usize, unit: usize, parts: usize) -> Self {
        Self::Split {
            groups: 1,
            size,
            unit,
            parts,
        }
    }

    /// Number of parts.
    pub fn count(self) -> usize {
        match self {
            Self::Every { groups, size, step } => groups * size.div_ceil(step),
            Self::Split { groups, parts, .. } => groups * parts,
            Self::Ends(ends) => ends.len(),
        }
    }

    fn size(self) -> Option<usize> {
        match self {
            Self::Every { groups, size, .. } | Self::Split { groups, size, .. } => {
                groups.checked_mul(size)
            }
            Self::Ends(ends) => Some(ends.last().copied().unwrap_or(0)),
        }
    }

    fn part(self, index: usize) -> Range<usize> {
        match self {
            // Divisions take longer than the smallest parts.
            Self::Every {
                groups: 1,
                size,
                step,
            } => index * step..size.min(index * step + step),
            Self::Every { size, step, .. } => {
                let parts = size.div_ceil(step);
                let (first, start) = (index / parts * size, index % parts * step);
                first + start..first + size.min(start + step)
            }
            Self::Split {
                size, unit, parts, ..
            } => {
                let first = index / parts * size;
                let units = split(size.div_ceil(unit), parts, index % parts);
                first + size.min(units.start * unit)..first + size.min(units.end * unit)
            }
            Self::Ends(ends) => {
                let start = if index == 0 { 0 } else { ends[index - 1] };
                start..ends[index]
            }
        }
    }

    /// Whether parts are disjoint and cover an axis.
    fn are_of(self, size: usize) -> bool {
        let ascend = match self {
            Self::Every { step, .. } => step > 0,
            Self::Split { unit, parts, .. } => unit > 0 && parts > 0,
            Self::Ends(ends) => ends.is_sorted(),
        };
        ascend && self.size() == Some(size)
    }
}

impl<'a> Grid<'a> {
    /// Parts of one row.
    pub fn of_row(columns: Cuts<'a>) -> Self {
        Self {
            rows: Cuts::none(1),
            columns,
            order: Order::RowMajor,
        }
    }

    /// Parts of whole rows.
    pub fn of_rows(rows: Cuts<'a>, columns: usize) -> Self {
        Self {
            rows,
            columns: Cuts::none(columns),
            order: Order::RowMajor,
        }
    }

    /// Number of parts.
    pub fn count(&self) -> usize {
        self.rows.count() * self.columns.count()
    }

    /// Calls a function with the index and the place of each of some parts, in order.
    #[inline]
    fn each(&self, parts: Range<usize>, mut run: impl FnMut(usize, Spot)) {
        let (outer, inner) = match self.order {
            Order::RowMajor => (self.rows, self.columns),
            Order::ColumnMajor => (self.columns, self.rows),
        };
        let count = inner.count();
        let mut index = parts.start;
        while index < parts.end {
            let (number, first) = (index / count, index % count);
            let outer = outer.part(number);
            let end = count.min(first + parts.end - index);
            for inner in (first..end).map(|part| inner.part(part)) {
                let (rows, columns) = match self.order {
                    Order::RowMajor => (outer.clone(), inner),
                    Order::ColumnMajor => (inner, outer.clone()),
                };
                run(index, Spot { rows, columns });
                index += 1;
            }
        }
    }

    /// Asserts that the parts are disjoint and cover a rectangle.
    fn check(&self, rows: usize, columns: usize) {
        assert!(self.rows.are_of(rows) && self.columns.are_of(columns));
    }
}

impl<'a, T> Unwritten<'a, T> {
    /// Writes the parts of a grid with the index and the place of each, in order.
    ///
    /// # Panics
    ///
    /// If the grid is that of another rectangle, or `write` returns the proof for another part.
    pub fn in_grid(
        self,
        grid: Grid<'_>,
        mut write: impl for<'p> FnMut(usize, Spot, Unwritten<'p, T>) -> Written<'p, T>,
    ) -> Written<'a, T> {
        grid.check(self.rows(), self.columns());
        grid.each(0..grid.count(), |index, spot| {
            self.write_part(index, spot, &mut write);
        });
        // SAFETY: the parts of a grid cover its rectangle, and each has its proof.
        unsafe { self.assume_written() }
    }

    /// Writes the parts of a grid side by side in at most `tasks` tasks, each of which has a value of `state`.
    ///
    /// # Panics
    ///
    /// As [`Unwritten::in_grid`].
    pub fn side_by_side<S>(
        self,
        grid: Grid<'_>,
        tasks: usize,
        state: impl Fn() -> S + Send + Sync,
        write: impl for<'p> Fn(&mut S, usize, Spot, Unwritten<'p, T>) -> Written<'p, T> + Send + Sync,
    ) -> Written<'a, T>
    where
        T: Send + Sync,
    {
        self.in_tasks(grid, tasks, |parts| {
            let mut state = state();
            parts.write(|index, spot, part| write(&mut state, index, spot, part))
        })
    }

    /// Writes the parts of a grid side by side in at most `tasks` tasks. Each writes its parts with [`TaskParts::write`].
    ///
    /// # Panics
    ///
    /// As [`Unwritten::in_grid`].
    pub fn in_tasks(
        self,
        grid: Grid<'_>,
        tasks: usize,
        run: impl for<'p> Fn(TaskParts<'p, T>) -> TaskDone<'p> + Send + Sync,
    ) -> Written<'a, T>
    where
        T: Send + Sync,
    {
        grid.check(self.rows(), self.columns());
        let (out, grid) = (&self, &grid);
        in_parts(grid.count(), tasks, |parts| {
            let _: TaskDone<'_> = run(TaskParts {
                out,
                grid,
                parts,
                task: PhantomData,
            });
        });
        // SAFETY: the parts of a grid cover its rectangle, `in_parts` runs each, and each task has written its parts.
        unsafe { self.assume_written() }
    }

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

    /// Writes a part of a grid that is checked.
    #[inline(always)]
    fn write_part(
        &self,
        index: usize,
        spot: Spot,
        write: &mut impl for<'p> FnMut(usize, Spot, Unwritten<'p, T>) -> Written<'p, T>,
    ) {
        let (rows, columns) = (spot.rows.clone(), spot.columns.clone());
        // SAFETY: the callers, which own this rectangle, take each part once. Parts of a grid are disjoint, and the part ends
        // with this call.
        let part = unsafe { self.part(rows.clone(), columns.clone()) };
        let proof = write(index, spot, part);
        self.check(&proof, rows, columns);
    }

    /// Asserts that a proof is that of the part with these rows and columns.
    #[inline(always)]
    fn check(&self, proof: &Written<'_, T>, rows: Range<usize>, columns: Range<usize>) {
        assert!(
            self.proves(proof, rows, columns),
            "a kernel writes all elements of its output"
        );
    }
}

/// The parts of a rectangle that a task writes.
pub struct TaskParts<'p, T> {
    out: &'p Unwritten<'p, T>,
    grid: &'p Grid<'p>,
    parts: Range<usize>,
    task: Task<'p>,
}

/// Proof that a task has written its parts.
#[must_use]
pub struct TaskDone<'p>(Task<'p>);

/// Tells tasks apart: the lifetime of one cannot become that of another.
type Task<'p> = PhantomData<fn(&'p ()) -> &'p ()>;

impl<'p, T> TaskParts<'p, T> {
    /// Writes the parts with the index and the place of each, in order.
    pub fn write(
        self,
        mut write: impl for<'q> FnMut(usize, Spot, Unwritten<'q, T>) -> Written<'q, T>,
    ) -> TaskDone<'p> {
        self.grid.each(self.parts, |index, spot| {
            self.out.write_part(index, spot, &mut write);
        });
        TaskDone(self.task)
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
        let all = if BY_ROWS {
            self.out.rows()
        } else {
            self.out.columns()
        };
        all - self.done
    }

    /// Writes the next rows or columns.
    ///
    /// # Panics
    ///
    /// If fewer are missing, or `write` returns the proof for other elements.
    #[inline(always)]
    pub fn write(
        &mut self,
        count: usize,
        write: impl for<'p> FnOnce(Unwritten<'p, T>) -> Written<'p, T>,
    ) {
        assert!(count > 0 && count <= self.missing());
        let next = self.done..self.done + count;
        let (rows, columns) = if BY_ROWS {
            (next.clone(), 0..self.out.columns())
        } else {
            (0..self.out.rows(), next.clone())
        };
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
        assert_eq!(
            self.missing(),
            0,
            "a kernel writes all elements of its output"
        );
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
        Self {
            out,
            length,
            done: repeated(runs, false),
            missing: runs,
        }
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
        assert_eq!(
            self.missing, 0,
            "a kernel writes all elements of its output"
        );
        // SAFETY: each run is written, and the runs are all elements.
        unsafe { self.out.assume_written() }
    }
}

impl<T: Send + Sync> Written<'_, T> {
    /// Changes the parts of a grid side by side in at most `tasks` tasks.
    ///
    /// # Panics
    ///
    /// If the grid is that of another rectangle.
    pub fn side_by_side(
        self,
        grid: Grid<'_>,
        tasks: usize,
        change: impl Fn(Spot, Written<'_, T>) + Send + Sync,
    ) {
        grid.check(self.rows(), self.columns());
        in_parts(grid.count(), tasks, |parts| {
            grid.each(parts, |_, spot| {
                let (rows, columns) = (spot.rows.clone(), spot.columns.clone());
                // SAFETY: `in_parts` takes each part once. Parts of a grid are disjoint, and this one ends with the call.
                change(spot, unsafe { self.part(rows, columns) });
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{
        super::slices::{overwrite, write_by_index},
        *,
    };

    fn grids() -> Vec<([usize; 2], Grid<'static>)> {
        let groups = |groups, size, step| Cuts::Every { groups, size, step };
        let split = Cuts::Split {
            groups: 2,
            size: 7,
            unit: 2,
            parts: 3,
        };
        let all = [
            (7, Cuts::none(7)),
            (7, Cuts::every(7, 3)),
            (12, groups(3, 4, 3)),
            (14, split),
            (0, Cuts::every(0, 3)),
            (5, Cuts::Ends(&[0, 2, 2, 5])),
            (19, Cuts::split(19, 4, 3)),
            (8, Cuts::split(8, 3, 7)),
            (0, Cuts::Ends(&[])),
        ];
        let pairs = all
            .iter()
            .flat_map(|rows| all.iter().map(move |columns| (rows, columns)));
        let grids = pairs.flat_map(|(rows, columns)| {
            [Order::RowMajor, Order::ColumnMajor].map(|order| {
                let grid = Grid {
                    rows: rows.1,
                    columns: columns.1,
                    order,
                };
                ([rows.0, columns.0], grid)
            })
        });
        grids.collect()
    }

    #[test]
    fn every_element_is_in_one_part() {
        for ([rows, columns], grid) in grids() {
            let mut values = vec![0u32; rows * columns];
            overwrite(&mut values, |out| {
                out.reshaped(rows, columns).side_by_side(
                    grid,
                    5,
                    Vec::new,
                    |seen, index, spot, part| {
                        assert_eq!(
                            (spot.rows.len(), spot.columns.len()),
                            (part.rows(), part.columns())
                        );
                        seen.push(index);
                        assert!(seen.is_sorted());
                        part.write_rows(|row, elements| {
                            let first = (spot.rows.start + row) * columns + spot.columns.start;
                            write_by_index(elements, |at| (first + at) as u32)
                        })
                    },
                )
            });
            assert!(
                values
                    .iter()
                    .enumerate()
                    .all(|(at, value)| *value == at as u32),
                "{grid:?}"
            );
        }
    }

    #[test]
    fn parts_come_in_order() {
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let mut values = [0u8; 12];
            let mut spots = Vec::new();
            overwrite(&mut values, |out| {
                let grid = Grid {
                    rows: Cuts::every(3, 2),
                    columns: Cuts::every(4, 3),
                    order,
                };
                out.reshaped(3, 4).in_grid(grid, |index, spot, part| {
                    assert_eq!(index, spots.len());
                    spots.push((spot.rows.start, spot.columns.start));
                    part.zeroed()
                })
            });
            let expected = match order {
                Order::RowMajor => [(0, 0), (0, 3), (2, 0), (2, 3)],
                Order::ColumnMajor => [(0, 0), (2, 0), (0, 3), (2, 3)],
            };
            assert_eq!(spots, expected);
        }
    }

    #[test]
    fn rows_and_columns_come_one_group_after_another() {
        let run = |by_rows: bool, groups: &[usize]| {
            let mut values = [1u8; 16];
            let run = AssertUnwindSafe(|| {
                overwrite(&mut values, |out| {
                    let out = out.reshaped(4, 4);
                    if by_rows {
                        let mut rows = InOrder::rows(out);
                        groups
                            .iter()
                            .for_each(|count| rows.write(*count, |part| part.zeroed()));
                        rows.finish()
                    } else {
                        let mut columns = InOrder::columns(out);
                        groups
                            .iter()
                            .for_each(|count| columns.write(*count, |part| part.zeroed()));
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
    fn tasks_write_their_parts() {
        let mut values = [1u16; 30];
        let grid = Grid::of_row(Cuts::every(30, 4));
        let begun = std::sync::atomic::AtomicUsize::new(0);
        overwrite(&mut values, |out| {
            out.in_tasks(grid, 3, |parts| {
                begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                parts.write(|index, _, part| {
                    part.write(|elements| write_by_index(elements, |_| index as u16))
                })
            })
        });
        assert!(begun.into_inner() <= 3);
        assert!(
            values
                .iter()
                .enumerate()
                .all(|(at, value)| *value as usize == at / 4)
        );
    }

    #[test]
    fn runs_come_in_any_order() {
        let run = |order: &[(usize, usize)]| {
            let mut values = [9u8; 12];
            let run = AssertUnwindSafe(|| {
                overwrite(&mut values, |out| {
                    let mut runs = RunWriter::new(out.reshaped(2, 6), 3);
                    for (at, (row, run)) in order.iter().enumerate() {
                        runs.write(*row, *run, |elements| {
                            write_by_index(elements, |_| at as u8)
                        });
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

    #[test]
    fn grids_of_other_rectangles_and_foreign_proofs_are_refused() {
        let mut values = [0u8; 12];
        let mut fails = |grid: Grid<'_>| {
            let run = || {
                overwrite(&mut values, |out| {
                    out.reshaped(3, 4).in_grid(grid, |_, _, part| part.zeroed())
                })
            };
            catch_unwind(AssertUnwindSafe(run)).is_err()
        };
        let grid = |rows, columns| Grid {
            rows,
            columns,
            order: Order::RowMajor,
        };
        assert!(!fails(grid(Cuts::Ends(&[1, 3]), Cuts::every(4, 9))));
        assert!(fails(grid(Cuts::Ends(&[2, 1, 3]), Cuts::every(4, 9))));
        assert!(fails(grid(Cuts::Ends(&[1, 2]), Cuts::every(4, 9))));
        assert!(fails(grid(Cuts::none(3), Cuts::every(5, 2))));
        assert!(fails(grid(Cuts::none(3), Cuts::every(4, 0))));
        // The proof for a part of a part.
        let run = || {
            overwrite(&mut values, |out| {
                out.in_columns(6, |_, part| {
                    let mut first = None;
                    // SAFETY: nothing else accesses the memory of the test.
                    first.get_or_insert(unsafe { part.part(0..1, 0..3) });
                    first.unwrap().zeroed()
                })
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
