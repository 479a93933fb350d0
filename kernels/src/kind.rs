//! Operations that Burn provides for some tensor kinds only.

use burn::tensor::{
    Bool, DType, Float, Int, IntDType, Tensor,
    kind::{Basic, Ordered},
};

use crate::dtype::lowered;

/// One of Burn's three tensor kinds, with a conversion to numbers and back for the operations that booleans lack.
pub trait AnyKind: Basic {
    /// Kind for arithmetic on the values: the same kind, or `Int` for booleans.
    type Number: Ordered + AnyKind;

    /// Converts the values to numbers; booleans become 0 and 1.
    fn into_number<const D: usize>(x: Tensor<D, Self>) -> Tensor<D, Self::Number>;

    /// Inverse of [`into_number`](Self::into_number).
    fn from_number<const D: usize>(x: Tensor<D, Self::Number>) -> Tensor<D, Self>;

    /// Returns `true` for values other than 0, NaN included.
    fn truth<const D: usize>(x: Tensor<D, Self>) -> Tensor<D, Bool>;
}

impl AnyKind for Float {
    type Number = Float;

    fn into_number<const D: usize>(x: Tensor<D>) -> Tensor<D> {
        x
    }

    fn from_number<const D: usize>(x: Tensor<D>) -> Tensor<D> {
        x
    }

    fn truth<const D: usize>(x: Tensor<D>) -> Tensor<D, Bool> {
        x.not_equal_scalar(0)
    }
}

impl AnyKind for Int {
    type Number = Int;

    fn into_number<const D: usize>(x: Tensor<D, Int>) -> Tensor<D, Int> {
        x
    }

    fn from_number<const D: usize>(x: Tensor<D, Int>) -> Tensor<D, Int> {
        x
    }

    fn truth<const D: usize>(x: Tensor<D, Int>) -> Tensor<D, Bool> {
        x.not_equal_scalar(0)
    }
}

impl AnyKind for Bool {
    type Number = Int;

    fn into_number<const D: usize>(x: Tensor<D, Bool>) -> Tensor<D, Int> {
        let dtype: IntDType = lowered(&x.device(), DType::U8).into();
        x.cast(dtype)
    }

    fn from_number<const D: usize>(x: Tensor<D, Int>) -> Tensor<D, Bool> {
        x.not_equal_scalar(0)
    }

    fn truth<const D: usize>(x: Tensor<D, Bool>) -> Tensor<D, Bool> {
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bool, same};

    #[test]
    fn booleans_survive_the_way_through_numbers() {
        let x = bool::<2>([[true, false], [false, true]]);
        let back = Bool::from_number(Bool::into_number(x.clone()));
        same(back, x.into_data());
    }
}
