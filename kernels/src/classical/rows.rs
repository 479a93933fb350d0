//! Work on the rows of a table.

/// Calls `visit` with the first row of each part of the results, which have `per_row` elements for each row. Parts are computed
/// in parallel if they are `worth` that many threads, and the kernels have threads.
pub fn share<S: Send + Sync>(
    results: &mut [S],
    per_row: usize,
    worth: usize,
    visit: impl Fn(usize, &mut [S]) + Send + Sync,
) {
    #[cfg(feature = "flex")]
    {
        use crate::flex::{memory::on_chunks, threads};

        let count = results.len().checked_div(per_row).unwrap_or(0);
        let parts = worth.min(count);
        let parts = if parts > 1 { parts.min(threads::even_parts(threads::count())) } else { 1 };
        if parts > 1 {
            let rows = count.div_ceil(parts);
            return on_chunks(results, rows * per_row, |at, results| visit(at * rows, results));
        }
    }
    let _ = (per_row, worth);
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
