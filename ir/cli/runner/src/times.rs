//! Times of any number of runs, in bounded memory.

use std::time::Duration;

/// Maximum number of times that are kept. Their memory is small compared with that of a model.
const MAX_KEPT_TIMES: usize = 1 << 14;

/// The times of all runs or, if there are more than [`MAX_KEPT_TIMES`], of every second run, every fourth and so on.
pub struct Times {
    kept: Vec<Duration>,
    every: usize,
    runs: usize,
}

impl Times {
    pub fn new() -> Self {
        Times { kept: Vec::with_capacity(MAX_KEPT_TIMES), every: 1, runs: 0 }
    }

    pub fn push(&mut self, time: Duration) {
        if self.kept.len() == MAX_KEPT_TIMES {
            let mut odd = false;
            self.kept.retain(|_| {
                odd = !odd;
                odd
            });
            self.every *= 2;
        }
        if self.runs.is_multiple_of(self.every) {
            self.kept.push(time);
        }
        self.runs += 1;
    }

    /// Returns the number of runs, including those whose time is not kept.
    pub fn runs(&self) -> usize {
        self.runs
    }

    pub fn kept(&self) -> &[Duration] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_from_all_runs() {
        let mut times = Times::new();
        for run in 0..5 * MAX_KEPT_TIMES as u64 {
            times.push(Duration::from_nanos(run));
        }
        assert_eq!(times.runs(), 5 * MAX_KEPT_TIMES);
        let expected = (0..5 * MAX_KEPT_TIMES as u64).step_by(8).map(Duration::from_nanos);
        assert!(times.kept().iter().copied().eq(expected));
    }
}
