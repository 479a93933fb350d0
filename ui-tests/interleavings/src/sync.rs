//! Imports of the pool's files, based on loom.
//!
//! loom's synchronization, a clock that models set, and small tables.

pub mod atomic;
mod clock;

pub use clock::{Instant, pass, set_clock};
pub use loom::{
    hint::spin_loop,
    sync::{Condvar, Mutex},
    thread::yield_now,
};

/// Replaces `std::thread_local`. loom's macro accepts no `const` block.
macro_rules! model_local {
    (static $name:ident: $type:ty = const { $value:expr };) => {
        loom::thread_local! {
            static $name: $type = $value;
        }
    };
}

pub(crate) use model_local as thread_local;

pub const REGIONS: usize = 2;
pub const SHARES: usize = 2;
pub const LOOKS: usize = 1;
pub const LAST_LOOKS: u32 = 1;
