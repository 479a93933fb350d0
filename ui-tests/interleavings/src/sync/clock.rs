//! Time that a model sets.

use std::{
    cell::Cell,
    ops::{Add, AddAssign, Sub},
    time::Duration,
};

std::thread_local! {
    /// Time since the model started. loom runs all threads of a model on one system thread and does not interleave
    /// accesses to the clock.
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Time that each read of the clock adds.
    static STEP: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Time of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

/// Starts the clock, which advances by `step` at each read.
pub fn set_clock(step: Duration) {
    NOW.set(Duration::ZERO);
    STEP.set(step);
}

/// Advances the clock.
pub fn pass(time: Duration) {
    NOW.set(NOW.get() + time);
}

impl Instant {
    pub fn now() -> Self {
        pass(STEP.get());
        Self(NOW.get())
    }

    pub fn elapsed(self) -> Duration {
        Self::now() - self
    }

    pub fn duration_since(self, earlier: Self) -> Duration {
        self - earlier
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        *self = *self + time;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
