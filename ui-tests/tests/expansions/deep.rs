//! Macro calls in a subfolder.

mod inner;
