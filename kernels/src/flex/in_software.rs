//! Functions of elements without the system's mathematical library, whose results differ between systems.
//!
//! Deterministic calls use these, others Burn's.

use burn::backend::{Flex, flex::FlexTensor};

#[cfg(feature = "deterministic")]
mod all;

use crate::{backend::primitives, deterministic::is_on, spec::function::Function};

/// A function of a number, in a deterministic call by software.
macro_rules! scalars {
    ($($name:ident($($argument:ident),+) $method:ident $function:ident;)*) => {$(
        #[inline]
        pub fn $name($($argument: f32),+) -> f32 {
            if is_on() {
                #[cfg(feature = "deterministic")]
                return libm::$function($($argument),+);
            }
            f32::$method($($argument),+)
        }
    )*};
}

scalars! {
    ln_1p(x) ln_1p log1pf;
    powf(base, exponent) powf powf;
}

pub fn function(x: FlexTensor, function: Function) -> FlexTensor {
    if is_on() {
        #[cfg(feature = "deterministic")]
        return all::function(x, function);
    }
    primitives::function::<Flex>(x, function)
}

pub fn power_by(x: FlexTensor, exponent: f64) -> FlexTensor {
    // Burn multiplies or divides for these.
    let is_exact = [0.0, 1.0, 2.0, -1.0, -2.0].contains(&exponent);
    if is_on() && !is_exact {
        #[cfg(feature = "deterministic")]
        return all::power_by(x, exponent);
    }
    primitives::power_by::<Flex>(x, exponent)
}

pub fn power(base: FlexTensor, exponent: FlexTensor) -> FlexTensor {
    if is_on() {
        #[cfg(feature = "deterministic")]
        return all::power(base, exponent);
    }
    primitives::power::<Flex>(base, exponent)
}
