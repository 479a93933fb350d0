//! Results of custom operators.

use alloc::{borrow::ToOwned, string::ToString, vec::Vec};
use burn::tensor::{Bool, DType, FloatDType, Int, IntDType, Tensor};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::fault::fail;

use crate::Array;

/// A size that the function determines.
pub const ANY: usize = usize::MAX;

/// A result of a function: a tensor, or a tuple of several.
pub trait Results: Sized {
    /// Sizes, and for tensors of numbers the dtype that carries their element type.
    type Expected;

    /// Converts the results to the expected dtypes, and [`fail`]s if their sizes differ. `index` is the index of the
    /// result in a tuple.
    fn checked(self, index: Option<usize>, expected: Self::Expected) -> Self;
}

/// Checks the results of a function and [`fail`]s if they do not have the sizes that the model expects.
pub fn checked<R: Results>(results: R, expected: R::Expected) -> R {
    results.checked(None, expected)
}

impl<const D: usize> Results for Tensor<D> {
    type Expected = (DType, [usize; D]);

    fn checked(self, index: Option<usize>, (dtype, sizes): Self::Expected) -> Self {
        check(&self.dims(), &sizes, index);
        let dtype = lowered(&self.device(), dtype);
        if self.dtype() == dtype { self } else { self.cast(FloatDType::from(dtype)) }
    }
}

impl<const D: usize> Results for Tensor<D, Int> {
    type Expected = (DType, [usize; D]);

    fn checked(self, index: Option<usize>, (dtype, sizes): Self::Expected) -> Self {
        check(&self.dims(), &sizes, index);
        let dtype = lowered(&self.device(), dtype);
        if self.dtype() == dtype { self } else { self.cast(IntDType::from(dtype)) }
    }
}

impl<const D: usize> Results for Tensor<D, Bool> {
    type Expected = [usize; D];

    fn checked(self, index: Option<usize>, sizes: Self::Expected) -> Self {
        check(&self.dims(), &sizes, index);
        self
    }
}

impl<T> Results for Array<T> {
    type Expected = Vec<usize>;

    fn checked(self, index: Option<usize>, sizes: Self::Expected) -> Self {
        check(self.shape(), &sizes, index);
        self
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*))*) => {$(
        impl<$($name: Results),*> Results for ($($name,)*) {
            type Expected = ($($name::Expected,)*);

            fn checked(self, _: Option<usize>, expected: Self::Expected) -> Self {
                ($(self.$index.checked(Some($index), expected.$index),)*)
            }
        }
    )*};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

fn check(found: &[usize], sizes: &[usize], index: Option<usize>) {
    let fits = |(found, size): (&usize, &usize)| found == size || *size == ANY;
    if found.len() == sizes.len() && found.iter().zip(sizes).all(fits) {
        return;
    }
    let size = |size: &usize| match *size {
        ANY => "?".to_owned(),
        size => size.to_string(),
    };
    let sizes = sizes.iter().map(size).collect::<Vec<_>>().join(", ");
    match index {
        None => fail(format_args!("the function returned shape {found:?}, expected [{sizes}]")),
        Some(index) => {
            fail(format_args!("the function returned shape {found:?} for result {index}, expected [{sizes}]"))
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use onnx_embed_kernels::attempt::attempt;

    use super::*;

    fn complaint<R: Results>(results: R, expected: R::Expected) -> String {
        let checked = attempt(|| drop(checked(results, expected)));
        checked.map_or_else(|fault| fault.reason, |()| "fine".to_owned())
    }

    fn zeros() -> Tensor<2> {
        Tensor::zeros([2, 4], &Device::flex())
    }

    #[test]
    fn a_result_has_the_sizes_that_the_model_goes_by() {
        assert_eq!(complaint(zeros(), (DType::F32, [2, ANY])), "fine");
        assert_eq!(
            complaint(zeros(), (DType::F32, [ANY, 3])),
            "the function returned shape [2, 4], expected [?, 3]"
        );
    }

    #[test]
    fn several_results_are_counted() {
        let pair = (zeros(), Array::vector([1i64, 2]));
        assert_eq!(
            complaint(pair, ((DType::F32, [2, 4]), vec![1, 2])),
            "the function returned shape [2] for result 1, expected [1, 2]"
        );
    }

    #[test]
    fn numbers_are_of_the_type_that_the_model_computes_in() {
        let device = Device::flex();
        let small = Tensor::<1, Int>::from_data([1, 2], (&device, DType::I32));
        assert_eq!(checked(small, (DType::I64, [2])).dtype(), DType::I64);
        let double = Tensor::<1>::from_data([1.5], (&device, DType::F64));
        assert_eq!(checked(double, (DType::F16, [1])).dtype(), DType::F32);
    }
}
