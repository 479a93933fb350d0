//! Programs on the crate `ort`, whose sessions run on compiled models.

mod bindings;
mod misuse;
mod models;
mod runs;
mod sessions;
mod values;
