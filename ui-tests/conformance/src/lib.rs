//! Every operator's cases, through the macro; `tests/` runs them.

pub mod arguments;
