//! Thresholds of plans.

/// Number of multiplications of floats that are worth another thread.
pub const MULTIPLICATIONS_PER_THREAD: usize = 1 << 17;

/// Number of bytes, read or written, that are worth another thread.
pub const BYTES_PER_THREAD: usize = 1 << 16;

/// Number of multiplications of bytes in the time of one of floats.
pub const BYTES_PER_FLOAT: usize = 4;

/// Number of multiplications of packed weights in the time of one of floats.
pub const CODES_PER_FLOAT: usize = 2;

/// Minimum number of tiles of a thread's band of output pixels.
pub const MIN_BAND_TILES: usize = 4;

/// Maximum number of elements of the copy of a band, unless one row of output pixels has more.
pub const MAX_BAND_LEN: usize = 160 << 10;

/// Minimum number of output pixels of a row of a band, if not all fit.
pub const MIN_BAND_COLUMNS: usize = 128;

/// Maximum number of elements of the copies of several groups that a part makes.
pub const GROUPED_BAND_LEN: usize = 4 << 10;

/// Maximum number of floats of the packed panels that are in use at once.
pub const MAX_PANELS_LEN: usize = 160 << 10;

/// Maximum number of row panels of the weight for which a convolution of several taps reads the copy of a band in place.
pub const COPY_PANELS: usize = 8;

/// Maximum number of output channels of an input channel of a depthwise convolution. With more, a matrix
/// product reads the input once.
pub const MAX_CHANNEL_MULTIPLIER: usize = 2;

/// Maximum number of taps of a depthwise convolution that reads its input in place.
pub const MAX_DEPTHWISE_TAPS: usize = 256;

/// Maximum number of taps of a depthwise convolution with channels in the lanes.
pub const MAX_LANE_TAPS: usize = 64;

/// Maximum number of elements of a padded plane of a depthwise convolution with channels in the lanes.
pub const MAX_PLANE_LEN: usize = 1 << 10;

/// Number of floats in a page of memory.
pub const F32_PER_PAGE: usize = 1 << 10;

/// Number of pages that the first translation buffer of a processor holds, with some to spare.
pub const TLB_PAGES: usize = 128;

/// Maximum number of row panels of the weight for which a pointwise convolution reads its input in place
/// instead of packing it. `is_strided`: the channels of an output pixel are in more than [`TLB_PAGES`] pages.
pub fn in_place_panels(is_strided: bool) -> usize {
    if is_strided { 2 } else { 4 }
}

/// Maximum number of row panels of an operand A for which a product reads B in place: it is read too seldom to be packed.
pub const UNPACKED_PANELS: usize = 2;

/// Maximum number of scores of a block of attention: they fit into the L2 cache.
pub const MAX_SCORES: usize = 1 << 16;

/// Maximum number of queries of a block of attention.
pub const MAX_QUERIES: usize = 70;

/// Maximum number of queries for which the keys are read in place, without a transposed copy.
pub const UNPACKED_QUERIES: usize = 3;

/// Maximum number of rows of an operand for which packed weights are decoded in registers. For more rows,
/// decoded panels in memory are faster.
pub const MAX_REGISTER_ROWS: usize = 8;
