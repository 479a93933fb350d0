//! Calls from a folder below.

mod inner;
