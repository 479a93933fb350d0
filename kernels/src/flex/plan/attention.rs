//! Plans of attention.

use super::{machine::Machine, tuning};
use crate::flex::memory::{Cuts, Grid, Order};

/// Sizes of attention.
#[derive(Clone, Copy, Debug)]
pub struct AttentionSizes {
    pub batch: usize,
    /// Number of heads of queries.
    pub heads: usize,
    pub queries: usize,
    /// Number of heads of keys and values.
    pub key_heads: usize,
    pub keys: usize,
    /// Number of features of a query and a key.
    pub features: usize,
    /// Number of features of a value.
    pub size: usize,
}

/// Division of attention into parts: queries of some heads, which one thread computes.
#[derive(Clone, Copy, Debug)]
pub struct AttentionPlan {
    pub threads: usize,
    /// Number of queries of a part.
    pub queries: usize,
    /// Number of heads of keys of a part.
    pub key_heads: usize,
    pub packs_keys: bool,
    pub packs_values: bool,
    sizes: AttentionSizes,
}

impl AttentionSizes {
    /// Number of heads of queries that share a head of keys.
    pub fn group(&self) -> usize {
        self.heads / self.key_heads
    }
}

impl AttentionPlan {
    /// `has_contiguous_keys`: the features of a key are contiguous.
    pub fn new(sizes: AttentionSizes, has_contiguous_keys: bool, machine: &Machine) -> Self {
        let AttentionSizes { batch, heads, queries, key_heads, keys, features, size } = sizes;
        let threads = machine.threads_for(batch * heads * queries * keys * (features + size));
        let share = queries.div_ceil(threads).next_multiple_of(8);
        let panel = machine.tile.panel_rows(share.min(queries));
        let fit = (tuning::max_scores() / keys).min(tuning::max_queries()).min(share);
        let rows = queries * heads / key_heads;
        Self {
            threads,
            queries: (fit / panel * panel).max(panel),
            key_heads: if queries == 1 { 1 } else { key_heads },
            packs_keys: rows > tuning::unpacked_queries() || !has_contiguous_keys,
            packs_values: !machine.tile.reads_in_place(rows),
            sizes,
        }
    }

    /// Number of packed heads of keys that several parts read.
    pub fn shared_heads(&self) -> usize {
        let AttentionSizes { batch, queries, key_heads, .. } = self.sizes;
        let parts = key_heads.div_ceil(self.key_heads) * queries.div_ceil(self.queries);
        if queries > 1 && parts > 1 { batch * key_heads } else { 0 }
    }

    /// Parts of an output of `[batch * queries, heads * size]`.
    pub fn grid(&self) -> Grid<'static> {
        let AttentionSizes { batch, heads, queries, size, .. } = self.sizes;
        let columns = self.key_heads * self.sizes.group() * size;
        Grid {
            rows: Cuts::Every { groups: batch, size: queries, step: self.queries },
            columns: Cuts::every(heads * size, columns.max(1)),
            order: Order::RowMajor,
        }
    }
}
