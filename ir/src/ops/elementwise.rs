//! Operators on single elements or pairs of them.

pub mod activation;
pub mod arithmetic;
pub mod bias_gelu;
pub mod bit_cast;
pub mod cast;
pub mod clip;
pub mod power;
pub mod swiglu;
pub mod unary;

use crate::attributes::any_of;
use crate::dtype::ElementClass;

/// Returns the classes of elements that an operator accepts, as in `floats or integers`.
fn classes(kinds: &[ElementClass]) -> String {
    let name = |kind: &ElementClass| match kind {
        ElementClass::Float => "floats",
        ElementClass::Int => "integers",
        ElementClass::Bool => "booleans",
        ElementClass::String => "strings",
        ElementClass::Complex => "complex numbers",
    };
    any_of(&kinds.iter().map(name).collect::<Vec<_>>())
}

super::families![arithmetic, bias_gelu, bit_cast, cast, clip, power, swiglu, unary];
