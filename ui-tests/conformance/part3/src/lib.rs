//! Conformance cases, one module each.

include!(concat!(env!("OUT_DIR"), "/cases.rs"));
