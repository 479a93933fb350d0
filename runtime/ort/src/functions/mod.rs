//! Functions of the C API, named as there.

pub(crate) mod binding;
pub(crate) mod containers;
pub(crate) mod environment;
pub(crate) mod memory;
pub(crate) mod metadata;
pub(crate) mod options;
pub(crate) mod run_options;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod strings;
pub(crate) mod tensors;
pub(crate) mod types;
