//! Attention and its kin, over heads of features.

pub mod heads;
pub mod joined;

super::families![
    dot_product,
    flexible,
    group_query,
    linear,
    multi_head,
    projected,
    rotary,
    rotary_positions,
];
