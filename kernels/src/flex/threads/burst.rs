//! Bursts of kernels, by which callers decide whether to wake sleeping threads.
//!
//! A sleeping thread starts some 50 µs after it is woken, and then polls for work as long as the caller's kernels follow one
//! another. For a call of 150 µs that costs more processor time than it saves. So the caller wakes no thread for a burst that
//! is expected to be as short as the last one, until it has lasted [`LONG`].

use std::{cell::Cell, time::Duration};

use super::{
    pool::AWAKE,
    sync::{Instant, thread_local},
};

/// Minimum duration of a burst for which threads are woken: four to five times the time to wake one, so that
/// it does most of its share.
const LONG: Duration = Duration::from_micros(250);

/// Kernels that a thread runs without a pause: those of a call, or of calls one after another.
#[derive(Clone, Copy)]
pub struct Burst {
    began: Instant,
    ended: Instant,
    /// Whether the burst before was long, or this one is.
    is_long: bool,
}

thread_local! {
    static LAST: Cell<Option<Burst>> = const { Cell::new(None) };
}

impl Burst {
    /// Burst of a kernel that this thread begins. The first one of a thread is expected to be long.
    pub fn here() -> Self {
        let now = Instant::now();
        match LAST.with(Cell::get) {
            Some(last) => last.next(now),
            None => Self { began: now, ended: now, is_long: true },
        }
    }

    fn next(mut self, now: Instant) -> Self {
        if now.duration_since(self.ended) > AWAKE {
            let length = self.ended.duration_since(self.began);
            // Threads that were woken made it shorter.
            self.is_long = length >= if self.is_long { LONG / 2 } else { LONG };
            self.began = now;
        } else {
            self.is_long |= now.duration_since(self.began) >= LONG;
        }
        self.ended = now;
        self
    }

    /// Returns the time at which threads are to be woken, `None` for now.
    pub fn due(&self) -> Option<Instant> {
        (!self.is_long).then(|| self.began + LONG)
    }

    /// Ends a kernel of the burst.
    pub fn end(mut self) {
        self.ended = Instant::now();
        LAST.with(|last| last.set(Some(self)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Returns for each call, given as a number of kernels of 10 µs and the pause before it, whether it wakes threads.
    fn woken(calls: &[(u32, Duration)]) -> Vec<bool> {
        let mut now = Instant::now();
        let mut burst = Burst { began: now, ended: now, is_long: true };
        let call = |&(kernels, pause): &(u32, Duration)| {
            now += pause;
            let mut first = None;
            for _ in 0..kernels {
                burst = burst.next(now);
                first.get_or_insert(burst.due().is_none());
                now += 10 * MICROSECOND;
                burst.ended = now;
            }
            first.unwrap()
        };
        calls.iter().map(call).collect()
    }

    #[test]
    fn short_calls_with_pauses_wake_no_threads_from_the_second_on() {
        let pause = 1850 * MICROSECOND;
        assert_eq!(woken(&[(10, pause); 4]), [false; 4]);
        assert_eq!(woken(&[(50, pause), (10, pause), (10, pause)]), [false, true, false]);
    }

    #[test]
    fn long_calls_wake_them_at_once() {
        let pause = 100_000 * MICROSECOND;
        assert_eq!(woken(&[(25, pause); 3]), [false, true, true]);
        // Half as long with their help.
        assert_eq!(woken(&[(25, pause), (13, pause), (13, pause)]), [false, true, true]);
    }

    #[test]
    fn short_calls_one_after_another_are_long() {
        let calls = [(10, 5000 * MICROSECOND), (10, MICROSECOND), (10, MICROSECOND), (10, MICROSECOND)];
        assert_eq!(woken(&calls), [false, false, false, true]);
    }

    #[test]
    fn a_burst_that_becomes_long_says_when() {
        let now = Instant::now();
        let burst = Burst { began: now, ended: now, is_long: false };
        assert_eq!(burst.due(), Some(now + LONG));
        assert!(burst.next(now + LONG).due() == Some(now + LONG + LONG), "a pause lies between");
        let busy = Burst { ended: now + LONG, ..burst };
        assert_eq!(busy.next(now + LONG).due(), None);
    }
}
