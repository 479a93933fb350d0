//! Rectangles of bytes.
//!
//! They are for kernels whose element type is chosen at run time.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::{Region, Unwritten, Written};

impl<'a, T: Pod> Unwritten<'a, T> {
    /// The bytes of the elements.
    pub fn bytes(self) -> Unwritten<'a, u8> {
        let size = size_of::<T>();
        Unwritten(Region {
            first: self.0.first.cast(),
            rows: self.0.rows,
            columns: self.0.columns * size,
            stride: self.0.stride * size,
            memory: PhantomData,
        })
    }
}

impl<'a> Written<'a, u8> {
    /// The proof for elements whose bytes these are.
    ///
    /// # Panics
    ///
    /// If the bytes are not those of whole elements.
    pub fn elements<T: Pod>(self) -> Written<'a, T> {
        let (size, region) = (size_of::<T>(), self.0);
        let first: *mut T = region.first.cast();
        assert!(first.is_aligned() && region.columns.is_multiple_of(size));
        assert!(region.rows <= 1 || region.stride.is_multiple_of(size));
        Written(Region {
            first,
            rows: region.rows,
            columns: region.columns / size,
            stride: region.stride / size,
            memory: PhantomData,
        })
    }
}
