//! Elements read, written and selected by indices.

super::families![
    gather,
    one_hot,
    scatter,
    select,
    tensor_scatter,
    top_k,
    unique,
];
