//! Random integer expressions, of sizes and of numbers on the host.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/expressions.rs"));
