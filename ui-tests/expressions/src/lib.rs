//! Random integer expressions on sizes and on numbers of the host.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/expressions.rs"));
