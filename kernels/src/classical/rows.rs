//! Work on the rows of a table.

/// Amount of work for all rows. It determines the number of threads.
pub enum Work {
    /// Visits of nodes of trees.
    Visits(usize),
    Multiplications(usize),
}

impl Work {
    /// Returns the number of threads that it is worth.
    #[cfg(feature = "flex")]
    fn threads(&self) -> usize {
        use crate::flex::plan::tuning::{multiplications_per_thread, visits_per_thread};

        match *self {
            Self::Visits(count) => count / visits_per_thread(),
            Self::Multiplications(count) => count / multiplications_per_thread(),
        }
    }

    /// Without kernels for CPUs, there are no threads.
    #[cfg(not(feature = "flex"))]
    fn threads(&self) -> usize {
        match *self {
            Self::Visits(count) | Self::Multiplications(count) => count.min(1),
        }
    }
}

/// Calls `visit` with the first row of each part of the results, which have `per_row` elements for each row. Parts are computed
/// in parallel if the work is worth it, and the kernels have threads.
pub fn share<S: Send + Sync>(
    results: &mut [S],
    per_row: usize,
    work: Work,
    visit: impl Fn(usize, &mut [S]) + Send + Sync,
) {
    let rows = results.len().checked_div(per_row).unwrap_or(0);
    let parts = work.threads().min(rows);
    #[cfg(feature = "flex")]
    if parts > 1 {
        use crate::flex::{memory::on_chunks, threads};

        let rows = rows.div_ceil(parts.min(threads::even_parts(threads::count())));
        return on_chunks(results, rows * per_row, |at, results| visit(at * rows, results));
    }
    let _ = parts;
    visit(0, results)
}

/// Runs a function that the compiler vectorizes for the instructions of this processor if it, and all that it calls, is
/// `#[inline(always)]`.
#[inline(always)]
pub fn vectorized<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(feature = "flex")]
    return crate::flex::vectorized(run);
    #[cfg(not(feature = "flex"))]
    run()
}
