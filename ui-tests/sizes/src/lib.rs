//! Models of one operator with dynamic sizes.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/models.rs"));
