//! Plans: how kernels divide their work, as data.
//!
//! A plan is a pure function of the sizes of an operation and of a [`Machine`]. Thresholds are in [`tuning`].

mod attention;
mod bands;
mod columns;
mod conv;
mod machine;
mod product;
#[cfg(test)]
mod snapshots;
pub mod tuning;
mod winograd;

pub use attention::{AttentionPlan, AttentionSizes};
pub use bands::{Band, CopiedRange, Layout};
pub use columns::TileColumns;
pub use conv::{BandPlan, BandReads, ConvMethod, ConvSizes};
pub use machine::{Machine, TileSize, threads, threads_reading};
pub use product::{ProductPlan, ProductSizes, RightLayout, RightReads, byte_grid};
pub use winograd::{Square, WinogradPlan, rows_of_register};
