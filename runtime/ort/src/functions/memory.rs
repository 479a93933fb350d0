//! Functions on descriptions of memory and allocators.

use std::ffi::{c_char, c_int, c_void};

use ort_sys::{
    OrtAllocator, OrtAllocatorType, OrtMemType, OrtMemoryInfo, OrtMemoryInfoDeviceType, OrtSession,
    OrtStatusPtr,
};

use crate::handle::{Handle, borrow, check_place, give, release, text, write};
use crate::memory::{CPU, MemoryInfo, allocate_by, default_allocator, device_name, free_by};
use crate::status::guard;

pub(crate) unsafe extern "system" fn CreateMemoryInfo(
    name: *const c_char,
    allocator: OrtAllocatorType,
    id: c_int,
    memory: OrtMemType,
    out: *mut *mut OrtMemoryInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `name` to be a null-terminated string.
        let name = device_name(unsafe { text(name, "name") }?);
        let info = MemoryInfo { name, allocator, id, memory };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, info) }
    })
}

pub(crate) unsafe extern "system" fn CreateCpuMemoryInfo(
    allocator: OrtAllocatorType,
    memory: OrtMemType,
    out: *mut *mut OrtMemoryInfo,
) -> OrtStatusPtr {
    guard(|| {
        let info = MemoryInfo { allocator, memory, ..CPU.clone() };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, info) }
    })
}

pub(crate) unsafe extern "system" fn CompareMemoryInfo(
    left: *const OrtMemoryInfo,
    right: *const OrtMemoryInfo,
    out: *mut c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info1` to be one that this API returned and that is not released.
        let left: &MemoryInfo = unsafe { borrow(left) }?;
        // SAFETY: the C API requires `info2` to be one that this API returned and that is not released.
        let right: &MemoryInfo = unsafe { borrow(right) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the answer: 0 if both are equal, otherwise -1.
        unsafe { write(out, if left == right { 0 } else { -1 }) }
    })
}

pub(crate) unsafe extern "system" fn MemoryInfoGetName(
    info: *const OrtMemoryInfo,
    out: *mut *const c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `ptr` to be one that this API returned and that is not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is to a static string.
        unsafe { write(out, info.name.as_ptr()) }
    })
}

pub(crate) unsafe extern "system" fn MemoryInfoGetId(
    info: *const OrtMemoryInfo,
    out: *mut c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `ptr` to be one that this API returned and that is not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the number of the device.
        unsafe { write(out, info.id) }
    })
}

pub(crate) unsafe extern "system" fn MemoryInfoGetMemType(
    info: *const OrtMemoryInfo,
    out: *mut OrtMemType,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `ptr` to be one that this API returned and that is not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the type of memory.
        unsafe { write(out, info.memory) }
    })
}

pub(crate) unsafe extern "system" fn MemoryInfoGetType(
    info: *const OrtMemoryInfo,
    out: *mut OrtAllocatorType,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `ptr` to be one that this API returned and that is not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the type of allocator.
        unsafe { write(out, info.allocator) }
    })
}

pub(crate) unsafe extern "system" fn MemoryInfoGetDeviceType(
    info: *const OrtMemoryInfo,
    out: *mut OrtMemoryInfoDeviceType,
) {
    // SAFETY: the C API requires `ptr` to be one that this API returned and that is not released.
    let info = unsafe { borrow::<MemoryInfo>(info) };
    let kind = match info {
        Ok(info) if !info.is_host() => OrtMemoryInfoDeviceType::OrtMemoryInfoDeviceType_GPU,
        _ => OrtMemoryInfoDeviceType::OrtMemoryInfoDeviceType_CPU,
    };
    // SAFETY: the C API requires `out` to be valid for a write of the type of device. There is no status for null.
    let _ = unsafe { write(out, kind) };
}

#[cfg(not(any(ort_release = "10", ort_release = "11")))]
pub(crate) unsafe extern "system" fn MemoryInfoGetDeviceMemType(
    _: *const OrtMemoryInfo,
) -> ort_sys::OrtDeviceMemoryType {
    ort_sys::OrtDeviceMemoryType::OrtDeviceMemoryType_DEFAULT
}

pub(crate) unsafe extern "system" fn ReleaseMemoryInfo(info: *mut OrtMemoryInfo) {
    // SAFETY: the C API requires `input` to be null or of `CreateMemoryInfo` or `CreateCpuMemoryInfo`, never one that is
    // borrowed, and the caller gives it up.
    unsafe { release::<MemoryInfo>(info) }
}

pub(crate) unsafe extern "system" fn GetAllocatorWithDefaultOptions(
    out: *mut *mut OrtAllocator,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller does not release.
        unsafe { write(out, default_allocator()) }
    })
}

pub(crate) unsafe extern "system" fn CreateAllocator(
    _: *const OrtSession,
    info: *const OrtMemoryInfo,
    out: *mut *mut OrtAllocator,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `mem_info` to be one that this API returned and that is not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        info.check_host()?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which `ReleaseAllocator` takes.
        unsafe { write(out, default_allocator()) }
    })
}

/// Does nothing: all allocators of this backend are one, which is static.
pub(crate) unsafe extern "system" fn ReleaseAllocator(_: *mut OrtAllocator) {}

pub(crate) unsafe extern "system" fn AllocatorAlloc(
    allocator: *mut OrtAllocator,
    size: usize,
    out: *mut *mut c_void,
) -> OrtStatusPtr {
    guard(|| {
        check_place(out)?;
        // SAFETY: the C API requires `ort_allocator` to be a valid allocator; null means the default allocator.
        let block = unsafe { allocate_by(allocator, size, 1) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which `AllocatorFree` takes.
        unsafe { write(out, block.as_ptr().cast()) }
    })
}

pub(crate) unsafe extern "system" fn AllocatorFree(
    allocator: *mut OrtAllocator,
    block: *mut c_void,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `ort_allocator` to be a valid allocator and `p` to be one of its blocks or null.
        unsafe { free_by(allocator, block) }
    })
}

pub(crate) unsafe extern "system" fn AllocatorGetInfo(
    _: *const OrtAllocator,
    out: *mut *const OrtMemoryInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is to a static description.
        unsafe { write(out, CPU.as_raw()) }
    })
}
