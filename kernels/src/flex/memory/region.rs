//! Rectangles of output memory.
//!
//! A kernel gets the memory of its result as [`Unwritten`] and must return [`Written`], which proves that all elements are
//! initialized. Safe code gets the proof by writing rows, or by joining the proofs of all parts of a rectangle
//! ([`super::parallel`], [`super::serial`]). Parts are disjoint, and nothing outside this module creates one.

mod bytes;

use std::{marker::PhantomData, mem::MaybeUninit, ops::Range, slice::from_raw_parts_mut};

use bytemuck::Pod;

use super::slices::zeroed;

/// Rows of elements, `stride` elements apart.
///
/// The elements are valid for writes during `'a`, and no other rectangle or reference has them.
struct Region<'a, T> {
    first: *mut T,
    rows: usize,
    columns: usize,
    stride: usize,
    memory: PhantomData<&'a mut [T]>,
}

/// A rectangle of output memory whose elements are not initialized yet.
pub struct Unwritten<'a, T = f32>(Region<'a, T>);

/// Proof that all elements of a rectangle are initialized.
#[must_use]
pub struct Written<'a, T = f32>(Region<'a, T>);

// SAFETY: a region is the only access to its elements, as a mutable slice is.
unsafe impl<T: Send> Send for Region<'_, T> {}
// SAFETY: a shared region gives no access to its elements but through the unsafe `Region::part`.
unsafe impl<T: Sync> Sync for Region<'_, T> {}

impl<'a, T> Region<'a, T> {
    /// One row of contiguous elements.
    ///
    /// # Safety
    ///
    /// The elements are valid for writes during `'a`, and nothing else accesses them.
    #[inline(always)]
    unsafe fn one_row(first: *mut T, length: usize) -> Self {
        Self { first, rows: 1, columns: length, stride: length, memory: PhantomData }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows * self.columns
    }

    #[inline(always)]
    fn is_contiguous(&self) -> bool {
        self.rows <= 1 || self.stride == self.columns
    }

    /// Returns true if both have the same elements in the same order.
    #[inline(always)]
    fn is_same(&self, other: &Region<'_, T>) -> bool {
        let same_rows = (self.rows, self.columns, self.stride) == (other.rows, other.columns, other.stride);
        let contiguous = self.is_contiguous() && other.is_contiguous() && self.len() == other.len();
        self.first == other.first && (same_rows || contiguous)
    }

    /// # Safety
    ///
    /// While the part is in use, nothing else accesses its elements, and `'p` ends before `'a`.
    #[inline(always)]
    unsafe fn part<'p>(&self, rows: Range<usize>, columns: Range<usize>) -> Region<'p, T> {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        assert!(columns.start <= columns.end && columns.end <= self.columns);
        // `wrapping_add`: an empty part may start beyond the end of the region.
        let first = self.first.wrapping_add(rows.start * self.stride + columns.start);
        Region { first, rows: rows.len(), columns: columns.len(), stride: self.stride, memory: PhantomData }
    }

    #[inline(always)]
    fn row(&mut self, row: usize) -> &mut [MaybeUninit<T>] {
        assert!(row < self.rows);
        let first = self.first.wrapping_add(row * self.stride);
        // SAFETY: the row is in the region, by the assertion, and `self` is the only access to it.
        unsafe { from_raw_parts_mut(first.cast(), self.columns) }
    }

    /// All elements.
    ///
    /// # Panics
    ///
    /// If there are elements between the rows.
    #[inline(always)]
    fn slice(&mut self) -> &mut [MaybeUninit<T>] {
        assert!(self.is_contiguous(), "the rows of a rectangle are apart");
        // SAFETY: the elements are contiguous, and `self` is the only access to them.
        unsafe { from_raw_parts_mut(self.first.cast(), self.len()) }
    }

    /// The same elements in other rows.
    #[inline(always)]
    fn reshaped(mut self, rows: usize, columns: usize) -> Self {
        assert!(self.is_contiguous() && rows.checked_mul(columns) == Some(self.len()));
        (self.rows, self.columns, self.stride) = (rows, columns, columns);
        self
    }
}

