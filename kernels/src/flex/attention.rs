//! Attention in blocks of queries whose scores stay in the cache.

mod block;
mod mask;
mod row;

use std::ops::Range;

use burn::backend::{
    Flex, TensorMetadata,
    flex::FlexTensor,
    ops::{BoolTensorOps, FloatTensorOps},
};
use burn::tensor::{BoolStore, DType};

use super::{
    gemm::{Right, panels},
    memory::{Buffer, Unwritten, Written, on_chunks},
    plan::{AttentionPlan, AttentionSizes, Machine},
    simd::{InstructionSet, WIDEST},
    threads::uneven_parts,
    view::View,
    widened,
};
use crate::{
    backend::{Given, primitives},
    deterministic,
    spec::scores::Scores,
};
use block::{Block, Scratch};
use mask::{seen_of, with_rows};

pub fn attention(
    query: FlexTensor,
    key: FlexTensor,
    value: FlexTensor,
    mask: Option<FlexTensor>,
    bias: Option<FlexTensor>,
    scores: Scores,
) -> FlexTensor {
    let dtype = query.dtype();
    if let DType::F16 | DType::BF16 = dtype {
        let [query, key, value] = [query, key, value].map(widened);
        let bias = bias.map(widened);
        let y = attention(query, key, value, mask, bias, scores);
        return Flex::float_cast(y, dtype.into());
    }
    match Operands::new(&query, &key, &value, mask.as_ref(), bias.as_ref(), scores) {
        Some(operands) => operands.attend(),
        None => {
            let mask = mask.map_or(Given::Missing, Given::Bool);
            let bias = bias.map_or(Given::Missing, Given::Float);
            primitives::attention_in_steps::<Flex>(query, key, value, mask, bias, scores)
        }
    }
}

struct Operands {
    query: View,
    key: View,
    value: View,
    mask: Option<FlexTensor>,
    bias: Option<FlexTensor>,
    scores: Scores,
    sizes: AttentionSizes,
    plan: AttentionPlan,
}

/// Queries, and heads of keys and values, that one thread computes.
struct Part {
    batch: usize,
    own: Range<usize>,
    queries: Range<usize>,
    seen: Range<usize>,
}

/// Packed visible keys and values of one head, if many rows read them.
struct Packed {
    seen: Range<usize>,
    keys: Right,
    values: Right,
}

impl Operands {
    /// Returns `None` for masks and biases of other types.
    fn new(
        query: &FlexTensor,
        key: &FlexTensor,
        value: &FlexTensor,
        mask: Option<&FlexTensor>,
        bias: Option<&FlexTensor>,
        scores: Scores,
    ) -> Option<Self> {
        let (q, v) = (query.shape(), value.shape());
        let sizes = AttentionSizes {
            batch: q[0],
            heads: q[1],
            queries: q[2],
            key_heads: v[1],
            keys: v[2],
            features: q[3],
            size: v[3],
        };
        let (mask, bias) = (mask.cloned(), bias.cloned());
        let is_bytes =
            |mask: &FlexTensor| matches!(mask.dtype(), DType::Bool(BoolStore::Native | BoolStore::U8));
        if !mask.as_ref().is_none_or(is_bytes) || !bias.as_ref().is_none_or(|x| x.dtype() == DType::F32) {
            return None;
        }
        let query =
            if sizes.queries == 1 { Flex::float_swap_dims(query.clone(), 1, 2) } else { query.clone() };
        let key = View::of(key)?;
        let machine = Machine::of_floats(InstructionSet::best());
        let has_contiguous_keys = key.matrix(&[0, 0]).column_step == 1;
        Some(Self {
            plan: AttentionPlan::new(sizes, has_contiguous_keys, &machine),
            query: View::of(&query)?,
            key,
            value: View::of(value)?,
            mask: mask.map(|x| with_rows(x, sizes.keys, Flex::bool_expand)),
            bias: bias.map(|x| with_rows(x, sizes.keys, Flex::float_expand)),
            scores,
            sizes,
        })
    }

