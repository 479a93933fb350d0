//! Functions on the metadata of models.

use std::ffi::c_char;
use std::ptr;

use onnx_embed::Metadata;
use ort_sys::{OrtAllocator, OrtModelMetadata, OrtSession, OrtStatusPtr};

use crate::handle::{Handle, borrow, check_place, give, release, text, write};
use crate::memory::{copy_array, copy_text};
use crate::session::SessionHandle;
use crate::status::{Failure, guard};

/// Metadata of a model, which does not refer to the session.
pub(crate) struct ModelMetadata(Metadata);

impl Handle for ModelMetadata {
    type Raw = OrtModelMetadata;
    const NAME: &'static str = "model metadata";
}

pub(crate) unsafe extern "system" fn SessionGetModelMetadata(
    session: *const OrtSession,
    out: *mut *mut OrtModelMetadata,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be one that this API returned and that is not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, ModelMetadata(session.0.metadata)) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseModelMetadata(metadata: *mut OrtModelMetadata) {
    // SAFETY: the C API requires `input` to be null or of `SessionGetModelMetadata`, and the caller gives it up.
    unsafe { release::<ModelMetadata>(metadata) }
}

/// Writes a copy of a text of the metadata to `out`.
///
/// # Safety
///
/// `metadata` must be null or of `SessionGetModelMetadata` and not released, `allocator` null or a valid allocator, and
/// `out` null or valid for a write of a pointer.
unsafe fn copy(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
    choose: impl FnOnce(&Metadata) -> &str,
) -> OrtStatusPtr {
    guard(|| {
        check_place(out)?;
        // SAFETY: the caller guarantees that the metadata is null or not released.
        let metadata: &ModelMetadata = unsafe { borrow(metadata) }?;
        // SAFETY: the caller guarantees that the allocator is null or valid.
        let text = unsafe { copy_text(allocator, choose(&metadata.0)) }?;
        // SAFETY: the caller guarantees that `out` is null or valid for this write.
        unsafe { write(out, text) }
    })
}

pub(crate) unsafe extern "system" fn ModelMetadataGetProducerName(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    // SAFETY: the C API requires metadata of this API, a valid allocator, and `value` for a string that the caller frees
    // by the allocator: the contract of `copy`.
    unsafe { copy(metadata, allocator, out, |metadata| metadata.producer) }
}

pub(crate) unsafe extern "system" fn ModelMetadataGetGraphName(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    // SAFETY: the C API requires metadata of this API, a valid allocator, and `value` for a string that the caller frees
    // by the allocator: the contract of `copy`.
    unsafe { copy(metadata, allocator, out, |metadata| metadata.graph) }
}

pub(crate) unsafe extern "system" fn ModelMetadataGetDomain(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    // SAFETY: the C API requires metadata of this API, a valid allocator, and `value` for a string that the caller frees
    // by the allocator: the contract of `copy`.
    unsafe { copy(metadata, allocator, out, |metadata| metadata.domain) }
}

pub(crate) unsafe extern "system" fn ModelMetadataGetDescription(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    // SAFETY: the C API requires metadata of this API, a valid allocator, and `value` for a string that the caller frees
    // by the allocator: the contract of `copy`.
    unsafe { copy(metadata, allocator, out, |metadata| metadata.doc) }
}

/// Returns an empty text: compiled models do not contain the description of the graph, only that of the model.
pub(crate) unsafe extern "system" fn ModelMetadataGetGraphDescription(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    // SAFETY: the C API requires metadata of this API, a valid allocator, and `value` for a string that the caller frees
    // by the allocator: the contract of `copy`.
    unsafe { copy(metadata, allocator, out, |_| "") }
}

pub(crate) unsafe extern "system" fn ModelMetadataGetVersion(
    metadata: *const OrtModelMetadata,
    out: *mut i64,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `model_metadata` to be of `SessionGetModelMetadata` and not released.
        let metadata: &ModelMetadata = unsafe { borrow(metadata) }?;
        // SAFETY: the C API requires `value` to be valid for a write of the version.
        unsafe { write(out, metadata.0.version) }
    })
}

pub(crate) unsafe extern "system" fn ModelMetadataLookupCustomMetadataMap(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    key: *const c_char,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `model_metadata` to be of `SessionGetModelMetadata` and not released.
        let metadata: &ModelMetadata = unsafe { borrow(metadata) }?;
        // SAFETY: the C API requires `key` to be a null-terminated string.
        let key = unsafe { text(key, "key") }?;
        check_place(out)?;
        let value = match metadata.0.get(key) {
            // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
            Some(value) => unsafe { copy_text(allocator, value) }?,
            None => ptr::null_mut(),
        };
        // SAFETY: the C API requires `value` to be valid for a write of the string, which is null without the key.
        unsafe { write(out, value) }
    })
}

pub(crate) unsafe extern "system" fn ModelMetadataGetCustomMetadataMapKeys(
    metadata: *const OrtModelMetadata,
    allocator: *mut OrtAllocator,
    keys: *mut *mut *mut c_char,
    count: *mut i64,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `model_metadata` to be of `SessionGetModelMetadata` and not released.
        let metadata: &ModelMetadata = unsafe { borrow(metadata) }?;
        check_place(keys)?;
        check_place(count)?;
        let copy = |(key, _): &(&str, &str)| {
            // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
            unsafe { copy_text(allocator, key) }
        };
        let all = metadata.0.entries.iter().map(copy).collect::<Result<Vec<_>, Failure>>()?;
        // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
        let array = unsafe { copy_array(allocator, &all) }?;
        // SAFETY: the C API requires `keys` to be valid for a write of the array, which the caller frees with its strings.
        unsafe { write(keys, array) }?;
        // SAFETY: the C API requires `num_keys` to be valid for a write of the number. There are at most 256 keys.
        unsafe { write(count, i64::try_from(all.len()).unwrap_or(i64::MAX)) }
    })
}
