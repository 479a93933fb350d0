//! Thresholds of plans: the sizes above which another algorithm is faster.
//!
//! `cargo run --release -p onnx-embed-kernels --example tune` measures each with smaller and larger values and prints the
//! table below again. `ONNX_EMBED_TUNING=name=value,..` replaces some of them when a process starts, for that example and
//! for a look at other processors; tests run with `all=1` and `all=1073741824`, the least and the largest values. Results do not depend on them, except for the order in which floats are added.
#![doc = include_str!("tuning.md")]

use std::{env, sync::OnceLock};

/// A threshold, as the example and the tests see it.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    pub default: usize,
    /// The largest value that kernels can have.
    pub most: usize,
    /// Operations whose time depends on it.
    pub workload: Workload,
}

/// Operations that show the effect of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    Attention,
    /// Models of several layers.
    Batches,
    /// Products and convolutions of bytes.
    Bytes,
    /// Products with packed weights of 4 bits.
    Codes,
    Convolutions,
    Copies,
    Depthwise,
    /// Functions of elements, and quantization.
    Elements,
    Products,
    Recurrences,
    Spectra,
    Trees,
}

/// Capacity of the weights of a depthwise convolution that reads its input in place, in taps.
pub const WINDOW_TAPS: usize = 256;

/// Capacity of the weights of a depthwise convolution with channels in the lanes, in taps.
pub const LANE_TAPS: usize = 64;

/// Capacity of the first elements of a row that are kept in order, in elements.
pub const KEPT: usize = 64;

/// Number of floats in a page of memory.
pub const F32_PER_PAGE: usize = 1 << 10;

/// Associativity of the L1 cache: number of lines of a set, at least.
pub const CACHE_WAYS: usize = 8;

/// Number of floats in half of the L1 cache.
pub const HALF_OF_L1: usize = 4 << 10;

/// The largest value of thresholds that kernels do not limit.
const UNLIMITED: usize = 1 << 30;

