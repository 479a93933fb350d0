//! Attention in blocks of queries, whose scores stay in the cache.

mod row;

use burn::backend::{
    Flex, TensorMetadata,
    flex::FlexTensor,
    ops::{BoolTensorOps, FloatTensorOps},
};
use burn::tensor::{BoolStore, DType, Element, Shape, TensorData};
use bytemuck::Pod;

use super::{
    gemm::{End, SHARE, multiply},
    instructions::Set,
    memory::Target,
    view::{Matrix, View},
    widened,
};
use crate::{
    attention::{Scores, Undefined},
    backend::{Optional, primitives},
};
use row::{Masks, dots, probabilities};

/// Scores that are computed at once; they fit into the cache of a core.
const SCORES: usize = 1 << 15;

/// Queries of one block at most.
const QUERIES: usize = 64;

/// Queries whose products with keys are sums over features, without a transposed copy of the keys.
const FEW: usize = 3;

pub fn attention(
    query: FlexTensor,
    key: FlexTensor,
    value: FlexTensor,
    mask: Optional<Flex>,
    bias: Optional<Flex>,
    scores: Scores,
) -> FlexTensor {
    let dtype = query.dtype();
    if let DType::F16 | DType::BF16 = dtype {
        let [query, key, value] = [query, key, value].map(widened);
        let bias = match bias {
            Optional::Float(bias) => Optional::Float(widened(bias)),
            other => other,
        };
        let y = attention(query, key, value, mask, bias, scores);
        return Flex::float_cast(y, dtype.into());
    }
    match Operands::new(&query, &key, &value, &mask, &bias, scores) {
        Some(operands) => operands.attend(),
        None => primitives::attention_in_steps::<Flex>(query, key, value, mask, bias, scores),
    }
}

struct Operands {
    query: View,
    key: View,
    value: View,
    mask: Option<FlexTensor>,
    bias: Option<FlexTensor>,
    scores: Scores,
    sizes: Sizes,
}

#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    heads: usize,
    queries: usize,
    /// Heads of keys and values.
    own: usize,
    keys: usize,
    features: usize,
    /// Features of a value.
    size: usize,
}

/// Rows of the result that one thread computes.
struct Part<'a> {
    batch: usize,
    rows: Rows,
    out: &'a mut [f32],
}

/// Queries whose products with the same keys are one product.
#[derive(Clone, Copy)]
enum Rows {
    /// The only query of each head that shares these keys.
    Heads { own: usize },
    /// Queries from this one on, for each head.
    Queries { first: usize },
}

/// What a thread computes for one block.
#[derive(Default)]
struct Scratch {
    scores: Vec<f32>,
    /// Values, each times its probability times the same number.
    sums: Vec<f32>,
    /// What the sums of each row are multiplied with.
    factors: Vec<f32>,
}

impl Operands {
    /// `None` where a tensor is of another type.
    fn new(
        query: &FlexTensor,
        key: &FlexTensor,
        value: &FlexTensor,
        mask: &Optional<Flex>,
        bias: &Optional<Flex>,
        scores: Scores,
    ) -> Option<Self> {
        let (q, v) = (query.shape(), value.shape());
        let sizes = Sizes {
            batch: q[0],
            heads: q[1],
            queries: q[2],
            own: v[1],
            keys: v[2],
            features: q[3],
            size: v[3],
        };
        let mask = match mask {
            Optional::Bool(mask) => Some(mask.clone()),
            _ => None,
        };
        let bias = match bias {
            Optional::Float(bias) => Some(bias.clone()),
            _ => None,
        };
        let is_bytes = |mask: &FlexTensor| {
            matches!(mask.dtype(), DType::Bool(BoolStore::Native | BoolStore::U8))
        };
        if !mask.as_ref().is_none_or(is_bytes)
            || !bias.as_ref().is_none_or(|x| x.dtype() == DType::F32)
        {
            return None;
        }
        let query = if sizes.queries == 1 {
            Flex::float_swap_dims(query.clone(), 1, 2)
        } else {
            query.clone()
        };
        Some(Self {
            query: View::of(&query)?,
            key: View::of(key)?,
            value: View::of(value)?,
            mask: mask.map(|x| with_rows(x, sizes.keys, Flex::bool_expand)),
            bias: bias.map(|x| with_rows(x, sizes.keys, Flex::float_expand)),
            scores,
            sizes,
        })
    }

    /// The result lies as `[batch, queries, heads, size]`, which joins heads without a copy.
    fn attend(&self) -> FlexTensor {
        let Sizes {
            batch,
            heads,
            queries,
            own,
            keys,
            features,
            size,
        } = self.sizes;
        let mut out = vec![0.0; batch * queries * heads * size];
        let work = batch * heads * queries * keys * (features + size);
        let threads = (work / SHARE).clamp(1, rayon::current_num_threads());
        let whole = queries * heads * size;
        let length = if queries == 1 {
            whole / own
        } else {
            let share = queries.div_ceil(threads).next_multiple_of(8);
            (SCORES / keys).clamp(8, QUERIES).min(share) * heads * size
        };
        let parts = out.chunks_mut(whole).enumerate().flat_map(|(batch, out)| {
            let parts = out.chunks_mut(length).enumerate();
            parts.map(move |(at, out)| {
                let rows = if queries == 1 {
                    Rows::Heads { own: at }
                } else {
                    let first = at * length / (heads * size);
                    Rows::Queries { first }
                };
                Part { batch, rows, out }
            })
        });
        if threads == 1 {
            let mut scratch = Scratch::default();
            parts.for_each(|part| self.attend_part(part, &mut scratch));
        } else {
            use rayon::prelude::*;

            let parts: Vec<Part> = parts.collect();
            parts
                .into_par_iter()
                .for_each_init(Scratch::default, |scratch, part| {
                    self.attend_part(part, scratch);
                });
        }
        let y = FlexTensor::from_data(TensorData::new(out, [batch, queries, heads, size]));
        Flex::float_swap_dims(y, 1, 2)
    }

