//! Sizes from data and inputs, checked before memory is allocated.
//!
//! Burn multiplies sizes without checking for overflow, and a failed allocation aborts the process. So each shape that data or an
//! input determines passes through [`elements`] first: the product of its sizes and the bytes of an element is at most
//! `isize::MAX` and at most the [memory limit](crate::memory_limit).
//!
//! A size of 0 counts as 1. An empty tensor takes no memory, but products of its other sizes are computed all the same, and
//! operators create other tensors of some of its sizes.

use core::fmt;

use crate::{ensure, fault::fail, memory_limit::memory_limit};

/// Returns the number of elements of a tensor of `shape` that is about to be allocated, with `bytes` bytes per element.
///
/// # Panics
/// If the tensor exceeds the memory limit; sizes of 0 count as 1.
#[track_caller]
pub fn elements(shape: &[usize], bytes: usize) -> usize {
    let limit = memory_limit();
    match extent(shape, bytes) {
        Some(extent) if extent <= limit => shape.iter().product(),
        extent => fail(too_large(shape, extent, limit)),
    }
}

/// Checks the size of a copy of a tensor that has padding at the two ends of the axes from `first` on. See [`elements`].
///
/// # Panics
/// If the copy exceeds the memory limit.
#[track_caller]
pub fn padded(shape: &[usize], first: usize, pads: &[(usize, usize)], bytes: usize) {
    let mut padded = shape.to_vec();
    for (size, (before, after)) in padded.iter_mut().skip(first).zip(pads) {
        *size = sum([*before, *size, *after]);
    }
    elements(&padded, bytes);
}

/// Returns the product of sizes of an existing tensor.
///
/// # Panics
/// If the product cannot be addressed; sizes of 0 count as 1.
#[track_caller]
pub fn product(shape: &[usize]) -> usize {
    match extent(shape, 1) {
        Some(_) => shape.iter().product(),
        None => fail(format_args!("shape {shape:?} has more elements than can be addressed")),
    }
}

/// Returns the bytes of a tensor, sizes of 0 counted as 1; `None` if they exceed `isize::MAX`.
pub fn extent(shape: &[usize], bytes: usize) -> Option<usize> {
    let mut sizes = shape.iter();
    let extent = sizes.try_fold(bytes.max(1), |extent, &size| extent.checked_mul(size.max(1)));
    extent.filter(|&extent| isize::try_from(extent).is_ok())
}

/// Returns the message for a tensor that exceeds the memory limit.
pub fn too_large(shape: &[usize], extent: Option<usize>, limit: usize) -> impl fmt::Display {
    let limit = Bytes(limit);
    let extent = extent.map(Bytes);
    fmt::from_fn(move |f| match extent {
        Some(extent) => write!(f, "shape {shape:?} requires {extent}, the memory limit is {limit}"),
        None => {
            write!(
                f,
                "shape {shape:?} requires more bytes than can be addressed, the memory limit is {limit}"
            )
        }
    })
}

/// Fails the running node after a failed allocation.
#[cfg(feature = "flex")]
#[cold]
pub(crate) fn no_memory(bytes: usize) -> ! {
    fail(format_args!("cannot allocate {}", Bytes(bytes)))
}

/// Returns a size from data.
///
/// # Panics
/// If it is negative.
#[track_caller]
pub fn size(size: i64) -> usize {
    ensure!(size >= 0, "expected a non-negative size, found {size}");
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Returns a length or a distance from data.
///
/// # Panics
/// If it is not positive.
#[track_caller]
pub fn positive(length: i64) -> usize {
    ensure!(length > 0, "expected a positive length, found {length}");
    size(length)
}

/// Returns the sum of sizes along an axis, saturating at `usize::MAX`, which [`elements`] rejects.
pub fn sum(sizes: impl IntoIterator<Item = usize>) -> usize {
    sizes.into_iter().fold(0, usize::saturating_add)
}

/// Number of bytes, displayed in the largest unit that it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let (mut number, mut unit) = (self.0 as f64 / 1024.0, 0);
        while number >= 1024.0 && unit + 1 < UNITS.len() {
            (number, unit) = (number / 1024.0, unit + 1);
        }
        write!(f, "{number:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attempt::attempt, memory_limit::with_memory_limit};

    fn message(shape: &[usize], bytes: usize) -> String {
        let found = with_memory_limit(1 << 20, || attempt(|| elements(shape, bytes)));
        found.map_or_else(|fault| fault.reason, |count| count.to_string())
    }

    #[test]
    fn tensors_are_counted_up_to_the_limit() {
        assert_eq!(message(&[512, 512], 4), "262144");
        assert_eq!(message(&[512, 513], 4), "shape [512, 513] requires 1.0 MiB, the memory limit is 1.0 MiB");
        assert_eq!(message(&[], 4), "1");
    }

    #[test]
    fn products_do_not_wrap() {
        let expected = "requires more bytes than can be addressed, the memory limit is 1.0 MiB";
        for shape in [&[(1 << 62) + 1, 4][..], &[1 << 62, 2], &[1 << 62, 0], &[1 << 40, 0, 1 << 40]] {
            assert_eq!(message(shape, 4), format!("shape {shape:?} {expected}"));
            assert_eq!(attempt(|| product(shape)).is_ok(), shape == [1 << 62, 0]);
        }
    }

    #[test]
    fn a_size_of_0_counts_as_1() {
        assert_eq!(message(&[0, 1 << 18], 4), "0");
        assert!(message(&[0, 1 << 40], 1).contains("requires 1.0 TiB"));
    }

    #[test]
    fn sizes_are_not_negative() {
        let reason = |found: Result<usize, crate::fault::Fault>| found.unwrap_err().reason;
        assert_eq!(reason(attempt(|| size(-1))), "expected a non-negative size, found -1");
        assert_eq!(reason(attempt(|| positive(0))), "expected a positive length, found 0");
        assert_eq!((size(0), positive(3), sum([1, 2])), (0, 3, 3));
        assert_eq!(sum([usize::MAX, 2]), usize::MAX);
        assert_eq!(Bytes(1000).to_string(), "1000 bytes");
        assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
    }
}
