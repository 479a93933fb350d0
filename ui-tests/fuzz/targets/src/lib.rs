//! Functions that must end well for any bytes. Fuzzers search for bytes for which they do not.
//!
//! A function panics if a guarantee of SECURITY.md does not hold. Memory beyond the limit of a function ends the process.

pub mod bytes;
mod compile;
pub mod external;
pub mod graph;
pub mod jpeg;
pub mod memory;
pub mod npz;
pub mod repeat;
pub mod seeds;
pub mod text;

/// Returns `compiles`, or the first problem of a model in one line.
pub fn verdict(bytes: &[u8]) -> String {
    match compile::compile(bytes, true) {
        Ok(_) => "compiles".to_owned(),
        Err(report) => {
            report.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("refused").to_owned()
        }
    }
}

/// A function and its name.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "bytes", run: bytes::run },
    Target { name: "external", run: external::run },
    Target { name: "graph", run: graph::run },
    Target { name: "jpeg", run: jpeg::run },
    Target { name: "npz", run: npz::run },
    Target { name: "text", run: text::run },
];
