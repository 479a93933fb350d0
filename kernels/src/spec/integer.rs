//! 8-bit matrix products and convolutions.

use alloc::{vec, vec::Vec};

use burn::tensor::{DType, Shape, ops::ConvOptions};

use super::{convolution, quantize::Ending, types::TensorType};

/// Shapes of the operands of an 8-bit matrix product.
pub struct ByteShapes {
    pub left: Shape,
    pub right: Shape,
    pub left_zero: Option<Shape>,
    pub right_zero: Option<Shape>,
    /// Shapes of the bias, the scales, and the zero point of the result.
    pub ends: Vec<Shape>,
}

impl Ending {
    /// Returns the element type of the result.
    pub fn dtype(self) -> DType {
        match self {
            Self::Sums => DType::I32,
            Self::Floats => DType::F32,
            Self::Quantized { dtype, .. } => dtype,
        }
    }
}

impl ByteShapes {
    /// Returns the type of the product of the matrices of the last two axes that devices compute.
    ///
    /// `None`: it is empty, or scales or zero points belong to one matrix of several.
    pub fn product(&self, ending: Ending) -> Option<TensorType> {
        self.product_shape().map(|shape| TensorType::new(shape, ending.dtype()))
    }

    /// Returns the type of the convolution over the last axes that devices compute.
    ///
    /// `None`: it is empty, the zero point of the input is not a single one, or scales and zero points of the
    /// weight are not one per output.
    pub fn convolution(&self, options: &ConvOptions<3>, ending: Ending) -> Option<TensorType> {
        self.convolution_shape(options).map(|shape| TensorType::new(shape, ending.dtype()))
    }

    fn product_shape(&self) -> Option<Shape> {
        let (left, right) = (&self.left, &self.right);
        let (of_left, of_right) = (left.num_dims(), right.num_dims());
        if of_left < 2 || of_right < 2 || left[of_left - 1] != right[of_right - 2] {
            return None;
        }
        let rank = of_left.max(of_right);
        let mut sizes = vec![1; rank];
        sizes[rank - 2] = left[of_left - 2];
        sizes[rank - 1] = right[of_right - 1];
        for from_end in 3..=rank {
            let size = |shape: &Shape| {
                let axis = shape.num_dims().checked_sub(from_end);
                axis.map_or(1, |axis| shape[axis])
            };
            sizes[rank - from_end] = match [size(left), size(right)] {
                [a, b] if a == b => a,
                [1, size] | [size, 1] => size,
                _ => return None,
            };
        }
        // Only the last two axes may have more than one element.
        let is_matrix = |shape: &Shape| {
            let batch = shape.num_dims().saturating_sub(2);
            shape.iter().take(batch).all(|size| *size == 1)
        };
        let size = |shape: &Shape, from_end: usize| {
            let axis = shape.num_dims().checked_sub(from_end);
            axis.map_or(1, |axis| shape[axis])
        };
        let fits = |shape: &Shape, [rows, columns]: [usize; 2]| {
            is_matrix(shape) && [1, rows].contains(&size(shape, 2)) && [1, columns].contains(&size(shape, 1))
        };
        let own = [sizes[rank - 2], sizes[rank - 1]];
        let all_fit = self.ends.iter().all(|shape| fits(shape, own))
            && self.left_zero.iter().all(|zero| fits(zero, [own[0], 1]))
            && self.right_zero.iter().all(|zero| fits(zero, [1, own[1]]));
        let is_empty = sizes.contains(&0) || left.num_elements() == 0;
        (all_fit && !is_empty).then(|| Shape::from(sizes))
    }

    fn convolution_shape(&self, options: &ConvOptions<3>) -> Option<Shape> {
        let (x, weight) = (&self.left, &self.right);
        if x.num_elements() * weight.num_elements() == 0 {
            return None;
        }
        let outputs = weight[0];
        let shape = match x.num_dims() - 2 {
            1 => convolution::shape(x, weight, &last_axes::<1>(options)),
            2 => convolution::shape(x, weight, &last_axes::<2>(options)),
            3 => convolution::shape(x, weight, options),
            _ => return None,
        };
        let of_outputs = |shape: &Shape| [1, outputs].contains(&shape.num_elements());
        let numbers = self.ends.iter().chain(&self.right_zero);
        let fits =
            numbers.into_iter().all(of_outputs) && self.left_zero.iter().all(|zero| zero.num_elements() == 1);
        (fits && shape.num_elements() > 0).then_some(shape)
    }
}

/// Returns the options of the last `N` axes.
pub fn last_axes<const N: usize>(options: &ConvOptions<3>) -> ConvOptions<N> {
    let (begins, ends) = (options.padding_begin(), options.padding_end());
    let from = 3 - N;
    ConvOptions::new_with_padding(
        core::array::from_fn(|axis| options.stride[from + axis]),
        core::array::from_fn(|axis| (begins[from + axis], ends[from + axis])),
        core::array::from_fn(|axis| options.dilation[from + axis]),
        options.groups,
    )
}
