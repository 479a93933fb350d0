//! Memory of tensors.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use bytemuck::Pod;
use onnx_embed::burn::tensor::Bytes;

use crate::status::Failure;

/// Alignment of memory of this crate, that of ONNX Runtime on CPUs.
pub(crate) const ALIGNMENT: usize = 64;

/// Memory of a tensor: of the caller, of a model's answer, or allocated here.
///
/// Access is by raw pointers, never by references: `GetTensorMutableData` gives the pointer to the caller, who may
/// write at any time when no function of the API uses the value.
pub(crate) struct Storage {
    pointer: Option<NonNull<u8>>,
    length: usize,
    _owner: Owner,
}

/// Owner of the memory.
enum Owner {
    Caller,
    Block { _block: Block },
    Bytes { _bytes: Bytes },
}

// SAFETY: the owner, if any, is `Send`; memory of callers may be used on all threads, as the C API requires.
unsafe impl Send for Storage {}
// SAFETY: the C API requires that callers do not write to a value while another call uses it; calls of this crate write
// only to values that a run returns or that the caller passes for outputs.
unsafe impl Sync for Storage {}

/// Zeroed memory.
struct Block {
    pointer: NonNull<u8>,
    layout: Layout,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `Storage::zeroed` allocated this memory with this layout, and the block owns it.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}

impl Storage {
    /// Wraps memory of the caller.
    ///
    /// # Errors
    ///
    /// If the pointer is null although there are bytes, or if it is not aligned for elements of `width` bytes.
    ///
    /// # Safety
    ///
    /// The memory must be valid for reads and writes of `length` bytes until the storage is dropped, with the exception
    /// of writes if no function is called that writes to the tensor. Nothing may write to it while another thread uses
    /// the storage.
    pub(crate) unsafe fn of_caller(pointer: *mut u8, length: usize, width: usize) -> Result<Self, Failure> {
        let pointer = NonNull::new(pointer);
        match pointer {
            None if length > 0 => return Err(Failure::argument("the data is null")),
            Some(pointer) if length > 0 && !pointer.as_ptr().addr().is_multiple_of(width) => {
                return Err(Failure::argument(format!("the data is not aligned to {width} bytes")));
            }
            _ => {}
        }
        Ok(Self { pointer, length, _owner: Owner::Caller })
    }

    /// Allocates zeros.
    ///
    /// # Errors
    ///
    /// If memory is exhausted.
    pub(crate) fn zeroed(length: usize) -> Result<Self, Failure> {
        if length == 0 {
            return Ok(Self { pointer: None, length, _owner: Owner::Caller });
        }
        let exhausted = || Failure::argument(format!("cannot allocate {length} bytes"));
        let layout = Layout::from_size_align(length, ALIGNMENT).map_err(|_| exhausted())?;
        // SAFETY: the layout has at least one byte.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(exhausted)?;
        Ok(Self {
            pointer: Some(pointer),
            length,
            _owner: Owner::Block { _block: Block { pointer, layout } },
        })
    }

    /// Takes the bytes of a model's answer, without a copy if they are aligned for elements of `width` bytes.
    ///
    /// # Errors
    ///
    /// If memory is exhausted.
    pub(crate) fn of_bytes(mut bytes: Bytes, width: usize) -> Result<Self, Failure> {
        let length = bytes.len();
        let data: &mut [u8] = &mut bytes;
        let pointer = NonNull::from(data).cast::<u8>();
        if length > 0 && pointer.as_ptr().addr().is_multiple_of(width) {
            // Writing to `Bytes` made them unique: no other tensor shares the memory. It is on the heap and stays there
            // when `bytes` is moved.
            return Ok(Self { pointer: Some(pointer), length, _owner: Owner::Bytes { _bytes: bytes } });
        }
        let copy = Self::zeroed(length)?;
        if let Some(to) = copy.pointer {
            // SAFETY: `bytes` is alive and has `length` bytes, as the new block has, which is separate.
            unsafe { to.copy_from_nonoverlapping(pointer, length) };
        }
        Ok(copy)
    }

    /// Returns the number of bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the pointer to the first byte, if there are any.
    pub(crate) fn pointer(&self) -> Option<NonNull<u8>> {
        self.pointer
    }

    /// Copies the first `length` bytes to a vector.
    ///
    /// # Errors
    ///
    /// If there are fewer bytes, or if memory is exhausted.
    pub(crate) fn copied<T: Pod>(&self, length: usize) -> Result<Vec<T>, Failure> {
        self.check(0, length)?;
        let count = length / size_of::<T>();
        let mut elements = Vec::<T>::new();
        let reserved = elements.try_reserve_exact(count);
        reserved.map_err(|_| Failure::argument(format!("cannot allocate {length} bytes")))?;
        if let Some(from) = self.pointer {
            // SAFETY: the storage has `length` bytes, of which `count` elements are at most that many; the vector has
            // room for them and is separate. Callers of the API do not write to a value during a call that reads it.
            unsafe {
                from.as_ptr().copy_to_nonoverlapping(elements.as_mut_ptr().cast(), count * size_of::<T>())
            };
            // SAFETY: the elements were copied, and every pattern of bits is valid for `T: Pod`.
            unsafe { elements.set_len(count) };
        }
        Ok(elements)
    }

    /// Copies the first `length` bytes of `from` to `offset`.
    ///
    /// # Errors
    ///
    /// If either has fewer bytes.
    pub(crate) fn write(&self, offset: usize, from: &Self, length: usize) -> Result<(), Failure> {
        self.check(offset, length)?;
        from.check(0, length)?;
        if let (Some(to), Some(from)) = (self.pointer, from.pointer) {
            // SAFETY: both storages have these bytes, and they may overlap. `self` is a new tensor, or one that the caller
            // passes for an output, and that the C API does not allow to be used otherwise during the call.
            unsafe { from.as_ptr().copy_to(to.as_ptr().add(offset), length) };
        }
        Ok(())
    }

    fn check(&self, offset: usize, length: usize) -> Result<(), Failure> {
        match offset.checked_add(length) {
            Some(end) if end <= self.length => Ok(()),
            _ => Err(Failure::argument(format!("{length} bytes at {offset} of {}", self.length))),
        }
    }
}
