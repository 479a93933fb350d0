#![doc = include_str!("../README.md")]
// Functions have the names of the C API.
#![allow(non_snake_case)]

mod api;
mod elements;
mod functions;
mod handle;
mod memory;
mod options;
mod registry;
mod session;
mod status;
mod storage;
mod types;
mod value;

pub use api::api;
pub use ort_sys;
pub use registry::{register, register_on};
