//! Functions of elements without the system's mathematical library, whose results differ between systems.
//!
//! Logarithms, sine, cosine and tangent are our own in all calls. The other functions are those of `libm` in deterministic calls,
//! and Burn's in others.

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::DType;

#[cfg(feature = "deterministic")]
mod all;

use super::{
    elementary::{logarithm, trigonometric},
    rows::in_place,
};
use crate::{backend::primitives, deterministic::is_on, spec::function::Function};

/// A function of a number, in a deterministic call by software.
macro_rules! scalars {
    ($($name:ident($($argument:ident),+): $type:ident $method:ident $function:ident;)*) => {$(
        #[inline]
        pub fn $name($($argument: $type),+) -> $type {
            if is_on() {
                #[cfg(feature = "deterministic")]
                return libm::$function($($argument),+);
            }
            $type::$method($($argument),+)
        }
    )*};
}

scalars! {
    ln_1p(x): f32 ln_1p log1pf;
    powf(base, exponent): f32 powf powf;
    sin(x): f64 sin sin;
    cos(x): f64 cos cos;
    tan(x): f64 tan tan;
}

pub fn function(x: FlexTensor, function: Function) -> FlexTensor {
    if x.dtype() != DType::F64
        && let Some(run) = vectorized(function)
    {
        return in_place(x, 1, |_, elements| run(elements));
    }
    if is_on() {
        #[cfg(feature = "deterministic")]
        return all::function(x, function);
    }
    primitives::function::<Flex>(x, function)
}

/// Our own function, which is faster than the system's and the same everywhere.
fn vectorized(function: Function) -> Option<fn(&mut [f32])> {
    Some(match function {
        Function::Log => logarithm::logarithms,
        Function::Log1p => logarithm::logarithms_of_next,
        Function::Sin => trigonometric::sines,
        Function::Cos => trigonometric::cosines,
        Function::Tan => trigonometric::tangents,
        _ => return None,
    })
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
