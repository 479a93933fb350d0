//! Reductions.

pub mod scan;
