//! Pooling.

super::families![
    max_unpool,
    pooling,
];
