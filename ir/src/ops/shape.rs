//! The same elements in other shapes, orders and parts.

super::families![
    arrange,
    concat,
    expand,
    pad,
    reshape,
    size,
    slice,
    split,
    transpose,
];
