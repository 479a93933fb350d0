//! Limits of files.

/// Files of this IR version do not contain the types of attributes.
pub const FIRST_IR: i64 = 1;
/// Maximum depth of nested graphs, and of functions that call each other.
pub const MAX_NESTING: usize = 24;
/// Maximum number of nodes of a model whose functions are inlined.
pub const MAX_NODES: usize = 200_000;
/// Maximum number of problems before reading ends.
pub const MAX_PROBLEMS: usize = 10_000;
