//! loom's atomics, with sequential consistency and a check when they are dropped.
//!
//! loom treats `SeqCst` accesses as `AcqRel`. A fence before each of them makes them sequentially consistent if no
//! other access to the same atomic is weaker. This holds for the pool's counters.
//!
//! Dropping an `AtomicUsize` is an access. loom reports accesses of other threads that do not happen before it, for
//! example the access of a helper to the job of a caller that has returned.

use std::thread::panicking;

pub use loom::sync::atomic::Ordering;
use loom::sync::atomic::fence;

fn order(ordering: Ordering) -> Ordering {
    if ordering == Ordering::SeqCst {
        fence(ordering);
    }
    ordering
}

/// Defines atomics with these operations, which take and return a value of the type.
macro_rules! atomic {
    ($($name:ident $(<$parameter:ident>)? of $value:ty: $($operation:ident)*;)*) => {$(
        #[derive(Debug)]
        pub struct $name $(<$parameter>)? (loom::sync::atomic::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub fn load(&self, ordering: Ordering) -> $value {
                self.0.load(order(ordering))
            }

            pub fn store(&self, value: $value, ordering: Ordering) {
                self.0.store(value, order(ordering));
            }

            $(
                pub fn $operation(&self, value: $value, ordering: Ordering) -> $value {
                    self.0.$operation(value, order(ordering))
                }
            )*
        }
    )*};
}

atomic! {
    AtomicBool of bool: swap;
    AtomicUsize of usize: fetch_add fetch_sub fetch_and fetch_or;
    AtomicPtr<T> of *mut T:;
}

impl AtomicUsize {
    pub fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        update: impl FnMut(usize) -> Option<usize>,
    ) -> Result<usize, usize> {
        self.0.fetch_update(order(set), order(fetch), update)
    }
}

impl Drop for AtomicUsize {
    fn drop(&mut self) {
        if !panicking() {
            self.0.with_mut(|_| ());
        }
    }
}
