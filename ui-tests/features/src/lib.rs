//! Nothing but dependencies: their features are those of the whole workspace.
