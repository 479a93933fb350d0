//! Conformance cases, one module each, with the name of the case.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/cases.rs"));
