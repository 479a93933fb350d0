//! Cases of every operator, compiled by the macro. `tests/` runs them.

pub mod arguments;
