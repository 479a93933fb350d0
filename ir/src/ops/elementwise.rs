//! Operators on each element alone, or on pairs of them.

pub mod activation;

super::families![
    arithmetic,
    bias_gelu,
    bit_cast,
    cast,
    clip,
    power,
    swiglu,
    unary,
];
