//! Burn as the macro of the traits of operations sees it: with `fusion`, which decides on the type of CubeCL's tensors and
//! which another crate may have turned on.

pub use ::burn::*;

pub mod backend {
    pub use ::burn::backend::*;
    #[cfg(feature = "cube")]
    pub use burn_fusion as fusion;
}