impl<'a, T> Unwritten<'a, T> {
    /// One row with the elements of a slice.
    pub fn of_slice(elements: &'a mut [MaybeUninit<T>]) -> Self {
        let (first, length) = (elements.as_mut_ptr().cast(), elements.len());
        // SAFETY: the elements are those of the slice, which is borrowed mutably for as long.
        Self(unsafe { Region::one_row(first, length) })
    }

    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.0.rows
    }

    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// Contiguous elements in rows of another length. Proofs for contiguous elements are the same in all shapes.
    ///
    /// # Panics
    ///
    /// If the number of elements differs, or there are others between the rows.
    #[inline(always)]
    pub fn reshaped(self, rows: usize, columns: usize) -> Self {
        Self(self.0.reshaped(rows, columns))
    }

    /// The elements of a row.
    #[inline(always)]
    pub fn row(&mut self, row: usize) -> &mut [MaybeUninit<T>] {
        self.0.row(row)
    }

    /// Writes contiguous elements: `write` returns them initialized.
    ///
    /// # Panics
    ///
    /// If there are elements between the rows, or `write` returns other elements.
    #[inline(always)]
    pub fn write(
        mut self,
        write: impl for<'p> FnOnce(&'p mut [MaybeUninit<T>]) -> &'p mut [T],
    ) -> Written<'a, T> {
        let (first, length) = (self.0.first, self.0.len());
        is_written(write(self.0.slice()), first, length);
        Written(self.0)
    }

    /// Writes row after row: `write` gets its number and returns its elements initialized.
    ///
    /// # Panics
    ///
    /// If `write` returns other elements.
    #[inline(always)]
    pub fn write_rows(
        mut self,
        mut write: impl for<'p> FnMut(usize, &'p mut [MaybeUninit<T>]) -> &'p mut [T],
    ) -> Written<'a, T> {
        for row in 0..self.0.rows {
            let elements = self.0.row(row);
            let (first, length) = (elements.as_mut_ptr().cast(), elements.len());
            is_written(write(row, elements), first, length);
        }
        Written(self.0)
    }

    /// Writes row after row of contiguous elements. `write` also gets all rows before, which it may copy.
    ///
    /// # Panics
    ///
    /// If there are elements between the rows, or `write` returns other elements.
    pub fn write_after(
        mut self,
        mut write: impl for<'p> FnMut(usize, &[T], &'p mut [MaybeUninit<T>]) -> &'p mut [T],
    ) -> Written<'a, T> {
        let (rows, columns) = (self.0.rows, self.0.columns);
        let all = self.0.slice();
        for row in 0..rows {
            let (before, rest) = all.split_at_mut(row * columns);
            let elements = &mut rest[..columns];
            let (first, length) = (elements.as_mut_ptr().cast(), elements.len());
            // SAFETY: `write` has returned the elements of all rows before as initialized.
            let before = unsafe { before.assume_init_ref() };
            is_written(write(row, before, elements), first, length);
        }
        Written(self.0)
    }

    /// Copies contiguous elements.
    ///
    /// # Panics
    ///
    /// If there are elements between the rows, or another number of them.
    #[inline]
    pub fn copied(self, from: &[T]) -> Written<'a, T>
    where
        T: Pod,
    {
        self.write(|to| to.write_copy_of_slice(from))
    }

    /// Sets all elements to 0.
    #[inline]
    pub fn zeroed(self) -> Written<'a, T>
    where
        T: Pod,
    {
        self.write_rows(|_, row| zeroed(row))
    }

    /// # Safety
    ///
    /// All elements of the rectangle are initialized.
    #[inline(always)]
    pub(super) unsafe fn assume_written(self) -> Written<'a, T> {
        Written(self.0)
    }

    /// The part with these rows and columns.
    ///
    /// # Safety
    ///
    /// While the part is in use, no other access to its elements is, and `'p` ends before `'a`.
    #[inline(always)]
    pub(super) unsafe fn part<'p>(&self, rows: Range<usize>, columns: Range<usize>) -> Unwritten<'p, T> {
        // SAFETY: the caller's promise.
        Unwritten(unsafe { self.0.part(rows, columns) })
    }

    /// Asserts that a proof is that of the part with these rows and columns.
    #[inline(always)]
    pub(super) fn check(&self, proof: &Written<'_, T>, rows: Range<usize>, columns: Range<usize>) {
        // SAFETY: the part is only compared.
        let part: Region<'_, T> = unsafe { self.0.part(rows, columns) };
        assert!(part.is_same(&proof.0), "a kernel writes all elements of its output");
    }
}

/// Checks that initialized elements are all that were to be written.
#[inline(always)]
pub(super) fn is_written<T>(written: &mut [T], first: *mut T, length: usize) {
    assert!(
        written.as_mut_ptr() == first && written.len() == length,
        "a kernel writes all elements of its output"
    );
}

impl<'a, T> Written<'a, T> {
    /// One row with initialized elements.
    pub fn of(elements: &'a mut [T]) -> Self {
        // SAFETY: the elements are those of the slice, which is borrowed mutably for as long.
        Self(unsafe { Region::one_row(elements.as_mut_ptr(), elements.len()) })
    }

    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.0.rows
    }

    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// The part with these rows and columns.
    ///
    /// # Safety
    ///
    /// While the part is in use, no other access to its elements is, and `'p` ends before `'a`.
    #[inline(always)]
    pub(super) unsafe fn part<'p>(&self, rows: Range<usize>, columns: Range<usize>) -> Written<'p, T> {
        // SAFETY: the caller's promise.
        Written(unsafe { self.0.part(rows, columns) })
    }

    /// Returns true if this is the proof for all elements of a slice.
    pub(super) fn is_of(&self, elements: *const T, length: usize) -> bool {
        self.0.is_contiguous() && self.0.first.cast_const() == elements && self.0.len() == length
    }

    /// Contiguous elements, to be changed.
    ///
    /// # Panics
    ///
    /// If there are elements between the rows.
    pub fn slice(&mut self) -> &mut [T] {
        self.initialized(Region::slice)
    }

    /// The elements of a row, to be changed.
    pub fn row(&mut self, row: usize) -> &mut [T] {
        self.initialized(|region| region.row(row))
    }

    /// Elements that a function finds in the rectangle.
    #[inline(always)]
    fn initialized<'r>(
        &'r mut self,
        find: impl FnOnce(&'r mut Region<'a, T>) -> &'r mut [MaybeUninit<T>],
    ) -> &'r mut [T] {
        let elements = find(&mut self.0);
        // SAFETY: a value of this type is only made for initialized elements, and the functions above find some of them.
        unsafe { elements.assume_init_mut() }
    }

    /// The same elements in other rows.
    #[inline(always)]
    pub fn reshaped(self, rows: usize, columns: usize) -> Self {
        Self(self.0.reshaped(rows, columns))
    }
}

#[cfg(test)]
mod tests;
