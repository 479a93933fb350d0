//! Arrays of any rank in host memory.

use alloc::{vec, vec::Vec};
use core::ops::Index;

use onnx_embed_kernels::fault::fail;
use onnx_embed_kernels::sizes::{elements, product};

/// An n-dimensional array on the host, in row-major order. An array of rank 0 has one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array<T> {
    shape: Vec<usize>,
    data: Vec<T>,
}

impl<T> Array<T> {
    /// Creates an array of `shape` from its elements in row-major order.
    ///
    /// # Panics
    ///
    /// If the number of elements in `data` is not the product of the sizes in `shape`.
    #[track_caller]
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<T>) -> Self {
        let shape = shape.into();
        assert_eq!(product(&shape), data.len(), "shape {shape:?} does not match {} elements", data.len());
        Self { shape, data }
    }

    /// Creates an array of rank 0.
    pub fn scalar(value: T) -> Self {
        Self { shape: Vec::new(), data: vec![value] }
    }

    /// Creates an array of rank 1.
    pub fn vector(data: impl Into<Vec<T>>) -> Self {
        let data = data.into();
        Self { shape: vec![data.len()], data }
    }

    /// Creates an array whose element at each index is `element(index)`. Indices are visited in row-major order.
    ///
    /// # Panics
    ///
    /// If the array exceeds the [memory limit](crate::memory_limit).
    #[track_caller]
    pub fn from_fn(shape: impl Into<Vec<usize>>, mut element: impl FnMut(&[usize]) -> T) -> Self {
        let shape = shape.into();
        let length = elements(&shape, size_of::<T>());
        let mut index = vec![0; shape.len()];
        let data = (0..length)
            .map(|_| {
                let value = element(&index);
                advance(&mut index, &shape);
                value
            })
            .collect();
        Self { shape, data }
    }

    /// Returns the sizes, one per axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the sizes as an array of length `N`.
    ///
    /// # Panics
    ///
    /// If the rank is not `N`.
    #[track_caller]
    pub fn sizes<const N: usize>(&self) -> [usize; N] {
        let rank = self.rank();
        let sizes = self.shape.as_slice().try_into();
        sizes.unwrap_or_else(|_| fail(format_args!("expected an array of rank {N}, found rank {rank}")))
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Returns `true` if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns the elements in row-major order.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Converts the array to its elements in row-major order.
    pub fn into_data(self) -> Vec<T> {
        self.data
    }

    /// Converts the array to its sizes and elements.
    pub fn into_parts(self) -> (Vec<usize>, Vec<T>) {
        (self.shape, self.data)
    }

    /// Returns the element at `index`, or `None` if `index` is out of bounds or has another number of axes.
    pub fn at(&self, index: &[usize]) -> Option<&T> {
        let inside = index.len() == self.rank() && index.iter().zip(&self.shape).all(|(i, n)| i < n);
        inside.then(|| &self.data[offset(index, &self.shape)])
    }

    /// Returns a clone of the only element. The array may have any rank.
    ///
    /// # Panics
    ///
    /// If the array does not have exactly one element.
    #[track_caller]
    pub fn item(&self) -> T
    where
        T: Clone,
    {
        match self.data.as_slice() {
            [value] => value.clone(),
            _ => fail(format_args!("expected an array of one element, found shape {:?}", self.shape)),
        }
    }

    /// Returns an array of the same shape with the results of `change` for each element.
    pub fn map<U>(&self, change: impl FnMut(&T) -> U) -> Array<U> {
        Array { shape: self.shape.clone(), data: self.data.iter().map(change).collect() }
    }
}

/// Returns the element at an index.
///
/// # Panics
///
/// If the index is out of bounds or has another number of axes than the array.
impl<T> Index<&[usize]> for Array<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, index: &[usize]) -> &T {
        match self.at(index) {
            Some(value) => value,
            None => panic!("index {index:?} is out of bounds for shape {:?}", self.shape),
        }
    }
}

/// Returns the element at an index.
///
/// # Panics
///
/// If the index is out of bounds or has another number of axes than the array.
impl<T, const N: usize> Index<[usize; N]> for Array<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, index: [usize; N]) -> &T {
        &self[index.as_slice()]
    }
}

/// An array of rank 0.
impl<T> From<T> for Array<T> {
    fn from(value: T) -> Self {
        Self::scalar(value)
    }
}

fn offset(index: &[usize], shape: &[usize]) -> usize {
    let steps = index.iter().zip(shape);
    steps.fold(0, |offset, (i, size)| offset * size + i)
}

fn advance(index: &mut [usize], shape: &[usize]) {
    for (i, size) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < *size {
            return;
        }
        *i = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_lie_in_row_major_order() {
        let array = Array::new([2, 3], vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(array[[0, 2]], 3);
        assert_eq!(array[[1, 0]], 4);
        assert_eq!(array.at(&[2, 0]), None);
    }

    #[test]
    fn a_scalar_has_no_axes_and_one_element() {
        let array = Array::scalar("a");
        assert_eq!((array.rank(), array.len()), (0, 1));
        assert_eq!(array[[]], "a");
    }

    #[test]
    fn from_fn_visits_indices_in_order() {
        let array = Array::from_fn([2, 2], |index| index[0] * 10 + index[1]);
        assert_eq!(array.data(), [0, 1, 10, 11]);
        assert_eq!(Array::from_fn([2, 0], |_| 1).data(), [0; 0]);
    }
}