/// Declares thresholds: a function for each, and their table.
macro_rules! thresholds {
    ($($(#[$doc:meta])+ $name:ident = $default:expr, $unit:literal $(up to $most:expr)?, $workload:ident;)+) => {
        $($(#[$doc])+ pub fn $name() -> usize {
            values()[Index::$name as usize]
        })+

        /// All thresholds.
        pub const THRESHOLDS: &[Threshold] = &[$(Threshold {
            name: stringify!($name),
            unit: $unit,
            default: $default,
            most: [$($most,)? UNLIMITED][0],
            workload: Workload::$workload,
        }),+];

        /// Indices of thresholds.
        #[allow(non_camel_case_types)]
        enum Index {
            $($name),+
        }
    };
}

thresholds! {
    /// Number of multiplications of floats that are worth another thread.
    multiplications_per_thread = 1 << 17, "multiplications", Products;
    /// Number of bytes, read or written, that are worth another thread.
    bytes_per_thread = 1 << 16, "bytes", Copies;
    /// Number of multiplications of bytes in the time of one of floats.
    bytes_per_float = 4, "multiplications", Bytes;
    /// Number of multiplications of packed weights in the time of one of floats.
    codes_per_float = 2, "multiplications", Codes;
    /// Minimum number of elements of a part of elementwise work, if there are several parts.
    elements_per_part = 1 << 15, "elements", Elements;
    /// Minimum number of numbers of a part of Fourier transforms, if there are several parts.
    transformed_per_part = 1 << 14, "numbers", Spectra;
    /// Minimum number of sequences of a thread, if a direction has several.
    sequences_per_thread = 4, "sequences", Recurrences;
    /// Number of visits of nodes of decision trees that are worth another thread.
    visits_per_thread = 1 << 15, "visits", Trees;

    /// Minimum number of tiles of a thread's band of output pixels.
    min_band_tiles = 4, "tiles", Convolutions;
    /// Maximum number of elements of the copy of a band, unless one row of output pixels has more.
    max_band_len = 160 << 10, "elements", Convolutions;
    /// Minimum number of output pixels of a row of a band, if not all fit.
    min_band_columns = 128, "pixels", Convolutions;
    /// Maximum number of elements of the copies of several groups that a part makes.
    grouped_band_len = 4 << 10, "elements", Convolutions;
    /// Maximum number of floats of the packed panels that are in use at once.
    max_panels_len = 160 << 10, "floats", Convolutions;
    /// Maximum number of row panels of the weight for which a convolution of several taps reads the copy of a band in place.
    copy_panels = 8, "panels", Convolutions;
    /// Maximum number of row panels of the weight for which a pointwise convolution reads its input in place
    /// instead of packing it.
    in_place_panels = 11, "panels", Convolutions;
    /// The same if the channels of an output pixel evict each other from the L1 cache.
    conflict_panels = 2, "panels", Convolutions;
    /// Maximum number of floats of the transformed input of a band of squares, and of the sums of a panel of output channels.
    max_squares_len = 176 << 10, "floats", Convolutions;
    /// Share of the estimated time of direct sums below which a convolution is computed by squares of output pixels.
    winograd_percent = 85, "percent" up to 100, Convolutions;

    /// Maximum number of output channels of an input channel of a depthwise convolution. With more, a matrix
    /// product reads the input once.
    max_channel_multiplier = 2, "channels", Depthwise;
    /// Maximum number of taps of a depthwise convolution that reads its input in place.
    max_depthwise_taps = 256, "taps" up to WINDOW_TAPS, Depthwise;
    /// Maximum number of taps of a depthwise convolution with channels in the lanes.
    max_lane_taps = 64, "taps" up to LANE_TAPS, Depthwise;
    /// Maximum number of elements of a padded plane of a depthwise convolution with channels in the lanes.
    max_plane_len = 1 << 10, "elements", Depthwise;

    /// Maximum number of row panels of an operand A for which a product reads B in place: it is read too seldom to be packed.
    unpacked_panels = 2, "panels", Products;
    /// Maximum number of floats of the rows of a product that are packed at once, if the columns have no more: both stay in the
    /// cache.
    max_row_block_len = 1 << 15, "floats", Products;
    /// Number of columns of a product of one row whose sums are computed at once.
    columns_of_row = 1 << 10, "columns", Products;
    /// Distance in which packed columns of bytes are prefetched: they are streamed from memory, and the
    /// hardware stops at pages.
    prefetch_distance = 256, "words", Bytes;
    /// Maximum number of rows of an operand for which packed weights are decoded in registers. For more rows,
    /// decoded panels in memory are faster.
    max_register_rows = 8, "rows", Codes;

    /// Maximum number of scores of a block of attention: they fit into the L2 cache.
    max_scores = 1 << 16, "scores", Attention;
    /// Maximum number of queries of a block of attention.
    max_queries = 70, "queries", Attention;
    /// Maximum number of queries for which the keys are read in place, without a transposed copy.
    unpacked_queries = 3, "queries", Attention;

    /// Maximum number of bytes that a layer reads and writes for the rows of a batch that a thread computes at once, unless one
    /// row has more. Only for models whose rows are independent.
    max_part_bytes = 4 << 20, "bytes", Batches;
    /// Number of words of a part of a copy, about the size of the L1 cache.
    copied_part = 1 << 13, "words", Copies;
    /// Minimum number of elements of a plane that is concatenated in bands of rows, in the order of the
    /// kernels before and after it.
    min_banded_plane = 1 << 9, "elements", Copies;
    /// Minimum number of elements of a plane whose channels are scaled in blocks: smaller ones have too much fixed cost.
    min_scaled_plane = 16, "elements", Elements;
    /// Number of elements that are scaled at once, which stay in the L1 cache between steps.
    scaled_block = 1 << 11, "elements", Elements;
    /// Maximum number of the first elements of a row that are kept in order while it is read. More are selected from a copy.
    max_kept = 16, "elements" up to KEPT, Elements;
}

/// Variable of the environment that replaces thresholds.
const VARIABLE: &str = "ONNX_EMBED_TUNING";

/// The values of [`THRESHOLDS`].
type Values = [usize; THRESHOLDS.len()];

/// Returns the values of the process.
///
/// # Panics
/// If the variable names no threshold, or a value that it cannot have.
#[inline]
fn values() -> &'static Values {
    static VALUES: OnceLock<Values> = OnceLock::new();
    VALUES.get_or_init(|| {
        let replaced = env::var(VARIABLE).unwrap_or_default();
        replaced_by(&replaced).unwrap_or_else(|problem| panic!("{VARIABLE} {problem}"))
    })
}

/// The defaults, some of which `text` replaces.
fn replaced_by(text: &str) -> Result<Values, String> {
    let mut values: Values = std::array::from_fn(|at| THRESHOLDS[at].default);
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("contains {pair:?}, expected name=value"))?;
        if let ("all", Ok(value @ 1..)) = (name, value.parse::<usize>()) {
            values = std::array::from_fn(|at| value.min(THRESHOLDS[at].most));
            continue;
        }
        let at = THRESHOLDS.iter().position(|threshold| threshold.name == name);
        let at = at.ok_or_else(|| format!("contains the unknown threshold {name:?}"))?;
        let most = THRESHOLDS[at].most;
        let value = value.parse().ok().filter(|value| (1..=most).contains(value));
        values[at] = value.ok_or_else(|| format!("contains {pair:?}, expected {name} from 1 to {most}"))?;
    }
    Ok(values)
}

/// Returns true if no threshold of the process is replaced.
#[cfg(test)]
pub fn are_defaults() -> bool {
    env::var_os(VARIABLE).is_none_or(|text| text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_replaced_by_name() {
        let values = replaced_by("max_queries=7,unpacked_panels=1").unwrap();
        let of = |values: Values, indices: [Index; 3]| indices.map(|index| values[index as usize]);
        assert_eq!(
            of(values, [Index::max_queries, Index::unpacked_panels, Index::copied_part]),
            [7, 1, 1 << 13]
        );
        let values = replaced_by("all=100,max_queries=7").unwrap();
        assert_eq!(of(values, [Index::max_queries, Index::max_lane_taps, Index::copied_part]), [7, 64, 100]);
        let problem = |text: &str| replaced_by(text).err().unwrap();
        assert_eq!(problem("max_queries"), "contains \"max_queries\", expected name=value");
        assert_eq!(problem("queries=7"), "contains the unknown threshold \"queries\"");
        assert_eq!(
            problem("max_lane_taps=65"),
            "contains \"max_lane_taps=65\", expected max_lane_taps from 1 to 64"
        );
        assert_eq!(
            problem("max_queries=0"),
            "contains \"max_queries=0\", expected max_queries from 1 to 1073741824"
        );
    }

    #[test]
    fn the_table_has_each_threshold_with_its_value() {
        let rows = include_str!("tuning.md").lines().filter_map(|line| line.strip_prefix("| `"));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows.len(), THRESHOLDS.len());
        for (row, threshold) in rows.iter().zip(THRESHOLDS) {
            let begin = format!("{}` | {} {} |", threshold.name, threshold.default, threshold.unit);
            assert!(row.starts_with(&begin), "{row} does not start with {begin}");
        }
    }
}
