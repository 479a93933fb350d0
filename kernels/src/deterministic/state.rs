//! Whether kernels of this thread are deterministic.

use std::cell::Cell;

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

#[inline]
pub fn is_on() -> bool {
    IS_ON.get()
}

pub fn replace(is_on: bool) -> bool {
    IS_ON.replace(is_on)
}

/// Parts of a job that are deterministic on any thread if this thread is.
#[inline]
pub fn inherited(run: impl Fn(usize) + Send + Sync) -> impl Fn(usize) + Send + Sync {
    let is_on = is_on();
    move |part| {
        let _own = super::Restore(replace(is_on));
        run(part);
    }
}
