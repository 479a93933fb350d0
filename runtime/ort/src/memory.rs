//! Descriptions of memory, and the allocator.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Mutex;

use ort_sys::{ORT_API_VERSION, OrtAllocator, OrtAllocatorType, OrtMemType, OrtMemoryInfo};

use crate::handle::{Handle, c_string, locked};
use crate::status::Failure;
use crate::storage::ALIGNMENT;

/// Description of the memory of a tensor or an allocator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemoryInfo {
    /// Name of the device. `ort` keeps the pointer without a lifetime, so it is static.
    pub name: &'static CStr,
    pub allocator: OrtAllocatorType,
    pub id: c_int,
    pub memory: OrtMemType,
}

impl Handle for MemoryInfo {
    type Raw = OrtMemoryInfo;
    const NAME: &'static str = "memory info";
}

/// Memory of the host, which all tensors of this backend are in.
pub(crate) static CPU: MemoryInfo = MemoryInfo {
    name: c"Cpu",
    allocator: OrtAllocatorType::OrtDeviceAllocator,
    id: 0,
    memory: OrtMemType::OrtMemTypeDefault,
};

impl MemoryInfo {
    /// Returns `true` if the memory is that of the host.
    pub(crate) fn is_host(&self) -> bool {
        self.name == CPU.name
    }

    /// Returns an error if the memory is not that of the host.
    pub(crate) fn check_host(&self) -> Result<(), Failure> {
        let name = self.name.to_string_lossy();
        let error = || Failure::unsupported(format!("memory of the device `{name}`: models run on the CPU"));
        if self.is_host() { Ok(()) } else { Err(error()) }
    }
}

/// Returns a static copy of a device name. Each name is leaked once; programs use a handful.
pub(crate) fn device_name(name: &str) -> &'static CStr {
    static NAMES: Mutex<Vec<&'static CStr>> = Mutex::new(Vec::new());
    let name = c_string(name);
    if *name == *CPU.name {
        return CPU.name;
    }
    let mut names = locked(&NAMES);
    if let Some(known) = names.iter().find(|known| ***known == *name) {
        return known;
    }
    let name: &'static CStr = Box::leak(name.into_boxed_c_str());
    names.push(name);
    name
}

/// Allocator of strings and arrays that functions return, and of [`ort_sys::OrtApi::AllocatorAlloc`].
#[repr(transparent)]
struct DefaultAllocator(OrtAllocator);

// SAFETY: the allocator has no state but function pointers, and the functions may be called on all threads.
unsafe impl Sync for DefaultAllocator {}

// The first releases have no further fields.
#[allow(clippy::needless_update)]
static ALLOCATOR: DefaultAllocator = DefaultAllocator(OrtAllocator {
    version: ORT_API_VERSION,
    Alloc: Some(alloc_block),
    Free: Some(free_block),
    Info: Some(info_of_block),
    Reserve: Some(reserve_block),
    // SAFETY: further fields, which later releases have, are optional functions: zeros are `None`.
    ..unsafe { std::mem::zeroed() }
});

/// Returns the allocator, which is static. Callers only read it.
pub(crate) fn default_allocator() -> *mut OrtAllocator {
    (&raw const ALLOCATOR.0).cast_mut()
}

