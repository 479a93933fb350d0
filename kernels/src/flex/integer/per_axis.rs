//! Scales, zero points and biases by rows or columns.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::Element;

use crate::flex::tile::Factor;

/// A number for the whole result, or one for each of its rows or columns.
#[derive(Clone, Debug, PartialEq)]
pub enum PerAxis<T> {
    One(T),
    Rows(Vec<T>),
    Columns(Vec<T>),
}

impl<T: Element + Default> PerAxis<T> {
    /// The elements of a tensor, or the default if it is missing. Returns `None` if it has elements along
    /// other axes than the last two.
    pub fn of(tensor: Option<FlexTensor>) -> Option<Self> {
        let Some(tensor) = tensor else {
            return Some(Self::One(T::default()));
        };
        let shape = tensor.shape().to_vec();
        let values: Vec<T> = tensor.into_data().iter::<T>().collect();
        let is_last = |back: usize| {
            let axis = shape.len().checked_sub(back);
            let others = shape.iter().enumerate();
            axis.is_some_and(|at| others.filter(|(axis, _)| *axis != at).all(|(_, size)| *size == 1))
        };
        match values[..] {
            [] => None,
            [value] => Some(Self::One(value)),
            _ if is_last(1) => Some(Self::Columns(values)),
            _ if is_last(2) => Some(Self::Rows(values)),
            _ => None,
        }
    }

    /// The elements of a tensor with one element, or one for each output channel of a convolution.
    pub fn of_outputs(tensor: Option<FlexTensor>, outputs: usize) -> Option<Self> {
        let Some(tensor) = tensor else {
            return Some(Self::One(T::default()));
        };
        let values: Vec<T> = tensor.into_data().iter::<T>().collect();
        match values[..] {
            [value] => Some(Self::One(value)),
            _ if values.len() == outputs => Some(Self::Rows(values)),
            _ => None,
        }
    }

    /// An element for each of some rows or columns.
    pub fn each(self, count: usize) -> Vec<T> {
        match self {
            Self::One(value) => vec![value; count],
            Self::Rows(values) | Self::Columns(values) => values,
        }
    }

    /// Returns true if there are as many elements as rows or columns.
    pub fn fits(&self, rows: usize, columns: usize) -> bool {
        match self {
            Self::One(_) => true,
            Self::Rows(values) => values.len() == rows,
            Self::Columns(values) => values.len() == columns,
        }
    }

    /// Pads columns to a number of whole registers.
    pub fn padded(self, columns: usize) -> Self {
        match self {
            Self::Columns(mut values) => {
                values.resize(columns, T::default());
                Self::Columns(values)
            }
            other => other,
        }
    }

    /// Combines two element by element. Returns `None` if one has rows and the other columns.
    pub fn zip(self, other: Self, of: impl Fn(T, T) -> T) -> Option<Self> {
        let both = |a: Vec<T>, b: Vec<T>| a.into_iter().zip(b).map(|(a, b)| of(a, b)).collect();
        Some(match (self, other) {
            (Self::One(a), Self::One(b)) => Self::One(of(a, b)),
            (Self::One(a), Self::Rows(b)) => Self::Rows(b.into_iter().map(|b| of(a, b)).collect()),
            (Self::One(a), Self::Columns(b)) => Self::Columns(b.into_iter().map(|b| of(a, b)).collect()),
            (Self::Rows(a), Self::One(b)) => Self::Rows(a.into_iter().map(|a| of(a, b)).collect()),
            (Self::Columns(a), Self::One(b)) => Self::Columns(a.into_iter().map(|a| of(a, b)).collect()),
            (Self::Rows(a), Self::Rows(b)) => Self::Rows(both(a, b)),
            (Self::Columns(a), Self::Columns(b)) => Self::Columns(both(a, b)),
            _ => return None,
        })
    }
}

impl PerAxis<f32> {
    /// Factor of sums, from the scales of both operands and the result.
    pub fn factor(left: Self, right: Self, result: Option<Self>) -> Option<Self> {
        let product = left.zip(right, |a, b| a * b)?;
        match result {
            Some(result) => product.zip(result, |a, b| a / b),
            None => Some(product),
        }
    }

    pub fn as_factor(&self) -> Factor<'_> {
        match self {
            Self::One(factor) => Factor::One(*factor),
            Self::Rows(factors) => Factor::Rows(factors),
            Self::Columns(factors) => Factor::Columns(factors),
        }
    }
}
