//! Matrices inside tensors of this process, read where they lie.

use burn::backend::{
    TensorMetadata,
    flex::{FlexTensor, Layout},
};
use burn::tensor::DType;

use super::{copy::dense, stored::Raw, widened};

/// A tensor of single precision that is read where it lies.
pub struct View(FlexTensor);

/// A weight of single precision that is read where it lies, in any alignment.
pub struct RawView {
    tensor: FlexTensor,
    raw: Raw,
}

/// A number of single precision in any alignment.
pub type Unaligned = [u8; 4];

/// A matrix inside of a slice, in steps from one row and one column to the next.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T = f32> {
    pub values: &'a [T],
    pub rows: usize,
    pub columns: usize,
    pub row_step: usize,
    pub column_step: usize,
}

/// Elements of single precision that follow one another.
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
    /// `None` where the tensor is of another type.
    pub fn of(x: &FlexTensor) -> Option<Self> {
        if x.rank() < 2 || x.dtype() != DType::F32 {
            return None;
        }
        let forward = x.layout().strides().iter().all(|step| *step >= 0);
        Some(Self(if forward { x.clone() } else { dense(x.clone()) }))
    }

    /// The elements from the first one on, and the steps along the batch, channels, depth, rows and
    /// columns, of which the first ones may not be there.
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

    /// The matrix of the last two axes at `batch`, the places along the axes before.
    pub fn matrix(&self, batch: &[usize]) -> Matrix<'_> {
        matrix(self.0.storage::<f32>(), self.0.layout(), batch)
    }
}

impl RawView {
    /// `None` where the tensor is of another type.
    pub fn of(x: &FlexTensor) -> Option<Self> {
        let View(tensor) = View::of(x)?;
        Some(Self {
            raw: Raw::of(&tensor),
            tensor,
        })
    }

    /// The matrix of the last two axes at `batch`, the places along the axes before.
    pub fn matrix(&self, batch: &[usize]) -> Matrix<'_, Unaligned> {
        matrix(
            bytemuck::cast_slice(self.raw.bytes()),
            self.tensor.layout(),
            batch,
        )
    }
}

/// The matrix of the last two axes of a tensor.
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
    /// A matrix whose rows follow one another.
    pub fn dense(values: &'a [T], columns: usize) -> Self {
        Self {
            values,
            rows: values.len() / columns.max(1),
            columns,
            row_step: columns,
            column_step: 1,
        }
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

    /// `count` rows from `first` on.
    pub fn rows(self, first: usize, count: usize) -> Self {
        let values = self.values.get(first * self.row_step..).unwrap_or(&[]);
        Self {
            values,
            rows: count,
            ..self
        }
    }

    /// `count` columns from `first` on.
    pub fn columns(self, first: usize, count: usize) -> Self {
        let values = self.values.get(first * self.column_step..).unwrap_or(&[]);
        Self {
            values,
            columns: count,
            ..self
        }
    }

    /// Writes all rows to `out`, one `step` after another.
    pub fn lay_out(&self, out: &mut [T], step: usize) {
        if self.column_step == 1 || self.row_step != 1 {
            for (row, out) in out.chunks_mut(step).enumerate() {
                self.copy(row, 0, &mut out[..self.columns]);
            }
            return;
        }
        // Reads what follows one another.
        for column in 0..self.columns {
            let values = &self.values[column * self.column_step..][..self.rows];
            for (out, value) in out[column..].iter_mut().step_by(step).zip(values) {
                *out = *value;
            }
        }
    }

    /// Writes the part of a row that begins at `column` to `out`.
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
    /// The columns that are multiples of `stride`.
    pub fn every(self, stride: usize) -> Self {
        Self {
            columns: self.columns.div_ceil(stride),
            column_step: self.column_step * stride,
            ..self
        }
    }
}
