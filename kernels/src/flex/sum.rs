//! Sums along an axis.
//!
//! Burn adds as many elements at once as a register has. Deterministic calls add the same ones on all processors.

use burn::backend::{Flex, flex::FlexTensor};

#[cfg(feature = "deterministic")]
mod in_order;

use crate::{backend::primitives, deterministic::is_on};

pub fn sum(x: FlexTensor, axis: usize, mean: bool) -> FlexTensor {
    if is_on() {
        #[cfg(feature = "deterministic")]
        return in_order::sum(x, axis, mean);
    }
    primitives::sum::<Flex>(x, axis, mean)
}
