//! Reductions over axes, and running ones.

super::families![
    arg_max,
    cumulative,
    reduction,
];
