//! Attention and related operators, on heads of features.

pub mod dot_product;
pub mod flexible;
pub mod group_query;
pub mod heads;
pub mod joined;
pub mod linear;
pub mod multi_head;
pub mod projected;
pub mod rotary;
pub mod rotary_positions;

super::families![dot_product, flexible, group_query, linear, multi_head, projected, rotary, rotary_positions];
