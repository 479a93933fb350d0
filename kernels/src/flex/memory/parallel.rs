//! Output memory that is written in parts, side by side.
//!
//! A [`Grid`] cuts rows and columns of an [`Unwritten`] rectangle. Each part is written once, by one thread, and the proofs of
//! all parts together are the proof for the rectangle.

use std::{marker::PhantomData, ops::Range};

use super::{
    grid::{Cuts, Grid, Spot},
    region::{Unwritten, Written},
};
use crate::flex::threads::in_parts;

impl<'a, T> Unwritten<'a, T> {
    /// Writes the parts of a grid in order. The arguments of `write` are the index, the rectangle and the memory of a part.
    ///
    /// # Panics
    ///
    /// If the grid is that of another rectangle, or `write` returns the proof for another part.
    pub fn in_grid(
        self,
        grid: Grid<'_>,
        mut write: impl for<'p> FnMut(usize, Spot, Unwritten<'p, T>) -> Written<'p, T>,
    ) -> Written<'a, T> {
        let count = grid.checked_count(self.rows(), self.columns());
        grid.each(0..count, |index, spot| {
            self.write_part(index, spot, &mut write);
        });
        // SAFETY: the parts of a grid cover its rectangle, and each has its proof.
        unsafe { self.assume_written() }
    }

    /// Writes the parts of a grid side by side in at most `tasks` tasks.
    ///
    /// # Panics
    ///
    /// As [`Unwritten::in_grid`].
    pub fn side_by_side(
        self,
        grid: Grid<'_>,
        tasks: usize,
        write: impl for<'p> Fn(usize, Spot, Unwritten<'p, T>) -> Written<'p, T> + Send + Sync,
    ) -> Written<'a, T>
    where
        T: Send + Sync,
    {
        self.in_tasks(grid, tasks, |parts| parts.write(&write))
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
        let count = grid.checked_count(self.rows(), self.columns());
        let (out, grid) = (&self, &grid);
        in_parts(count, tasks, |parts| {
            let _: TaskDone<'_> = run(TaskParts { out, grid, parts, task: PhantomData });
        });
        // SAFETY: the parts of a grid cover its rectangle, `in_parts` runs each, and each task has written its parts.
        unsafe { self.assume_written() }
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
        // SAFETY: the callers, which own this rectangle, take each part once. Parts of a grid are disjoint,
        // and the part ends with this call.
        let part = unsafe { self.part(rows.clone(), columns.clone()) };
        let proof = write(index, spot, part);
        self.check(&proof, rows, columns);
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
    /// Writes the parts in order. The arguments of `write` are the index, the rectangle and the memory of a part.
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
        let count = grid.checked_count(self.rows(), self.columns());
        in_parts(count, tasks, |parts| {
            grid.each(parts, |_, spot| {
                let (rows, columns) = (spot.rows.clone(), spot.columns.clone());
                // SAFETY: `in_parts` takes each part once. Parts of a grid are disjoint, and this one ends with the call.
                change(spot, unsafe { self.part(rows, columns) });
            });
        });
    }
}

/// Runs over chunks of `size` elements in parallel. The arguments of `run` are the number and the elements of a chunk.
pub fn on_chunks<T: Send + Sync>(all: &mut [T], size: usize, run: impl Fn(usize, &mut [T]) + Send + Sync) {
    let grid = Grid::of_row(Cuts::every(all.len(), size));
    Written::of(all).side_by_side(grid, usize::MAX, |spot, mut chunk| {
        run(spot.columns.start / size, chunk.slice());
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{
        super::{
            grid::Order,
            slices::{overwrite, write_by_index},
        },
        *,
    };

    fn grids() -> Vec<([usize; 2], Grid<'static>)> {
        let groups = |groups, size, step| Cuts::Every { groups, size, step };
        let split = Cuts::Split { groups: 2, size: 7, unit: 2, parts: 3 };
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
        let pairs = all.iter().flat_map(|rows| all.iter().map(move |columns| (rows, columns)));
        let grids = pairs.flat_map(|(rows, columns)| {
            [Order::RowMajor, Order::ColumnMajor].map(|order| {
                let grid = Grid { rows: rows.1, columns: columns.1, order };
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
                out.reshaped(rows, columns).in_tasks(grid, 5, |parts| {
                    let mut seen = Vec::new();
                    parts.write(|index, spot, part| {
                        assert_eq!((spot.rows.len(), spot.columns.len()), (part.rows(), part.columns()));
                        seen.push(index);
                        assert!(seen.is_sorted());
                        part.write_rows(|row, elements| {
                            let first = (spot.rows.start + row) * columns + spot.columns.start;
                            write_by_index(elements, |at| (first + at) as u32)
                        })
                    })
                })
            });
            assert!(values.iter().enumerate().all(|(at, value)| *value == at as u32), "{grid:?}");
        }
    }

    #[test]
    fn parts_come_in_order() {
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let mut values = [0u8; 12];
            let mut spots = Vec::new();
            overwrite(&mut values, |out| {
                let grid = Grid { rows: Cuts::every(3, 2), columns: Cuts::every(4, 3), order };
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
    fn chunks_are_parts_of_the_slice() {
        let mut all = [0; 9];
        on_chunks(&mut all, 4, |at, chunk| {
            for (place, x) in chunk.iter_mut().enumerate() {
                *x = 4 * at + place;
            }
        });
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        on_chunks(&mut [(); 0], 4, |_, _| panic!("there is none"));
    }

    #[test]
    fn tasks_write_their_parts() {
        let mut values = [1u16; 30];
        let grid = Grid::of_row(Cuts::every(30, 4));
        let begun = std::sync::atomic::AtomicUsize::new(0);
        overwrite(&mut values, |out| {
            out.in_tasks(grid, 3, |parts| {
                begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                parts
                    .write(|index, _, part| part.write(|elements| write_by_index(elements, |_| index as u16)))
            })
        });
        assert!(begun.into_inner() <= 3);
        assert!(values.iter().enumerate().all(|(at, value)| *value as usize == at / 4));
    }

    #[test]
    fn grids_of_other_rectangles_and_foreign_proofs_are_refused() {
        let mut values = [0u8; 12];
        let mut fails = |grid: Grid<'_>| {
            let run =
                || overwrite(&mut values, |out| out.reshaped(3, 4).in_grid(grid, |_, _, part| part.zeroed()));
            catch_unwind(AssertUnwindSafe(run)).is_err()
        };
        let grid = |rows, columns| Grid { rows, columns, order: Order::RowMajor };
        assert!(!fails(grid(Cuts::Ends(&[1, 3]), Cuts::every(4, 9))));
        assert!(fails(grid(Cuts::Ends(&[2, 1, 3]), Cuts::every(4, 9))));
        assert!(fails(grid(Cuts::Ends(&[1, 2]), Cuts::every(4, 9))));
        assert!(fails(grid(Cuts::none(3), Cuts::every(5, 2))));
        assert!(fails(grid(Cuts::none(3), Cuts::every(4, 0))));
        // Numbers of parts that wrap around to none.
        let many = |size, parts| Cuts::Split { groups: size, size: 1, unit: 1, parts };
        assert!(fails(grid(Cuts::none(3), many(4, 1 << (usize::BITS - 2)))));
        let half = 1 << (usize::BITS / 2);
        assert!(fails(grid(Cuts::split(3, 1, half), Cuts::split(4, 1, half))));
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
