//! Elements read, written and selected by indices.

pub mod gather;
pub mod one_hot;
pub mod scatter;
pub mod select;
pub mod tensor_scatter;
pub mod top_k;
pub mod unique;

super::families![gather, one_hot, scatter, select, tensor_scatter, top_k, unique];
