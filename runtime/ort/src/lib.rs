#![doc = include_str!("../README.md")]
// Functions have the names of the C API.
#![allow(non_snake_case)]

#[cfg(ort_release = "10")]
mod absent;
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

// What functions do that this backend lacks.
#[cfg(ort_release = "10")]
use absent as stub;
#[cfg(not(ort_release = "10"))]
use ort_sys::stub;

// A character of a path.
#[cfg(ort_release = "10")]
use ort_sys::ortchar as os_char;
#[cfg(not(ort_release = "10"))]
use ort_sys::os_char;

pub use api::api;
pub use ort_sys;
pub use registry::{register, register_on};
