//! Slices of output memory that safe code initializes.

use std::{iter::repeat, mem::MaybeUninit, slice::from_raw_parts_mut};

use bytemuck::Pod;

use super::region::{Unwritten, Written, is_written};

/// Writes elements one after another.
pub struct SliceWriter<'a, T> {
    elements: &'a mut [MaybeUninit<T>],
    /// Number of elements that are initialized.
    done: usize,
}

impl<'a, T: Copy> SliceWriter<'a, T> {
    #[inline(always)]
    pub fn new(elements: &'a mut [MaybeUninit<T>]) -> Self {
        Self { elements, done: 0 }
    }

    /// Number of elements that are written.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.done
    }

    /// Number of elements that are missing.
    #[inline(always)]
    pub fn missing(&self) -> usize {
        self.elements.len() - self.done
    }

    /// Writes the next elements: `write` returns them initialized.
    ///
    /// # Panics
    ///
    /// If fewer are missing, or `write` returns other elements.
    #[inline(always)]
    pub fn write(
        &mut self,
        count: usize,
        write: impl for<'p> FnOnce(&'p mut [MaybeUninit<T>]) -> &'p mut [T],
    ) {
        let elements = &mut self.elements[self.done..][..count];
        let first = elements.as_mut_ptr().cast();
        is_written(write(elements), first, count);
        self.done += count;
    }

    /// Copies the next elements.
    ///
    /// # Panics
    ///
    /// If fewer are missing.
    #[inline(always)]
    pub fn copy(&mut self, from: &[T]) {
        self.write(from.len(), |elements| elements.write_copy_of_slice(from));
    }

    /// All elements.
    ///
    /// # Panics
    ///
    /// If some are missing.
    #[inline(always)]
    pub fn finish(self) -> &'a mut [T] {
        assert_eq!(self.missing(), 0, "a kernel writes all elements of its output");
        // SAFETY: `write` has returned the elements before `done`, which are all, as initialized.
        unsafe { self.elements.assume_init_mut() }
    }
}

/// Writes `lines` lines of equal length at once. `write` gets `R` writers: the last `lines` have a line each,
/// the others have no elements.
///
/// # Panics
///
/// If elements are missing, or there are more lines than writers.
#[inline(always)]
pub fn write_lines<T: Copy, const R: usize>(
    elements: &mut [MaybeUninit<T>],
    lines: usize,
    write: impl for<'p> FnOnce(&mut [SliceWriter<'p, T>; R]),
) -> &mut [T] {
    assert!((1..=R).contains(&lines) && elements.len().is_multiple_of(lines));
    let (first, length) = (elements.as_ptr(), elements.len() / lines);
    let mut rest = &mut *elements;
    let mut writers: [SliceWriter<'_, T>; R] = std::array::from_fn(
        #[inline(always)]
        |at| {
            let count = if at + lines < R { 0 } else { length };
            let (line, others) = std::mem::take(&mut rest).split_at_mut(count);
            rest = others;
            SliceWriter::new(line)
        },
    );
    write(&mut writers);
    for (line, writer) in writers[R - lines..].iter().enumerate() {
        // The line's own writer, and not another one that replaced it.
        let is_own = writer.elements.as_ptr() == first.wrapping_add(line * length);
        assert!(is_own && writer.done == length, "a kernel writes all elements of its output");
    }
    // SAFETY: the writers of all lines have returned their elements as initialized.
    unsafe { elements.assume_init_mut() }
}

/// Writes the elements that an iterator gives.
///
/// # Panics
///
/// If it gives fewer than there are.
#[inline(always)]
pub fn write_all_of<T>(elements: &mut [MaybeUninit<T>], values: impl IntoIterator<Item = T>) -> &mut [T] {
    let mut count = 0;
    for (element, value) in elements.iter_mut().zip(values) {
        element.write(value);
        count += 1;
    }
    assert!(count == elements.len(), "a kernel writes all elements of its output");
    // SAFETY: the loop has written the first `count` elements, which are all.
    unsafe { elements.assume_init_mut() }
}

