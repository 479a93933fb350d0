//! Masks and biases, whose axes broadcast.

use std::ops::Range;

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{Element, Shape};
use bytemuck::Pod;

/// Number of keys that are tested together.
const LINE: usize = 64;

/// Returns the tensor with contiguous rows of `keys` elements.
pub fn with_rows(x: FlexTensor, keys: usize, expand: fn(FlexTensor, Shape) -> FlexTensor) -> FlexTensor {
    let mut shape = x.shape();
    let steps = x.layout().strides();
    let follow = shape[3] == keys && (keys == 1 || steps[3] == 1);
    if follow && steps.iter().all(|step| *step >= 0) {
        return x;
    }
    shape[3] = keys;
    expand(x, shape).to_contiguous()
}

/// Returns the row of a tensor that broadcasts.
pub fn row_of<T: Element + Pod>(x: &FlexTensor, place: [usize; 3]) -> &[T] {
    let layout = x.layout();
    let (sizes, steps) = (layout.shape(), layout.strides());
    let places = place
        .iter()
        .enumerate()
        .map(|(axis, at)| if sizes[axis] == 1 { 0 } else { at * steps[axis].unsigned_abs() });
    let start = layout.start_offset() + places.sum::<usize>();
    &x.storage::<T>()[start..start + sizes[3]]
}

/// Range from the first to the last key that is 0 in any row of a mask. Axes of size 1 are read once.
pub fn seen_of(mask: &FlexTensor, batch: usize, heads: Range<usize>, queries: Range<usize>) -> Range<usize> {
    let shape = mask.shape();
    let once = |axis: usize, range: Range<usize>| if shape[axis] == 1 { 0..1 } else { range };
    let (mut begin, mut end) = (shape[3], 0);
    for head in once(1, heads) {
        for query in once(2, queries.clone()) {
            let hidden = row_of::<u8>(mask, [batch, head, query]);
            begin = first_zero(&hidden[..begin]).unwrap_or(begin);
            end = last_zero(&hidden[end..]).map_or(end, |last| end + last + 1);
        }
    }
    begin.min(end)..end
}

fn first_zero(values: &[u8]) -> Option<usize> {
    let line = values.chunks(LINE).position(has_zero)? * LINE;
    let within = values[line..].iter().position(|value| *value == 0)?;
    Some(line + within)
}

fn last_zero(values: &[u8]) -> Option<usize> {
    let line = values.chunks(LINE).rposition(has_zero)? * LINE;
    let within = values[line..].iter().take(LINE).rposition(|value| *value == 0)?;
    Some(line + within)
}

fn has_zero(line: &[u8]) -> bool {
    // Without an early exit, so that it is vectorized.
    line.iter().fold(false, |found, value| found | (*value == 0))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{BoolStore, DType, TensorData};

    use super::*;

    #[test]
    fn keys_that_any_row_sees() {
        let mask = |shown: &[[usize; 2]], shape: [usize; 4]| {
            let mut hidden = vec![true; shape.iter().product()];
            for [row, key] in shown {
                hidden[row * shape[3] + key] = false;
            }
            FlexTensor::from_data(TensorData::new(hidden, shape))
        };
        let shown = [[0, 140], [1, 3], [2, 199], [3, 70], [4, 0]];
        let two_heads = mask(&shown, [1, 2, 3, 200]);
        assert_eq!(two_heads.dtype(), DType::Bool(BoolStore::Native));
        assert_eq!(seen_of(&two_heads, 0, 0..2, 0..3), 0..200);
        assert_eq!(seen_of(&two_heads, 0, 0..1, 0..2), 3..141);
        assert_eq!(seen_of(&two_heads, 0, 1..2, 0..1), 70..71);
        assert!(seen_of(&two_heads, 0, 1..2, 2..3).is_empty());
        let one_row = mask(&[[0, 64], [0, 128]], [1, 1, 1, 200]);
        assert_eq!(seen_of(&one_row, 5, 2..4, 7..9), 64..129);
    }
}
