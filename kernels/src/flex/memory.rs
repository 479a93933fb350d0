//! Memory that kernels write to.

mod buffer;
mod lines;
pub mod poison;
mod recycled;

use std::{cell::Cell, mem::MaybeUninit};

pub use buffer::Buffer;
use bytemuck::Pod;
pub use lines::Lines;

use crate::sizes::no_memory;

/// The memory of a result, which threads write in parts.
#[derive(Clone, Copy)]
pub struct Target<T = f32> {
    first: *mut T,
    length: usize,
}

// SAFETY: who writes through the pointer says that no other thread writes there.
unsafe impl<T: Send> Send for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Target<T> {}

/// The elements of a result, none of which is written before the kernel does it.
pub struct Output;

impl Output {
    /// As many elements as `fill` writes; it writes each.
    pub fn filled(length: usize, fill: impl FnOnce(Target)) -> Buffer {
        Self::of(length, fill)
    }

    /// The same of any numbers.
    pub fn of<T: Pod + Send + Sync>(length: usize, fill: impl FnOnce(Target<T>)) -> Buffer<T> {
        let write = |blank: &mut [MaybeUninit<T>]| {
            fill(Target {
                first: blank.as_mut_ptr().cast(),
                length,
            });
        };
        // SAFETY: `fill` writes all elements; tests compare runs under two patterns of blank memory.
        unsafe { Buffer::written(length, write) }
    }
}

impl<T> Target<T> {
    /// Memory that is written anew.
    pub fn of(values: &mut [T]) -> Self {
        Self {
            first: values.as_mut_ptr(),
            length: values.len(),
        }
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// Pointer to the element at an index, or to the end of the memory, where nothing may be written.
    pub fn at(&self, at: usize) -> *mut T {
        assert!(at <= self.length);
        // SAFETY: the index is checked above.
        unsafe { self.first.add(at) }
    }

    /// Writes one element.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    ///
    /// # Safety
    ///
    /// No other thread reads or writes the element meanwhile.
    #[inline]
    pub unsafe fn put(&self, at: usize, value: T) {
        assert!(at < self.length);
        // SAFETY: the index is checked above, and the caller has the element alone.
        unsafe { self.first.add(at).write(value) };
    }

    /// The part of a target that begins at `first`.
    pub fn part(&self, first: usize, length: usize) -> Self {
        Self {
            first: self.range(first, length),
            length,
        }
    }

    /// Pointer to the first of some elements, all of which are inside of the memory.
    fn range(&self, first: usize, length: usize) -> *mut T {
        // A sum of both may wrap.
        assert!(first <= self.length && length <= self.length - first);
        // SAFETY: the index is checked above.
        unsafe { self.first.add(first) }
    }

    /// Elements that are 0 from now on.
    ///
    /// # Safety
    ///
    /// No other thread reads or writes the elements meanwhile.
    pub unsafe fn filled<'a>(self, first: usize, length: usize) -> &'a mut [T]
    where
        T: Pod,
    {
        let all = self.range(first, length);
        // SAFETY: `range` has checked the elements, which the caller has alone.
        unsafe {
            all.write_bytes(0, length);
            self.written(first, length)
        }
    }

    /// Elements that are written, to be changed.
    ///
    /// # Safety
    ///
    /// This thread has written the elements, and no other thread reads or writes them meanwhile.
    pub unsafe fn written<'a>(self, first: usize, length: usize) -> &'a mut [T] {
        // SAFETY: `range` checks the elements, which this caller wrote and has alone.
        unsafe { std::slice::from_raw_parts_mut(self.range(first, length), length) }
    }

    /// Elements to be written.
    ///
    /// # Safety
    ///
    /// No other thread reads or writes the elements meanwhile.
    pub unsafe fn blank<'a>(self, first: usize, length: usize) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: `range` checks the elements, which the caller has alone.
        unsafe { std::slice::from_raw_parts_mut(self.range(first, length).cast(), length) }
    }
}

