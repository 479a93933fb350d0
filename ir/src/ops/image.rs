//! Images: sampling, regions, boxes, files.

super::families![
    affine_grid,
    decoder,
    grid_sample,
    non_max_suppression,
    resize,
    roi,
];
