//! Memory of tensors whose bytes something else provides.

use std::{mem::MaybeUninit, ops::Range};

use burn::tensor::{AllocationProperty, Bytes};
use cubecl_environment::bytes::{AccessError, AccessPolicy, AllocationController};

/// Provides the bytes of a tensor.
pub trait Provider: Send + Sync + Sized + 'static {
    /// Number of bytes, always the same.
    fn length(&self) -> usize;

    /// Alignment of the bytes.
    fn alignment(&self) -> usize;

    /// The bytes. `None` if they would have to be copied and may not.
    fn read(&self, may_copy: bool) -> Option<&[u8]>;

    /// The bytes, to be changed. `None` if they would have to be copied and may not.
    fn change(&mut self, may_copy: bool) -> Option<&mut [u8]>;

    /// Some of the bytes without a copy, at any alignment.
    fn view(&self, range: Range<usize>) -> Option<Self>;

    /// The same bytes without a copy.
    fn duplicate(&self) -> Option<Self>;
}

struct Controller<P> {
    provider: P,
    length: usize,
}

/// The bytes of a provider.
pub fn bytes_of(provider: impl Provider) -> Bytes {
    let length = provider.length();
    let controller = Box::new(Controller { provider, length });
    // SAFETY: the memory is slices of `length` initialized bytes, which the controller asserts.
    unsafe { Bytes::from_controller(controller, length) }
}

impl<P: Provider> AllocationController for Controller<P> {
    fn alloc_align(&self) -> usize {
        self.provider.alignment()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        let bytes = self.provider.change(policy.copy_allowed()).ok_or(AccessError::WouldCopy)?;
        assert_eq!(bytes.len(), self.length);
        // SAFETY: `MaybeUninit<u8>` has the layout of `u8`. The bytes stay initialized, as the callers of this unsafe
        // function write initialized bytes.
        Ok(unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) })
    }

    fn memory(&self, policy: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let bytes = self.provider.read(policy.copy_allowed()).ok_or(AccessError::WouldCopy)?;
        assert_eq!(bytes.len(), self.length);
        // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and every byte is one of its values.
        Ok(unsafe { &*(std::ptr::from_ref(bytes) as *const [MaybeUninit<u8>]) })
    }

    fn capacity(&self) -> usize {
        self.length
    }

    fn view(&self, start: usize, end: usize) -> Option<Box<dyn AllocationController>> {
        let provider = self.provider.view(start..end)?;
        (provider.length() == end - start).then(|| Box::new(Self { provider, length: end - start }) as _)
    }

    fn duplicate(&self) -> Option<Box<dyn AllocationController>> {
        let provider = self.provider.duplicate()?;
        assert_eq!(provider.length(), self.length);
        Some(Box::new(Self { provider, length: self.length }))
    }
}
