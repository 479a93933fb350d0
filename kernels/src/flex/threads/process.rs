//! Values of one process, which a child of `fork` does not inherit.
//!
//! A child has the memory of its parent and one thread: threads of a pool are gone, and a lock that another thread held stays
//! locked for ever. The child makes its own value and leaves the parent's as it is.

use std::{
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed},
    },
};

/// A value that each process makes for itself at its first use, and never drops.
pub struct OfProcess<T: 'static> {
    made: AtomicPtr<Made<T>>,
}

struct Made<T> {
    value: T,
    /// [`forks`] when it was made.
    forks: usize,
}

/// Number of forks between the first process with a value and this one.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Returns true if this process is a child of one that had values.
pub fn is_forked() -> bool {
    FORKS.load(Relaxed) > 0
}

impl<T: Send + Sync> OfProcess<T> {
    pub const fn new() -> Self {
        Self { made: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The value of this process. Threads that ask for the first time at once may call `make` each; one value is kept.
    pub fn get(&'static self, make: impl FnOnce() -> T) -> &'static T {
        let made = self.made.load(Acquire);
        match Self::referent(made) {
            Some(made) if made.forks == FORKS.load(Relaxed) => &made.value,
            _ => self.made_now(made, make()),
        }
    }

    #[cold]
    fn made_now(&'static self, old: *mut Made<T>, value: T) -> &'static T {
        watch_forks();
        // Of threads that make a value at once, those that are late leave theirs unused.
        let new = Box::leak(Box::new(Made { value, forks: FORKS.load(Relaxed) }));
        match self.made.compare_exchange(old, new, AcqRel, Acquire) {
            Ok(_) => &new.value,
            Err(other) => Self::referent(other).map_or(&new.value, |made| &made.value),
        }
    }

    /// Returns the value that a pointer read from [`Self::made`] refers to, if it is not null.
    fn referent(made: *mut Made<T>) -> Option<&'static Made<T>> {
        // SAFETY: it is null, or what `made_now` has leaked, which is never freed.
        unsafe { made.as_ref() }
    }
}

/// Counts the forks of this process in its children from now on.
#[cfg(all(unix, not(target_family = "wasm")))]
pub fn watch_forks() {
    use std::sync::atomic::AtomicBool;

    type Handler = Option<extern "C" fn()>;

    // SAFETY: the function keeps the handlers, which may be called at any time, and has no other conditions.
    unsafe extern "C" {
        safe fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> std::ffi::c_int;
    }

    extern "C" fn in_child() {
        FORKS.fetch_add(1, Relaxed);
    }

    static IS_WATCHED: AtomicBool = AtomicBool::new(false);

    if !IS_WATCHED.load(Relaxed) && !IS_WATCHED.swap(true, Relaxed) {
        // The handler adds to an atomic number, which may be done in a child of any process. If the call
        // fails for want of memory, children see the values of their parents.
        pthread_atfork(None, None, Some(in_child));
    }
}

/// Processes do not fork here.
#[cfg(not(all(unix, not(target_family = "wasm"))))]
pub fn watch_forks() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once() {
        static VALUE: OfProcess<usize> = OfProcess::new();
        let first = VALUE.get(|| 7);
        assert!(ptr::eq(first, VALUE.get(|| 8)) && *first == 7);
    }

    #[test]
    fn threads_that_ask_at_once_get_the_same_value() {
        static VALUE: OfProcess<usize> = OfProcess::new();
        let all: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || *VALUE.get(|| at))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|value| *value == all[0]), "{all:?}");
    }
}
