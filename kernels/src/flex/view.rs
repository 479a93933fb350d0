//! Matrices inside tensors in host memory, read in place.

use burn::backend::{
    TensorMetadata,
    flex::{FlexTensor, Layout},
};
use burn::tensor::DType;

use super::{copy::dense, stored::Raw, widened};

/// An f32 tensor that is read in place.
pub struct View(FlexTensor);

/// An f32 weight that is read in place, in any alignment.
pub struct RawView {
    tensor: FlexTensor,
    raw: Raw,
}

/// An f32 value in any alignment.
pub type Unaligned = [u8; 4];

/// Strided matrix within a slice.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T = f32> {
    pub values: &'a [T],
    pub rows: usize,
    pub columns: usize,
    pub row_step: usize,
    pub column_step: usize,
}

/// Contiguous f32 elements.
pub struct Dense(FlexTensor);

impl Dense {
    pub fn new(x: &FlexTensor) -> Self {
        Self(dense(widened(x.clone())))
    }

    pub fn values(&self) -> &[f32] {
        let first = self.0.layout().start_offset();
        &self.0.storage::<f32>()[first..][..self.0.layout().num_elements()]
    }
}

impl View {
    /// Returns `None` for other element types.
    pub fn of(x: &FlexTensor) -> Option<Self> {
        if x.rank() < 2 || x.dtype() != DType::F32 {
            return None;
        }
        let forward = x.layout().strides().iter().all(|step| *step >= 0);
        Some(Self(if forward { x.clone() } else { dense(x.clone()) }))
    }

    /// Returns the elements from the first one on, and the strides along batch, channels, depth, rows and
    /// columns. Leading axes may be missing.
    pub fn spatial(&self) -> (&[f32], [usize; 5]) {
        let layout = self.0.layout();
        let (values, steps) = (self.0.storage::<f32>(), layout.strides());
        let missing = 5 - steps.len();
        let steps = std::array::from_fn(|axis| match axis {
            0 | 1 => steps[axis].unsigned_abs(),
            axis if axis < 2 + missing => 0,
            axis => steps[axis - missing].unsigned_abs(),
        });
        (values.get(layout.start_offset()..).unwrap_or(&[]), steps)
    }

    /// Returns the matrix of the last two axes at the indices `batch` of the axes before.
    pub fn matrix(&self, batch: &[usize]) -> Matrix<'_> {
        matrix(self.0.storage::<f32>(), self.0.layout(), batch)
    }
}

impl RawView {
    /// Returns `None` for other element types.
    pub fn of(x: &FlexTensor) -> Option<Self> {
        let View(tensor) = View::of(x)?;
        Some(Self { raw: Raw::of(&tensor), tensor })
    }

    /// Returns the matrix of the last two axes at the indices `batch` of the axes before.
    pub fn matrix(&self, batch: &[usize]) -> Matrix<'_, Unaligned> {
        matrix(bytemuck::cast_slice(self.raw.bytes()), self.tensor.layout(), batch)
    }
}

/// Returns the matrix of the last two axes of a tensor.
fn matrix<'a, T>(values: &'a [T], layout: &Layout, batch: &[usize]) -> Matrix<'a, T> {
    let (sizes, steps) = (layout.shape(), layout.strides());
    let rank = steps.len() - 2;
    let step = |axis: usize| steps[axis].unsigned_abs();
    let places = batch.iter().enumerate().map(|(axis, at)| at * step(axis));
    let start = layout.start_offset() + places.sum::<usize>();
    Matrix {
        values: values.get(start..).unwrap_or(&[]),
        rows: sizes[rank],
        columns: sizes[rank + 1],
        row_step: step(rank),
        column_step: step(rank + 1),
    }
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// Returns a matrix with contiguous rows.
    pub fn dense(values: &'a [T], columns: usize) -> Self {
        Self { values, rows: values.len() / columns.max(1), columns, row_step: columns, column_step: 1 }
    }

    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    pub fn at(&self, row: usize, column: usize) -> T {
        self.values[row * self.row_step + column * self.column_step]
    }

    /// Returns `count` rows from `first` on.
    pub fn rows(self, first: usize, count: usize) -> Self {
        let values = self.values.get(first * self.row_step..).unwrap_or(&[]);
        Self { values, rows: count, ..self }
    }

    /// Returns `count` columns from `first` on.
    pub fn columns(self, first: usize, count: usize) -> Self {
        let values = self.values.get(first * self.column_step..).unwrap_or(&[]);
        Self { values, columns: count, ..self }
    }

    /// Writes all rows to `out`, `step` elements apart.
    pub fn lay_out(&self, out: &mut [T], step: usize) {
        if self.column_step == 1 || self.row_step != 1 {
            for (row, out) in out.chunks_mut(step).enumerate() {
                self.copy(row, 0, &mut out[..self.columns]);
            }
            return;
        }
        // Reads contiguous elements.
        for column in 0..self.columns {
            let values = &self.values[column * self.column_step..][..self.rows];
            for (out, value) in out[column..].iter_mut().step_by(step).zip(values) {
                *out = *value;
            }
        }
    }

    /// Writes the part of a row from `column` on to `out`.
    pub fn copy(&self, row: usize, column: usize, out: &mut [T]) {
        let values = &self.values[row * self.row_step + column * self.column_step..];
        match self.column_step {
            1 => out.copy_from_slice(&values[..out.len()]),
            0 => out.fill(values[0]),
            step => {
                for (out, value) in out.iter_mut().zip(values.iter().step_by(step)) {
                    *out = *value;
                }
            }
        }
    }
}

#[cfg(test)]
impl Matrix<'_> {
    /// Returns the columns that are multiples of `stride`.
    pub fn every(self, stride: usize) -> Self {
        Self { columns: self.columns.div_ceil(stride), column_step: self.column_step * stride, ..self }
    }
}
