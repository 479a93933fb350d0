//! Weights of recurrent operators, packed for their products.

use std::sync::Arc;

use burn::backend::{
    Flex, TensorMetadata,
    flex::FlexTensor,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::TensorData;

use super::{inputs::Inputs, levels::scale_columns};
use crate::{
    backend::{self, Given, Recurrence},
    flex::{
        copy::dense,
        gemm::{ProductEpilogue, Right, multiply_packed},
        memory::Buffer,
        packed::{Pack, pack},
        quantize::{Integer, by_dtype, elements},
        simd::InstructionSet,
        view::{Matrix, RawView, Unaligned},
        widened,
    },
    spec::packed::Packed,
    spec::recurrent::{Cell, Sizes},
};

/// Packed weights of all directions.
pub struct Weights {
    input: Arc<Right>,
    recurrent: Arc<[Right]>,
    directions: usize,
    /// Scale of each column of all directions, if weights are quantized: of the input and of the recurrence.
    scales: Option<[Vec<f32>; 2]>,
}

/// Unpacked weights.
struct Matrices<'a> {
    weight: &'a FlexTensor,
    factors: Option<[&'a FlexTensor; 2]>,
}

/// Biases of all directions.
pub struct Biases {
    /// Bias of the projected inputs.
    pub input: Option<Vec<f32>>,
    recurrent: Option<Vec<f32>>,
    /// Bias that is added after both products.
    last: Option<Vec<f32>>,
    width: usize,
}

impl Weights {
    /// Returns `None` if the dtype of a weight is neither f32 nor half precision.
    pub fn of(
        operands: &Recurrence<Flex>,
        cell: &Cell,
        sizes: Sizes,
        packed: Option<&[Packed; 2]>,
    ) -> Option<Self> {
        let make: fn(InstructionSet, Matrix<'_, Unaligned>) -> Right = match packed {
            Some(_) => Right::of_weight,
            None => Right::new,
        };
        let [input, recurrent] = match packed {
            Some([input, recurrent]) => [Some(input), Some(recurrent)],
            None => [None, None],
        };
        let input_matrices = Matrices::of(&operands.input)?;
        let input = pack(
            input,
            input_matrices.weight,
            |_| true,
            || {
                let weight = input_matrices.floats()?;
                let rows = [sizes.directions * sizes.gates * sizes.hidden, sizes.features];
                let view = RawView::of(&weight.reshape(rows.into()))?;
                let right = make(InstructionSet::best(), view.matrix(&[]).transposed());
                Some(Pack::Right(Arc::new(right)))
            },
        )?;
        let matrices = Matrices::of(&operands.recurrent)?;
        let resets = matches!(cell, Cell::Gru(gru) if !gru.linear_before_reset);
        let parts = sizes.directions * if resets { 2 } else { 1 };
        let fits = |pack: &Pack| matches!(pack, Pack::Rights(rights) if rights.len() == parts);
        let recurrent = pack(recurrent, matrices.weight, fits, || {
            let view = RawView::of(&matrices.floats()?)?;
            let parts = (0..sizes.directions).flat_map(|direction| {
                let matrix = view.matrix(&[direction]);
                separate(matrix, cell, sizes.hidden)
            });
            let rights = parts.map(|matrix| make(InstructionSet::best(), matrix.transposed()));
            Some(Pack::Rights(rights.collect()))
        })?;
        let scales = match (input_matrices.scales(sizes), matrices.scales(sizes)) {
            (Some(input), Some(recurrent)) => Some([input, recurrent]),
            _ => None,
        };
        match (input, recurrent) {
            (Pack::Right(input), Pack::Rights(recurrent)) => {
                Some(Self { input, recurrent, directions: sizes.directions, scales })
            }
            _ => None,
        }
    }

    /// Returns the products of inputs with the weights of all directions, row by row.
    pub fn project(&self, x: &Inputs, bias: Option<&[f32]>) -> Buffer {
        let (x, scale) = (x.matrix(), x.scale());
        let end = ProductEpilogue { bias, ..ProductEpilogue::NONE };
        let mut rows =
            Buffer::filled(x.rows * self.input.columns, |out| multiply_packed(x, &self.input, end, out));
        if let Some([columns, _]) = &self.scales {
            for row in rows.chunks_exact_mut(columns.len()) {
                scale_columns(row, scale, columns);
            }
        }
        rows
    }

    pub fn are_quantized(&self) -> bool {
        self.scales.is_some()
    }

    /// Returns the scales of the columns of a direction.
    pub fn scales(&self, direction: usize) -> Option<&[f32]> {
        let [_, columns] = self.scales.as_ref()?;
        let width = columns.len() / self.directions;
        Some(&columns[direction * width..][..width])
    }

    /// Returns the recurrent weights. Those of the hidden gate are separate if a GRU resets the state before the product.
    pub fn of_direction(&self, direction: usize) -> &[Right] {
        let count = self.recurrent.len() / self.directions;
        &self.recurrent[direction * count..][..count]
    }
}

impl<'a> Matrices<'a> {
    fn of(operands: &'a backend::Matrices<Flex>) -> Option<Self> {
        match (&operands.weight, &operands.scale, &operands.zero) {
            (Given::Float(weight), ..) => Some(Self { weight, factors: None }),
            (Given::Int(weight), Given::Float(scale), Given::Int(zero)) => {
                Some(Self { weight, factors: Some([scale, zero]) })
            }
            _ => None,
        }
    }

    /// Returns `[directions, outputs, inputs]`, quantized integers less their zero points.
    fn floats(&self) -> Option<FlexTensor> {
        let Some([_, zero]) = self.factors else {
            return Some(widened(self.weight.clone()));
        };
        let weight = dense(self.weight.clone());
        let [directions, inputs, outputs] = weight.shape()[..] else {
            return None;
        };
        if inputs == 0 {
            return None;
        }
        let zeros: Vec<f32> = {
            let each = Flex::int_expand(zero.clone(), [directions, outputs].into());
            each.into_data().convert::<f32>().iter().collect()
        };
        by_dtype!(weight.dtype(), T => {
            let all = elements::<T>(&weight);
            let mut floats = Vec::with_capacity(all.len());
            for (column, zero) in zeros.iter().enumerate() {
                let (direction, output) = (column / outputs, column % outputs);
                let matrix = &all[direction * inputs * outputs..][..inputs * outputs];
                let terms = matrix[output..].iter().step_by(outputs);
                floats.extend(terms.map(|x| x.float() - zero));
            }
            FlexTensor::from_data(TensorData::new(floats, [directions, outputs, inputs]))
        })
    }

    /// Returns the scale of each column of all directions, if the weights are quantized.
    fn scales(&self, sizes: Sizes) -> Option<Vec<f32>> {
        let [scale, _] = self.factors?;
        let width = sizes.gates * sizes.hidden;
        let scale = Flex::float_expand(scale.clone(), [sizes.directions, width].into());
        Some(scale.into_data().convert::<f32>().iter().collect())
    }
}

impl Biases {
    /// Adds the biases of the input and of the recurrence, unless a GRU resets its product with a bias.
    ///
    /// ONNX Runtime adds them last, which affects values that are rounded to few bits.
    pub fn new(bias: Option<&[f32]>, cell: &Cell, sizes: Sizes, are_last: bool) -> Self {
        let width = sizes.gates * sizes.hidden;
        let joined = match cell {
            Cell::Gru(gru) if gru.linear_before_reset => 2 * sizes.hidden,
            _ => width,
        };
        let mut biases = Self { input: None, recurrent: None, last: None, width };
        let Some(bias) = bias else {
            return biases;
        };
        let (mut input, mut recurrent) = (Vec::new(), Vec::new());
        for both in bias.chunks_exact(2 * width) {
            let (ours, others) = both.split_at(width);
            let (joint, rest) = others.split_at(joined);
            input.extend(ours.iter().zip(joint).map(|(a, b)| a + b));
            input.extend(&ours[joined..]);
            recurrent.resize(recurrent.len() + joined, 0.0);
            recurrent.extend(rest);
        }
        if are_last {
            biases.last = Some(input);
        } else {
            biases.input = Some(input);
        }
        biases.recurrent = (joined < width).then_some(recurrent);
        biases
    }

    /// Returns the bias that is added after both products of a direction.
    pub fn last(&self, direction: usize) -> Option<&[f32]> {
        let bias = self.last.as_ref()?;
        Some(&bias[direction * self.width..][..self.width])
    }

    /// Returns the bias of the products of a direction with the recurrent weights.
    pub fn recurrent(&self, direction: usize) -> Option<&[f32]> {
        let bias = self.recurrent.as_ref()?;
        Some(&bias[direction * self.width..][..self.width])
    }
}

/// Returns the parts of a recurrent weight `[gates * hidden, hidden]` that are multiplied at once.
fn separate<'a, T: Copy>(matrix: Matrix<'a, T>, cell: &Cell, hidden: usize) -> Vec<Matrix<'a, T>> {
    match cell {
        Cell::Gru(gru) if !gru.linear_before_reset => {
            vec![matrix.rows(0, 2 * hidden), matrix.rows(2 * hidden, hidden)]
        }
        _ => vec![matrix],
    }
}