unsafe extern "system" fn alloc_block(_: *mut OrtAllocator, size: usize) -> *mut c_void {
    allocate(size).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

unsafe extern "system" fn reserve_block(_: *const OrtAllocator, size: usize) -> *mut c_void {
    allocate(size).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

unsafe extern "system" fn info_of_block(_: *const OrtAllocator) -> *const OrtMemoryInfo {
    CPU.as_raw()
}

/// Returns the layout of a block of `size` bytes behind a header that contains `size`.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(ALIGNMENT)?, ALIGNMENT).ok()
}

/// Allocates a block, or returns `None` if memory is exhausted.
fn allocate(size: usize) -> Option<NonNull<u8>> {
    let layout = layout(size)?;
    // SAFETY: the layout has the bytes of the header at least.
    let header = NonNull::new(unsafe { alloc(layout) })?;
    // SAFETY: the header has `ALIGNMENT` bytes, is aligned to as many, and nothing else uses it.
    unsafe { header.cast::<usize>().write(size) };
    // SAFETY: the block begins after the header, within the allocation or at its end.
    Some(unsafe { header.add(ALIGNMENT) })
}

unsafe extern "system" fn free_block(_: *mut OrtAllocator, block: *mut c_void) {
    let Some(block) = NonNull::new(block.cast::<u8>()) else { return };
    // SAFETY: the C API requires `p` to be a block of this allocator, which begins after its header.
    let header = unsafe { block.sub(ALIGNMENT) };
    // SAFETY: `allocate` wrote the size to the header.
    let size = unsafe { header.cast::<usize>().read() };
    if let Some(layout) = layout(size) {
        // SAFETY: `allocate` allocated the block with this layout, and the caller gives it up.
        unsafe { dealloc(header.as_ptr(), layout) }
    }
}

/// Allocates a block by an allocator of the caller, or the default one if `allocator` is null.
///
/// # Errors
///
/// If the allocator returns null, or a block that is not aligned to `align`.
///
/// # Safety
///
/// `allocator` must be null or a valid allocator of the C API.
pub(crate) unsafe fn allocate_by(
    allocator: *mut OrtAllocator,
    size: usize,
    align: usize,
) -> Result<NonNull<u8>, Failure> {
    let allocator = if allocator.is_null() { default_allocator() } else { allocator };
    // SAFETY: the pointer is not null, and the caller guarantees that it is a valid allocator.
    let function =
        unsafe { (*allocator).Alloc }.ok_or_else(|| Failure::argument("the allocator has no `Alloc`"))?;
    // SAFETY: `Alloc` of a valid allocator may be called with the allocator itself and any size.
    let block = NonNull::new(unsafe { function(allocator, size) }.cast::<u8>());
    let block = block.ok_or_else(|| Failure::argument(format!("cannot allocate {size} bytes")))?;
    if !block.as_ptr().addr().is_multiple_of(align) {
        return Err(Failure::argument(format!("the allocator's block is not aligned to {align} bytes")));
    }
    Ok(block)
}

/// Frees a block by an allocator of the caller, or the default one if `allocator` is null.
///
/// # Errors
///
/// If the allocator has no function for it.
///
/// # Safety
///
/// `allocator` must be null or a valid allocator of the C API, and `block` one of its blocks or null.
pub(crate) unsafe fn free_by(allocator: *mut OrtAllocator, block: *mut c_void) -> Result<(), Failure> {
    let allocator = if allocator.is_null() { default_allocator() } else { allocator };
    // SAFETY: the pointer is not null, and the caller guarantees that it is a valid allocator.
    let function =
        unsafe { (*allocator).Free }.ok_or_else(|| Failure::argument("the allocator has no `Free`"))?;
    // SAFETY: the caller guarantees that the block, if any, is of this allocator.
    unsafe { function(allocator, block) };
    Ok(())
}

/// Copies a text to a null-terminated string of an allocator.
///
/// # Errors
///
/// As [`allocate_by`].
///
/// # Safety
///
/// `allocator` must be null or a valid allocator of the C API.
pub(crate) unsafe fn copy_text(allocator: *mut OrtAllocator, text: &str) -> Result<*mut c_char, Failure> {
    let text = c_string(text);
    let bytes = text.as_bytes_with_nul();
    // SAFETY: the caller guarantees that the allocator is null or valid.
    let block = unsafe { allocate_by(allocator, bytes.len(), 1) }?;
    // SAFETY: the block is new and has as many bytes as the text.
    unsafe { block.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    Ok(block.as_ptr().cast())
}

/// Copies values to an array of an allocator. Without values, the array is null.
///
/// # Errors
///
/// As [`allocate_by`].
///
/// # Safety
///
/// `allocator` must be null or a valid allocator of the C API.
pub(crate) unsafe fn copy_array<T: Copy>(
    allocator: *mut OrtAllocator,
    values: &[T],
) -> Result<*mut T, Failure> {
    if values.is_empty() {
        return Ok(ptr::null_mut());
    }
    // SAFETY: the caller guarantees that the allocator is null or valid.
    let block = unsafe { allocate_by(allocator, size_of_val(values), align_of::<T>()) }?;
    // SAFETY: the block is new, aligned for `T` and has as many bytes as the values.
    unsafe { block.cast::<T>().copy_from_nonoverlapping(NonNull::from(values).cast(), values.len()) };
    Ok(block.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_freed() {
        for size in [0, 1, 100] {
            let block = allocate(size).unwrap();
            assert!(block.as_ptr().addr().is_multiple_of(ALIGNMENT));
            // SAFETY: the block has `size` bytes.
            unsafe { block.write_bytes(7, size) };
            // SAFETY: the block is of this allocator.
            unsafe { free_block(ptr::null_mut(), block.as_ptr().cast()) };
        }
        assert!(allocate(usize::MAX).is_none());
    }

    #[test]
    fn names_of_devices_are_interned() {
        let first = device_name("Cuda");
        assert_eq!(first.as_ptr(), device_name("Cuda").as_ptr());
        assert_eq!(device_name("Cpu").as_ptr(), CPU.name.as_ptr());
    }
}
