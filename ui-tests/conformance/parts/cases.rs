//! Conformance cases, one module each, named as upstream names them.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/cases.rs"));
