//! Random graphs, each with and without simplification.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/graphs.rs"));
