//! Positions of queries and keys of GroupQueryAttention.

use alloc::vec::Vec;
use core::ops::Range;

use burn::tensor::{Bool, Int, Tensor};

use super::GroupQuery;
use crate::observe::waits;
use crate::shape::{WithShape, append::append, expand::to_shape};

/// Positions of the queries and of the keys in the cache.
pub struct CachePositions {
    /// Position of the first new key of each batch, `[batch, 1]`.
    pub starts: Tensor<2, Int>,
    pub batch: usize,
    pub queries: usize,
    /// Number of positions in the cache.
    pub keys: usize,
}

impl CachePositions {
    fn line(&self, length: usize) -> Tensor<1, Int> {
        let (device, dtype) = (self.starts.device(), self.starts.dtype());
        Tensor::arange(0..length as i64, (&device, dtype))
    }

    /// Returns the positions of the queries.
    pub fn rows(&self) -> Tensor<2, Int> {
        let shape = [self.batch, self.queries];
        let line = self.line(self.queries).with_shape([1, self.queries]);
        to_shape(self.starts.clone(), shape).add(to_shape(line, shape))
    }

    /// Returns the cache with the new elements written at their positions, followed by zeros.
    ///
    /// `start` is that of [`CachePositions::start`].
    pub fn filled(&self, past: Option<Tensor<4>>, new: Tensor<4>, start: Option<usize>) -> Tensor<4> {
        let [batch, heads, queries, size] = new.dims();
        let cached = past.as_ref().map_or(0, |past| past.dims()[2]);
        let past = past.filter(|_| cached > 0);
        let past = match (past, start) {
            (Some(past), Some(start)) if start == cached && self.keys == cached + queries => {
                return append(past, new, 2);
            }
            (Some(past), Some(start)) if start + queries <= cached && self.keys == cached => {
                let rows = |rows: Range<usize>| [0..batch, 0..heads, rows, 0..size];
                let cache = past.slice_assign(rows(start..start + queries), new);
                return match start + queries {
                    end if end == cached => cache,
                    end => cache.slice_fill(rows(end..cached), 0.0),
                };
            }
            (past, _) => past,
        };
        let zero = Tensor::zeros([batch, heads, 1, size], (&new.device(), new.dtype()));
        let source: Vec<Tensor<4>> = past.into_iter().chain([new, zero]).collect();
        let source = Tensor::cat(source, 2);
        let line = self.line(self.keys);
        let pick = |at: usize| {
            let start = self.starts.clone().narrow(0, at, 1).with_shape([1]);
            let new = line.clone().sub(to_shape(start, [self.keys]));
            let before = new.clone().lower_scalar(0);
            let source_index = new.clamp_max(queries as i64).add_scalar(cached as i64);
            // If the cache is shorter than its stated length, the missing keys are zeros.
            let missing = line.clone().greater_equal_scalar(cached as i64);
            let kept = line.clone().mask_fill(missing, (cached + queries) as i64);
            let source_index = source_index.mask_where(before, kept);
            source.clone().narrow(0, at, 1).select(2, source_index)
        };
        match self.batch {
            1 => pick(0),
            batch => Tensor::cat((0..batch).map(pick).collect(), 0),
        }
    }

    /// Returns the position of the first new key, if it is known to be the same in each batch.
    pub fn start(&self) -> Option<usize> {
        if waits(&self.starts.device()) {
            return None;
        }
        let starts = self.starts.to_data();
        let mut starts = starts.iter::<i64>();
        let first = starts.next()?;
        starts.all(|start| start == first).then(|| usize::try_from(first).ok())?
    }

    /// Returns true if each query attends to all keys, with a first new key at `start` in each batch.
    pub fn sees_all(&self, start: usize, options: &GroupQuery) -> bool {
        let first_sees_last = self.keys <= start.saturating_add(1);
        let reach = start.saturating_add(self.queries);
        options.causal && first_sees_last && options.window.is_none_or(|window| window >= reach)
    }

    /// Returns a mask: true if a query attends to a key.
    pub fn visible_keys(&self, last: &Tensor<2, Int>, options: &GroupQuery) -> Tensor<4, Bool> {
        let (queries, keys) = (self.queries, self.keys);
        let shape = [self.batch, 1, queries, keys];
        let columns = to_shape(self.line(keys).with_shape([1, 1, 1, keys]), shape);
        if !options.causal {
            let last = to_shape(last.clone().with_shape([self.batch, 1, 1, 1]), shape);
            return columns.lower_equal(last);
        }
        let rows = to_shape(self.rows().with_shape([self.batch, 1, queries, 1]), shape);
        let distance = rows.sub(columns);
        let visible = distance.clone().greater_equal_scalar(0);
        match options.window {
            Some(window) => visible.bool_and(distance.lower_scalar(window as i64)),
            None => visible,
        }
    }
}
