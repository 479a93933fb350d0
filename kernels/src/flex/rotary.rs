//! Rotation of pairs of features, row by row.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    copy::dense,
    memory::{Buffer, Cuts, Grid},
    plan::tuning::elements_per_part,
    simd::{MulAdd, compiled_per_set},
    view::{Dense, View},
};

/// Rotates `[batch, heads, length, size]` by angles of `[batch or 1, length, pairs]`.
///
/// Returns `None` for other element types than float32. No operand is empty.
pub fn rotate(x: FlexTensor, cosine: FlexTensor, sine: FlexTensor, interleaved: bool) -> Option<FlexTensor> {
    if [&x, &cosine, &sine].iter().any(|x| x.dtype() != DType::F32) {
        return None;
    }
    let shape = x.shape().to_vec();
    let [_, heads, length, size] = *shape.as_slice() else {
        return None;
    };
    let angles = cosine.shape();
    let (batches, pairs) = (angles[0], angles[2]);
    let contiguous_rows = size == 1 || x.layout().strides()[3] == 1;
    let x = View::of(&if contiguous_rows { x } else { dense(x) })?;
    let [cosine, sine] = [cosine, sine].map(|angles| Dense::new(&angles));
    let (cosine, sine) = (cosine.values(), sine.values());
    let rows: usize = shape[..3].iter().product();
    let grid = Grid::of_rows(Cuts::every(rows, (elements_per_part() / size).max(1)), size);
    let y = Buffer::filled(rows * size, |out| {
        out.reshaped(rows, size).side_by_side(grid, usize::MAX, |_, spot, out| {
            out.write_rows(|row, out| {
                let row = spot.rows.start + row;
                let (at, position) = (row / length, row % length);
                let (batch, head) = (at / heads, at % heads);
                let values = x.matrix(&[batch, head]).rows(position, 1).values;
                let out = out.write_copy_of_slice(&values[..size]);
                // Batches share the angles if there is one row of them.
                let first = (batch.min(batches - 1) * length + position) * pairs;
                let angles = first..first + pairs;
                rotate_row(&mut out[..2 * pairs], &cosine[angles.clone()], &sine[angles], interleaved);
                out
            })
        })
    });
    Some(y.tensor(shape))
}

compiled_per_set! {
    fn rotate_row(row: &mut [f32], cosine: &[f32], sine: &[f32], interleaved: bool) = rotate_row_of;
}

#[inline(always)]
fn rotate_row_of<S: MulAdd>(row: &mut [f32], cosine: &[f32], sine: &[f32], interleaved: bool) {
    let angles = cosine.iter().zip(sine);
    if interleaved {
        for (pair, (cosine, sine)) in row.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
            let [first, second] = *pair;
            *pair = [cosine * first - sine * second, sine * first + cosine * second];
        }
        return;
    }
    let (firsts, seconds) = row.split_at_mut(cosine.len());
    for ((first, second), (cosine, sine)) in firsts.iter_mut().zip(seconds).zip(angles) {
        let real = cosine * *first - sine * *second;
        *second = sine * *first + cosine * *second;
        *first = real;
    }
}
