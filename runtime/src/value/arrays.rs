//! Conversion from and to arrays of the crate `ndarray`.

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

use super::{Element, Value};
use crate::Error;

/// The elements of an array of any rank in the order of its axes. Requires the feature `ndarray`.
impl<T: Element, S: Data<Elem = T>, D: Dimension> From<ArrayBase<S, D>> for Value {
    fn from(array: ArrayBase<S, D>) -> Self {
        T::tensor(array.shape().to_vec(), array.iter().cloned().collect())
    }
}

impl Value {
    /// Returns the elements of a tensor as an array of the crate `ndarray`. Their type must be `T`, as in
    /// [`to_vec`](Self::to_vec).
    ///
    /// Requires the feature `ndarray`.
    ///
    /// # Errors
    ///
    /// If the elements are of another type, or if the value is not a tensor.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>, Error> {
        let elements = self.to_vec()?;
        let sizes = IxDyn(self.shape().unwrap_or_default());
        match ArrayD::from_shape_vec(sizes, elements) {
            Ok(array) => Ok(array),
            Err(error) => panic!("the number of elements does not match the shape: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array};

    use super::*;

    #[test]
    fn arrays_and_their_views_become_values_and_come_back() {
        let matrix = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let value = Value::from(matrix.t());
        assert_eq!(value, Value::from([[1.0f32, 4.0], [2.0, 5.0], [3.0, 6.0]]));
        assert_eq!(value.to_ndarray::<f32>().unwrap().t(), matrix.into_dyn());
        let row = array![[1i64, 2]].index_axis_move(Axis(0), 0);
        assert_eq!(Value::from(row), Value::from([1i64, 2]));
        assert!(value.to_ndarray::<i64>().is_err());
    }

    #[test]
    fn an_array_of_rank_0_is_a_scalar() {
        let value = Value::from(ndarray::arr0(7i64));
        assert_eq!(value, Value::from(7i64));
        assert_eq!(value.to_ndarray::<i64>().unwrap().first(), Some(&7));
    }
}