    fn attend_part(&self, part: Part<'_>, scratch: &mut Scratch) {
        let Sizes {
            heads, own, size, ..
        } = self.sizes;
        let (batch, group) = (part.batch, heads / own);
        match part.rows {
            Rows::Heads { own } => {
                let first = own * group;
                let query = self.query.matrix(&[batch, 0]).rows(first, group);
                let places = |row: usize| [batch, first + row, 0];
                self.attend_rows(query, own, places, scratch);
                for (row, out) in part.out.chunks_mut(size).enumerate() {
                    scratch.write(row, out);
                }
            }
            Rows::Queries { first } => {
                let count = part.out.len() / (heads * size);
                for head in 0..heads {
                    let query = self.query.matrix(&[batch, head]).rows(first, count);
                    let places = |row: usize| [batch, head, first + row];
                    self.attend_rows(query, head / group, places, scratch);
                    for (row, out) in part.out.chunks_mut(heads * size).enumerate() {
                        scratch.write(row, &mut out[head * size..][..size]);
                    }
                }
            }
        }
    }

    /// Leaves the sums of values in `scratch`, and what they are divided by.
    fn attend_rows(
        &self,
        query: Matrix<'_>,
        own: usize,
        places: impl Fn(usize) -> [usize; 3],
        scratch: &mut Scratch,
    ) {
        let Sizes { features, size, .. } = self.sizes;
        let rows = query.rows;
        let [batch, ..] = places(0);
        let [begin, end] = self.seen(rows, &places);
        let seen = end - begin;
        scratch.scores.resize(rows * seen, 0.0);
        scratch.factors.resize(rows, 0.0);
        scratch.sums.resize(rows * size, 0.0);
        if seen == 0 {
            scratch
                .factors
                .fill(if self.scores.undefined == Undefined::NotANumber {
                    f32::NAN
                } else {
                    0.0
                });
            scratch.sums.fill(0.0);
            return;
        }
        let key = self.key.matrix(&[batch, own]).rows(begin, seen);
        if rows <= FEW && key.column_step == 1 {
            let mut row = vec![0.0; features];
            for (at, scores) in scratch.scores.chunks_mut(seen).enumerate() {
                query.copy(at, 0, &mut row);
                dots(&row, key, scores);
            }
        } else {
            let out = Target::of(&mut scratch.scores);
            multiply(Set::best(), query, key.transposed(), End::NONE, out);
        }
        let factors = scratch.factors.iter_mut();
        for (at, (row, factor)) in scratch.scores.chunks_mut(seen).zip(factors).enumerate() {
            let place = places(at);
            let masks = Masks {
                hidden: self
                    .mask
                    .as_ref()
                    .map(|x| &row_of::<u8>(x, place)[begin..end]),
                bias: self
                    .bias
                    .as_ref()
                    .map(|x| &row_of::<f32>(x, place)[begin..end]),
            };
            probabilities(row, masks, self.scores, factor);
        }
        let value = self.value.matrix(&[batch, own]).rows(begin, seen);
        let probabilities = Matrix::dense(&scratch.scores, seen);
        let out = Target::of(&mut scratch.sums);
        multiply(Set::best(), probabilities, value, End::NONE, out);
    }

    /// Where the first and past the last key lie that any of the rows sees.
    fn seen(&self, rows: usize, places: &impl Fn(usize) -> [usize; 3]) -> [usize; 2] {
        let keys = self.sizes.keys;
        let Some(mask) = self.mask.as_ref().filter(|_| self.scores.removes_hidden()) else {
            return [0, keys];
        };
        let (mut begin, mut end) = (keys, 0);
        for row in 0..rows {
            let hidden = row_of::<u8>(mask, places(row));
            let first = hidden[..begin].iter().position(|hidden| *hidden == 0);
            begin = first.unwrap_or(begin);
            let last = hidden[end..].iter().rposition(|hidden| *hidden == 0);
            end = last.map_or(end, |last| end + last + 1);
        }
        [begin.min(end), end]
    }
}

impl Scratch {
    /// Writes a row of the result.
    fn write(&self, row: usize, out: &mut [f32]) {
        let sums = &self.sums[row * out.len()..][..out.len()];
        match self.factors[row] {
            // Sums may be infinite.
            0.0 => out.fill(0.0),
            factor => {
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = sum * factor;
                }
            }
        }
    }
}

/// The tensor with rows of `keys` elements that follow one another.
fn with_rows(
    x: FlexTensor,
    keys: usize,
    expand: fn(FlexTensor, Shape) -> FlexTensor,
) -> FlexTensor {
    let mut shape = x.shape();
    let steps = x.layout().strides();
    let follow = shape[3] == keys && (keys == 1 || steps[3] == 1);
    if follow && steps.iter().all(|step| *step >= 0) {
        return x;
    }
    shape[3] = keys;
    expand(x, shape).to_contiguous()
}

/// The row of a tensor that broadcasts.
fn row_of<T: Element + Pod>(x: &FlexTensor, place: [usize; 3]) -> &[T] {
    let layout = x.layout();
    let (sizes, steps) = (layout.shape(), layout.strides());
    let places = place.iter().enumerate().map(|(axis, at)| {
        if sizes[axis] == 1 {
            0
        } else {
            at * steps[axis].unsigned_abs()
        }
    });
    let start = layout.start_offset() + places.sum::<usize>();
    &x.storage::<T>()[start..start + sizes[3]]
}