/// Writes the elements that an iterator gives, `N` at a time.
///
/// # Panics
///
/// If it gives other numbers of elements than there are.
#[inline(always)]
pub fn write_arrays<T, const N: usize>(
    elements: &mut [MaybeUninit<T>],
    values: impl IntoIterator<Item = [T; N]>,
) -> &mut [T] {
    let (arrays, rest) = elements.as_chunks_mut::<N>();
    let mut count = 0;
    for (array, values) in arrays.iter_mut().zip(values) {
        *array = values.map(MaybeUninit::new);
        count += 1;
    }
    assert!(rest.is_empty() && count == arrays.len(), "a kernel writes all elements of its output");
    // SAFETY: the loop has written the first `count` arrays, which have all elements.
    unsafe { elements.assume_init_mut() }
}

/// Sets elements to 0.
#[inline]
pub fn zeroed<T: Pod>(elements: &mut [MaybeUninit<T>]) -> &mut [T] {
    write_all_of(elements, repeat(T::zeroed()))
}

/// Sets each element to `value` of the one with the same index in `from`.
///
/// # Panics
///
/// If the lengths differ.
#[inline(always)]
pub fn write_each<'a, X: Copy, T>(
    elements: &'a mut [MaybeUninit<T>],
    from: &[X],
    mut value: impl FnMut(X) -> T,
) -> &'a mut [T] {
    assert_eq!(elements.len(), from.len());
    write_all_of(
        elements,
        from.iter().map(
            #[inline(always)]
            |x| value(*x),
        ),
    )
}

/// The same, `N` elements at a time, and one at a time at the end.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
#[inline(always)]
pub fn write_chunks<'a, X: Copy, T: Copy, const N: usize>(
    elements: &'a mut [MaybeUninit<T>],
    from: &[X],
    chunk: impl FnMut(&[X; N]) -> [T; N],
    value: impl FnMut(X) -> T,
) -> &'a mut [T] {
    let (chunks, rest) = from.as_chunks::<N>();
    let mut writer = SliceWriter::new(elements);
    writer.write(
        N * chunks.len(),
        #[inline(always)]
        |elements| write_arrays(elements, chunks.iter().map(chunk)),
    );
    writer.write(
        rest.len(),
        #[inline(always)]
        |elements| write_each(elements, rest, value),
    );
    writer.finish()
}

/// Writes the elements of two slices in turn.
///
/// # Panics
///
/// If the slices have not half as many elements each.
#[inline(always)]
pub fn write_interleaved<'a, T: Copy>(
    elements: &'a mut [MaybeUninit<T>],
    first: &[T],
    second: &[T],
) -> &'a mut [T] {
    assert!(first.len() == second.len() && first.len() == elements.len() / 2);
    write_arrays(
        elements,
        first.iter().zip(second).map(
            #[inline(always)]
            |(first, second)| [*first, *second],
        ),
    )
}

/// Sets each element to `value` of those with the same index in two slices.
#[inline(always)]
pub fn write_pairs<'a, A: Copy, B: Copy, T>(
    elements: &'a mut [MaybeUninit<T>],
    (a, b): (&[A], &[B]),
    mut value: impl FnMut(A, B) -> T,
) -> &'a mut [T] {
    assert!(elements.len() == a.len() && elements.len() == b.len());
    write_all_of(
        elements,
        a.iter().zip(b).map(
            #[inline(always)]
            |(a, b)| value(*a, *b),
        ),
    )
}

/// The same with the elements of three slices.
#[inline(always)]
pub fn write_triples<'a, A: Copy, B: Copy, C: Copy, T>(
    elements: &'a mut [MaybeUninit<T>],
    (a, b, c): (&[A], &[B], &[C]),
    mut value: impl FnMut(A, B, C) -> T,
) -> &'a mut [T] {
    let length = elements.len();
    assert!(length == a.len() && length == b.len() && length == c.len());
    write_all_of(
        elements,
        a.iter().zip(b).zip(c).map(
            #[inline(always)]
            |((a, b), c)| value(*a, *b, *c),
        ),
    )
}

