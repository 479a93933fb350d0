//! Programs of models: built, run and compared, for `cargo onnx-embed`.
//!
//! `verify`, `bench`, `compare` and `record` are verbs of the command line. `scratch` and `prepare` write and build
//! programs with the compiled models, `process` runs them and exchanges messages and values with them (`message`, `wire`).

#![forbid(unsafe_code)]

pub mod bench;
mod build;
pub mod compare;
mod comparison;
pub mod cost;
mod message;
mod models;
pub mod npz;
pub mod parallel;
mod prepare;
mod private;
mod process;
mod python;
mod random;
pub mod record;
mod reference;
pub mod scratch;
pub mod settings;
pub mod style;
mod trace;
mod trace_diff;
mod value;
pub mod verify;
mod wire;
