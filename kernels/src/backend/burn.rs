//! Burn as expanded by the macro `backend_extension`.
//!
//! The macro's code depends on the feature `fusion`, which determines the type of CubeCL's tensors and can be enabled by another
//! crate.

pub use ::burn::*;

pub mod backend {
    pub use ::burn::backend::*;
    #[cfg(feature = "cube")]
    pub use burn_fusion as fusion;
}
