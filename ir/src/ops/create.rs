//! Tensors made of sizes and numbers.

super::families![
    constant,
    fill,
    range,
];
