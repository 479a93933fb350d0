//! Plans that are kept for later calls. Creating one takes as long as several transforms.

use std::sync::{Mutex, MutexGuard};

/// Maximum number of plans.
const PLANS: usize = 32;

/// Plans by key, the most recently used last.
pub struct Kept<K, P>(Mutex<Vec<(K, P)>>);

impl<K: Copy + PartialEq, P: Clone> Kept<K, P> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns the plan of a key, which `make` creates if none is kept.
    pub fn get(&self, key: K, make: impl FnOnce() -> P) -> P {
        {
            let mut kept = self.lock();
            if let Some(at) = kept.iter().position(|(other, _)| *other == key) {
                let found = kept.remove(at);
                kept.push(found.clone());
                return found.1;
            }
        }
        // Created without the lock, because a long plan takes a while.
        let plan = make();
        let mut kept = self.lock();
        if kept.len() == PLANS {
            kept.remove(0);
        }
        kept.push((key, plan.clone()));
        plan
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(K, P)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
