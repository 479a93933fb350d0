//! Images.

pub mod non_max_suppression;
pub mod roi;
