//! Branches and loops, emitted as those of Rust.

mod branch;
mod counter;
mod iterations;
mod merge;
mod repeat;
mod scan;

use super::{Row, row};

pub const FAMILIES: &[&[Row]] = &[ROWS];

pub const ROWS: &[Row] = &[
    row("If", &[1, 11, 13, 16, 19, 21, 23, 24, 25], branch::read).arity("r", "+"),
    row("Loop", &[1, 11, 13, 16, 19, 21, 23, 24, 25], repeat::read)
        .arity("oo*", "+")
        .before(&[(11, "oo+", "+")]),
    row("Scan", &[8, 9, 11, 16, 19, 21, 23, 24, 25], scan::read).arity("+", "+").before(&[(9, "o+", "+")]),
];