/// Sets `N` elements to each of those in `from`.
///
/// # Panics
///
/// If the lengths differ.
pub fn write_repeated<'a, T: Copy, const N: usize>(
    elements: &'a mut [MaybeUninit<T>],
    from: &[T],
) -> &'a mut [T] {
    assert_eq!(Some(elements.len()), from.len().checked_mul(N));
    write_arrays(elements, from.iter().map(|x| [*x; N]))
}

/// Sets each element to `value` of its index.
#[inline(always)]
pub fn write_by_index<T>(elements: &mut [MaybeUninit<T>], value: impl FnMut(usize) -> T) -> &mut [T] {
    write_all_of(elements, (0..).map(value))
}

/// Overwrites elements with those that `write` writes. If it panics, they are 0.
pub fn overwrite<T: Pod>(elements: &mut [T], write: impl for<'p> FnOnce(Unwritten<'p, T>) -> Written<'p, T>) {
    /// Initializes the elements again where `write` does not.
    struct Guard<'a, T: Pod>(&'a mut [MaybeUninit<T>]);

    impl<T: Pod> Drop for Guard<'_, T> {
        fn drop(&mut self) {
            zeroed(self.0);
        }
    }

    let (first, length) = (elements.as_mut_ptr(), elements.len());
    // SAFETY: the elements are initialized again, by `write` or by the guard, before the caller can read them.
    let guard = Guard(unsafe { from_raw_parts_mut(first.cast(), length) });
    let is_all = write(Unwritten::of_slice(guard.0)).is_of(first, length);
    assert!(is_all, "a kernel writes all elements of its output");
    std::mem::forget(guard);
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn elements_come_one_after_another() {
        let mut elements = [MaybeUninit::new(0u8); 5];
        let mut writer = SliceWriter::new(&mut elements);
        writer.copy(&[1, 2, 3]);
        assert_eq!([writer.len(), writer.missing()], [3, 2]);
        let more = AssertUnwindSafe(|| writer.copy(&[4, 5, 6]));
        assert!(catch_unwind(more).is_err());
        writer.copy(&[]);
        writer.copy(&[4, 5]);
        assert_eq!(writer.finish(), [1, 2, 3, 4, 5]);
        let mut writer = SliceWriter::new(&mut elements);
        writer.copy(&[1]);
        let finish = AssertUnwindSafe(|| writer.finish().len());
        assert!(catch_unwind(finish).is_err());
    }

    #[test]
    fn lengths_that_differ_are_refused() {
        let mut elements = [MaybeUninit::new(0u8); 6];
        assert_eq!(write_repeated::<_, 2>(&mut elements, &[1, 2, 3]), [1, 1, 2, 2, 3, 3]);
        assert_eq!(write_each(&mut elements[..2], &[7, 8], |x| x + 1), [8, 9]);
        let negated = |chunk: &[u8; 4]| chunk.map(|x| !x);
        let written = write_chunks(&mut elements, &[1, 2, 3, 4, 5, 6], negated, |x| x);
        assert_eq!(written, [254, 253, 252, 251, 5, 6]);
        assert_eq!(write_by_index(&mut elements[..3], |at| at as u8), [0, 1, 2]);
        assert_eq!(zeroed(&mut elements), [0; 6]);
        let mut fails = |run: &dyn Fn(&mut [MaybeUninit<u8>]) -> usize| {
            catch_unwind(AssertUnwindSafe(|| run(&mut elements))).is_err()
        };
        for from in [&[1, 2][..], &[1; 4]] {
            assert!(fails(&|elements| write_repeated::<_, 2>(elements, from).len()));
            assert!(fails(&|elements| write_each(elements, from, |x| x).len()));
            assert!(fails(&|elements| write_pairs(elements, (&[0; 6], from), |_, x| x).len()));
            assert!(fails(&|elements| write_pairs(elements, (from, &[0; 6]), |x, _| x).len()));
            let all = [0; 6];
            assert!(fails(&|elements| { write_triples(elements, (&all, &all, from), |_, _, x| x).len() }));
        }
    }
}
