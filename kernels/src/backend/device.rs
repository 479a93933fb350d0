//! Properties of devices that are known without a query.

use burn::backend::DispatchDevice;
#[cfg(feature = "cube")]
use burn::backend::RuntimeId;
use burn::tensor::{DType, Device};

/// Runtime of a device, as far as it determines dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "flex"), allow(dead_code))]
pub enum Runtime {
    Flex,
    Wgpu,
    Other,
}

impl Runtime {
    pub fn of(device: &Device) -> Self {
        Self::of_dispatch(device.clone().without_autodiff().as_dispatch())
    }

    pub fn of_dispatch(device: &DispatchDevice) -> Self {
        match device {
            #[cfg(feature = "cube")]
            DispatchDevice::Cube(device) if device.runtime() == RuntimeId::Wgpu => Self::Wgpu,
            #[cfg(feature = "flex")]
            DispatchDevice::Flex(_) => Self::Flex,
            // Features of other crates can enable more devices.
            #[allow(unreachable_patterns)]
            _ => Self::Other,
        }
    }

    /// Returns `true` if the runtime computes values of a dtype in full precision.
    pub fn computes(self, dtype: DType) -> bool {
        match self {
            Self::Flex => !matches!(dtype, DType::F16 | DType::BF16),
            Self::Wgpu | Self::Other => self.stores(dtype),
        }
    }

    /// Returns `true` if the runtime supports a dtype that it claims to have.
    ///
    /// Shaders have no `exp`, `tanh`, `pow` and the like for f64: devices that have f64 return arbitrary
    /// results for them.
    pub fn stores(self, dtype: DType) -> bool {
        !(self == Self::Wgpu && dtype == DType::F64)
    }
}

/// Returns the maximum number of bytes of a tensor on a device, if limited: the largest buffer that a kernel can bind.
pub fn most_bytes(device: &Device) -> Option<u64> {
    match device.clone().without_autodiff().as_dispatch() {
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(device) => Some(device.client().properties().memory.max_page_size),
        #[allow(unreachable_patterns)]
        _ => None,
    }
}

/// Returns `true` if CubeCL kernels run on a device.
pub fn runs_cubes(device: &Device) -> bool {
    match device.clone().without_autodiff().as_dispatch() {
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(_) => true,
        #[allow(unreachable_patterns)]
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wgpu_has_no_double_precision_whatever_its_adapter_says() {
        assert!(!Runtime::Wgpu.stores(DType::F64) && !Runtime::Wgpu.computes(DType::F64));
        for dtype in [DType::F32, DType::F16, DType::I64] {
            assert!(Runtime::Wgpu.stores(dtype) && Runtime::Wgpu.computes(dtype));
        }
        for runtime in [Runtime::Flex, Runtime::Other] {
            assert!(runtime.stores(DType::F64) && runtime.computes(DType::F64));
        }
    }

    #[test]
    fn the_cpu_is_known() {
        assert_eq!(Runtime::of(&Device::flex()), Runtime::Flex);
    }
}
