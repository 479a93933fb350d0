//! A crate whose dependencies have the features of the whole workspace.