    /// The result is in memory as `[batch, queries, heads, size]`, so that heads are joined without a copy.
    fn attend(&self) -> FlexTensor {
        let AttentionSizes { batch, heads, queries, key_heads, size, .. } = self.sizes;
        let threads = self.plan.threads;
        let parts = self.parts();
        // Keys and values that several parts read are packed first.
        let shared = self.plan.shared_heads();
        let pack = |at: usize, packed: &mut Packed| {
            let (at, own) = (at / key_heads, at % key_heads);
            let each = parts.len() / batch;
            let seen = parts[at * each..][..each].iter().map(|part| &part.seen);
            self.pack(at, own, joined(seen), packed);
        };
        let mut packed: Vec<Packed> = (0..shared).map(|_| Packed::new()).collect();
        let together = if threads == 1 { shared.max(1) } else { 1 };
        on_chunks(&mut packed, together, |first, packed| {
            for (at, packed) in packed.iter_mut().enumerate() {
                pack(first * together + at, packed);
            }
        });
        let grid = self.plan.grid();
        let out = Buffer::filled(batch * queries * heads * size, |out| {
            let out = out.reshaped(batch * queries, heads * size);
            let tasks = uneven_parts(threads);
            out.in_tasks(grid, tasks, |of_task| {
                let mut state = (Packed::new(), Scratch::default());
                of_task.write(|at, _, out| self.attend_part(&parts[at], &packed, &mut state, out))
            })
        });
        let y = out.tensor([batch, queries, heads, size]);
        Flex::float_swap_dims(y, 1, 2)
    }

    /// Writes the values of a part: a row for each query, with all of its heads.
    fn attend_part<'a>(
        &self,
        part: &Part,
        packed: &[Packed],
        (alone, scratch): &mut (Packed, Scratch),
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (group, size) = (self.sizes.group(), self.sizes.size);
        // One query of all heads that share keys, or queries of each head.
        let together = if self.sizes.queries == 1 { group } else { 1 };
        out.in_columns((together * size).max(1), |at, out| {
            let first = part.own.start * group + at / size;
            let own = first / group;
            let packed = match packed.get(part.batch * self.sizes.key_heads + own) {
                Some(packed) => packed,
                None => {
                    if first.is_multiple_of(group) {
                        self.pack(part.batch, own, part.seen.clone(), alone);
                    }
                    &*alone
                }
            };
            let block = Block {
                batch: part.batch,
                own,
                heads: first..first + together,
                queries: part.queries.clone(),
                seen: part.seen.clone(),
            };
            let out = if together == 1 { out } else { out.reshaped(together, size) };
            self.attend_block(&block, packed, scratch, out)
        })
    }

    /// All parts, batch by batch.
    fn parts(&self) -> Vec<Part> {
        let AttentionSizes { batch, queries, key_heads, keys, .. } = self.sizes;
        let (rows, of_part) = (self.plan.queries, self.plan.key_heads);
        let heads = (0..batch).flat_map(|batch| panels(key_heads, of_part).map(move |own| (batch, own)));
        let parts = heads
            .flat_map(|(batch, own)| panels(queries, rows).map(move |queries| (batch, own.clone(), queries)));
        let parts = parts.map(|(batch, own, queries)| Part {
            seen: match &self.mask {
                Some(mask) if self.scores.removes_hidden() => {
                    let seen = seen_of(mask, batch, self.heads(own.clone()), queries.clone());
                    // Blocks of queries begin at other keys: each key stays in the same lane of the softmax.
                    let before = if deterministic::is_on() { seen.start % (2 * WIDEST) } else { 0 };
                    seen.start - before..seen.end
                }
                _ => 0..keys,
            },
            batch,
            own,
            queries,
        });
        parts.collect()
    }

    /// Returns the query heads that share heads of keys.
    fn heads(&self, own: Range<usize>) -> Range<usize> {
        let group = self.sizes.group();
        own.start * group..own.end * group
    }

    fn pack(&self, batch: usize, own: usize, seen: Range<usize>, packed: &mut Packed) {
        let [key, value] = [&self.key, &self.value].map(|x| x.matrix(&[batch, own]));
        if self.plan.packs_keys {
            let key = key.rows(seen.start, seen.len());
            packed.keys.pack(key.transposed());
        }
        if self.plan.packs_values {
            packed.values.pack(value.rows(seen.start, seen.len()));
        }
        packed.seen = seen;
    }
}

impl Packed {
    fn new() -> Self {
        let set = InstructionSet::best();
        Self { seen: 0..0, keys: Right::empty(set), values: Right::empty(set) }
    }
}

/// Returns the smallest range that contains all of these.
fn joined<'a>(ranges: impl Iterator<Item = &'a Range<usize>>) -> Range<usize> {
    let ranges = ranges.filter(|range| !range.is_empty()).cloned();
    let all = ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    all.unwrap_or(0..0)
}
