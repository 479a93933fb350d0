//! Blocks of queries whose scores are computed together.

use std::ops::Range;

use burn::backend::flex::FlexTensor;

use super::{
    Operands, Packed,
    mask::row_of,
    row::{Masks, probabilities},
};
use crate::{
    flex::{
        gemm::{ProductEpilogue, multiply, multiply_part, multiply_row},
        memory::{Unwritten, Written, overwrite, resize, write_each, zeroed},
        simd::{InstructionSet, WIDEST},
        view::Matrix,
    },
    spec::scores::Undefined,
};

/// Number of elements of keys that are read for all rows of a block at once: half of the L1 cache.
const KEYS: usize = 4096;

/// One query of several heads, or several queries of one head.
pub struct Block {
    pub batch: usize,
    pub own: usize,
    pub heads: Range<usize>,
    pub queries: Range<usize>,
    pub seen: Range<usize>,
}

/// Buffers of a thread for a block.
#[derive(Default)]
pub struct Scratch {
    query: Vec<f32>,
    scores: Vec<f32>,
    /// Sums of values times unnormalized probabilities.
    sums: Vec<f32>,
    /// Factor of each row that normalizes its sums.
    factors: Vec<f32>,
}

impl Block {
    fn rows(&self) -> usize {
        self.heads.len() * self.queries.len()
    }

    /// Returns batch, head and query of a row.
    fn place(&self, row: usize) -> [usize; 3] {
        let (head, query) = (row / self.queries.len(), row % self.queries.len());
        let (head, query) = (self.heads.start + head, self.queries.start + query);
        [self.batch, head, query]
    }
}

impl Operands {
    /// Writes the values of a block, a row for each query of each of its heads.
    pub fn attend_block<'a>(
        &self,
        block: &Block,
        packed: &Packed,
        scratch: &mut Scratch,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (rows, size) = (block.rows(), self.sizes.size);
        resize(&mut scratch.factors, rows, 0.0);
        resize(&mut scratch.sums, rows * size, 0.0);
        if block.seen.is_empty() {
            let factor = match self.scores.undefined {
                Undefined::NotANumber => f32::NAN,
                _ => 0.0,
            };
            scratch.factors.fill(factor);
            scratch.sums.fill(0.0);
        } else {
            // Packed keys are read in whole panels. All sets add the same lanes of a softmax.
            let first = block.seen.start - packed.seen.start;
            let first = first - first % (2 * WIDEST);
            let keys = packed.seen.start + first..block.seen.end;
            self.score(block, &keys, packed, scratch);
            self.sum(block, &keys, packed, scratch);
        }
        scratch.write(out)
    }

    /// Computes unnormalized probabilities.
    fn score(&self, block: &Block, keys: &Range<usize>, packed: &Packed, scratch: &mut Scratch) {
        let query = if self.sizes.queries == 1 {
            let heads = self.query.matrix(&[block.batch, 0]);
            heads.rows(block.heads.start, block.heads.len())
        } else {
            let queries = self.query.matrix(&[block.batch, block.heads.start]);
            queries.rows(block.queries.start, block.queries.len())
        };
        let features = self.sizes.features;
        resize(&mut scratch.scores, query.rows * keys.len(), 0.0);
        if self.plan.packs_keys {
            let columns = packed.place(keys);
            overwrite(&mut scratch.scores, |out| {
                multiply_part(query, &packed.keys, 0..features, columns, out)
            });
        } else {
            let matrix = self.key.matrix(&[block.batch, block.own]);
            resize(&mut scratch.query, query.rows * features, 0.0);
            query.lay_out(&mut scratch.query, features.max(1));
            // Keys that all rows read from the cache.
            let together = (KEYS / features.max(1)).next_multiple_of(WIDEST);
            for first in (0..keys.len()).step_by(together) {
                let count = together.min(keys.len() - first);
                let some = matrix.rows(keys.start + first, count).transposed();
                for (row, scores) in scratch.scores.chunks_mut(keys.len()).enumerate() {
                    let query = &scratch.query[row * features..][..features];
                    multiply_row(query, some, &mut scores[first..first + count]);
                }
            }
        }
        let scores = scratch.scores.chunks_mut(keys.len());
        for (row, (scores, factor)) in scores.zip(&mut scratch.factors).enumerate() {
            let place = block.place(row);
            let hidden = self.mask.as_ref().map(|x| row_of::<u8>(x, place));
            let bias = self.bias.as_ref().map(|x| row_of::<f32>(x, place));
            let masks = Masks {
                hidden: hidden.map(|hidden| &hidden[keys.clone()]),
                bias: bias.map(|bias| &bias[keys.clone()]),
            };
            probabilities(scores, masks, self.scores, factor);
        }
    }

    /// Computes the sums of values times unnormalized probabilities. The values of masked keys are not in them.
    fn sum(&self, block: &Block, keys: &Range<usize>, packed: &Packed, scratch: &mut Scratch) {
        let probabilities = Matrix::dense(&scratch.scores, keys.len());
        overwrite(&mut scratch.sums, |out| {
            if self.plan.packs_values {
                let terms = packed.place(keys);
                multiply_part(probabilities, &packed.values, terms, 0..self.sizes.size, out)
            } else {
                let values = self.value.matrix(&[block.batch, block.own]);
                let values = values.rows(keys.start, keys.len());
                multiply(InstructionSet::best(), probabilities, values, ProductEpilogue::NONE, out)
            }
        });
        if let (Some(mask), true) = (&self.mask, self.scores.removes_hidden()) {
            self.sum_visible(block, keys, mask, scratch);
        }
    }

    /// Computes rows again whose sums are NaN or infinite: 0 times the value of a masked key may be NaN.
    fn sum_visible(&self, block: &Block, keys: &Range<usize>, mask: &FlexTensor, scratch: &mut Scratch) {
        let size = self.sizes.size.max(1);
        let values = self.value.matrix(&[block.batch, block.own]);
        let mut value = Vec::new();
        for (row, sums) in scratch.sums.chunks_mut(size).enumerate() {
            if sums.iter().all(|sum| sum.is_finite()) {
                continue;
            }
            let hidden = &row_of::<u8>(mask, block.place(row))[keys.clone()];
            let probabilities = &scratch.scores[row * keys.len()..][..keys.len()];
            sums.fill(0.0);
            resize(&mut value, size, 0.0);
            for (at, key) in keys.clone().enumerate().filter(|(at, _)| hidden[*at] == 0) {
                values.copy(key, 0, &mut value);
                for (sum, value) in sums.iter_mut().zip(&value) {
                    *sum += probabilities[at] * value;
                }
            }
        }
    }
}

impl Scratch {
    /// Writes the sums of each row times their factor.
    fn write<'a>(&self, out: Unwritten<'a>) -> Written<'a> {
        let size = out.columns();
        out.write_rows(|row, out| {
            let (factor, sums) = (self.factors[row], &self.sums[row * size..][..size]);
            if factor == 0.0 {
                // The sums may be infinite.
                return zeroed(out);
            }
            write_each(out, sums, |sum| sum * factor)
        })
    }
}

impl Packed {
    /// Returns the range of keys among the packed ones.
    fn place(&self, keys: &Range<usize>) -> Range<usize> {
        keys.start - self.seen.start..keys.end - self.seen.start
    }
}
