//! Memory that kernels write to.

mod buffer;
mod lines;
mod recycled;

use std::{cell::Cell, mem::MaybeUninit};

pub use buffer::Buffer;
use bytemuck::Pod;
pub use lines::Lines;

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
        // SAFETY: the kernels' tests see that all elements are written.
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

    /// The place of an element.
    pub fn at(&self, at: usize) -> *mut T {
        assert!(at <= self.length);
        // SAFETY: the place is inside of the memory, or its end.
        unsafe { self.first.add(at) }
    }

    /// The part of a target that begins at `first`.
    pub fn part(&self, first: usize, length: usize) -> Self {
        assert!(first + length <= self.length);
        Self {
            first: self.at(first),
            length,
        }
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
        assert!(first + length <= self.length);
        // SAFETY: the elements are inside of the memory, and what the caller says.
        unsafe {
            self.at(first).write_bytes(0, length);
            self.written(first, length)
        }
    }

    /// Elements that are written, to be changed.
    ///
    /// # Safety
    ///
    /// This thread has written the elements, and no other thread reads or writes them meanwhile.
    pub unsafe fn written<'a>(self, first: usize, length: usize) -> &'a mut [T] {
        assert!(first + length <= self.length);
        // SAFETY: what the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.at(first), length) }
    }

    /// Elements to be written.
    ///
    /// # Safety
    ///
    /// No other thread reads or writes the elements meanwhile.
    pub unsafe fn blank<'a>(self, first: usize, length: usize) -> &'a mut [MaybeUninit<T>] {
        assert!(first <= self.length && length <= self.length - first);
        // SAFETY: the elements are inside of the memory, and what the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.at(first).cast(), length) }
    }
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
        values.resize(length + LINE, 0.0);
    }
    let first = values.as_ptr().align_offset(4 * LINE).min(LINE);
    let result = run(&mut values[first..first + length]);
    SCRATCH.set(values);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn parts_run_once_each() {
        let values = Output::filled(1000, |out| {
            side_by_side(10, |part| {
                for at in part * 100..(part + 1) * 100 {
                    // SAFETY: each part writes its own elements.
                    unsafe { *out.at(at) = at as f32 };
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
