//! Operators on images, their regions, and boxes.

pub mod affine_grid;
pub mod grid_sample;
pub mod non_max_suppression;
pub mod resize;
pub mod roi;
pub mod sample;
