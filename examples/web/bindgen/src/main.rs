//! Generates a folder for browsers: `bindgen MODULE.wasm FOLDER`.
//!
//! This is the program `wasm-bindgen` in the version of the lock file: the program and the library must have the same
//! version.

use std::env::args_os;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut arguments = args_os().skip(1);
    let module = arguments.next().context("bindgen MODULE.wasm FOLDER")?;
    let folder = arguments.next().context("bindgen MODULE.wasm FOLDER")?;
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .omit_default_module_path(false)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)
}
