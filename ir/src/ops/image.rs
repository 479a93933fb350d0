//! Images: sampling, regions, boxes and decoding.

pub mod affine_grid;
pub mod decoder;
pub mod grid_sample;
pub mod non_max_suppression;
pub mod resize;
pub mod roi;

super::families![affine_grid, decoder, grid_sample, non_max_suppression, resize, roi];