/// A vector of `length` copies of a value, allocated fallibly: the length may come from data.
///
/// # Panics
/// If there is no memory for them.
pub fn repeated<T: Clone>(length: usize, value: T) -> Vec<T> {
    let mut values = Vec::new();
    resize(&mut values, length, value);
    values
}

/// [`Vec::resize`] that ends the step where there is no memory.
pub fn resize<T: Clone>(values: &mut Vec<T>, length: usize, value: T) {
    let more = length.saturating_sub(values.len());
    if values.try_reserve_exact(more).is_err() {
        no_memory(length.saturating_mul(size_of::<T>()));
    }
    values.resize(length, value);
}

/// Numbers in a line of memory.
const LINE: usize = 16;

thread_local! {
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Memory with anything in it, used again by the next one on this thread.
pub fn with_scratch<T>(length: usize, run: impl FnOnce(&mut [f32]) -> T) -> T {
    // Further uses inside of `run` find none and make their own.
    let mut values = SCRATCH.take();
    // Registers are read fastest within a line of memory.
    if values.len() < length + LINE {
        resize(&mut values, length + LINE, 0.0);
    }
    let first = values.as_ptr().align_offset(4 * LINE).min(LINE);
    let scratch = &mut values[first..first + length];
    poison::fill_used(scratch);
    let result = run(scratch);
    SCRATCH.set(values);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;
    use crate::flex::threads::side_by_side;

    #[test]
    fn scratch_memory_may_be_used_inside_of_itself() {
        let sum = with_scratch(3, |outer| {
            outer.fill(1.0);
            with_scratch(5, |inner| inner.fill(2.0));
            outer.iter().sum::<f32>()
        });
        assert_eq!(sum, 3.0);
        assert_eq!(with_scratch(4, |values| values.len()), 4);
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let most = isize::MAX as usize / 4;
        for length in [most, most - 16, usize::MAX / 8] {
            let scratch = attempt(|| with_scratch(length, |_| ())).unwrap_err();
            assert!(
                scratch.reason.starts_with("there is no memory for "),
                "{}",
                scratch.reason
            );
            assert!(attempt(|| repeated(length, 0f32)).is_err());
        }
        // The memory of this thread is as before.
        assert_eq!(with_scratch(4, |values| values.len()), 4);
        assert_eq!(repeated(3, 2u8), [2; 3]);
    }

    #[test]
    fn parts_are_inside_of_the_memory() {
        let mut values = [1.0f32; 8];
        let out = Target::of(&mut values);
        assert_eq!(out.part(3, 5).length(), 5);
        assert_eq!(out.part(8, 0).length(), 0);
        // SAFETY: nothing else reads or writes the elements.
        unsafe {
            assert_eq!(out.filled(6, 2), [0.0; 2]);
            assert_eq!(out.written(5, 2), [1.0, 0.0]);
            out.put(7, 2.0);
        }
        for (first, length) in [(4, 5), (9, 0), (8, usize::MAX - 7), (2, usize::MAX)] {
            let fails = |run: &dyn Fn()| {
                let run = std::panic::AssertUnwindSafe(run);
                assert!(
                    std::panic::catch_unwind(run).is_err(),
                    "{first} and {length}"
                );
            };
            fails(&|| assert_eq!(out.part(first, length).length(), length));
            // SAFETY: the functions end before they read or write.
            fails(&|| assert_eq!(unsafe { out.filled(first, length).len() }, length));
            // SAFETY: as before.
            fails(&|| assert_eq!(unsafe { out.written(first, length).len() }, length));
            // SAFETY: as before.
            fails(&|| assert_eq!(unsafe { out.blank(first, length).len() }, length));
            // SAFETY: as before.
            fails(&|| unsafe { out.put(8, 0.0) });
        }
    }

    #[test]
    fn parts_run_once_each() {
        let values = Output::filled(1000, |out| {
            side_by_side(10, |part| {
                for at in part * 100..(part + 1) * 100 {
                    // SAFETY: each part writes its own elements.
                    unsafe { out.put(at, at as f32) };
                }
            });
        });
        assert!(
            values
                .iter()
                .enumerate()
                .all(|(at, value)| *value == at as f32)
        );
    }
}
