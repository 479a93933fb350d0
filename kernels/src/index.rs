//! Elements read and written by index, chosen and ranked.

pub mod gather;
pub mod places;
pub mod scatter;
pub mod select;
pub mod top_k;
pub mod unique;
