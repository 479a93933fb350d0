//! Devices by name.

use onnx_embed::Device;
use onnx_embed::burn::tensor::DeviceType;

/// Returns the device that the command line calls `name`.
pub fn named(name: &str) -> Result<Device, String> {
    match name {
        #[cfg(feature = "flex")]
        "flex" => Ok(Device::flex()),
        #[cfg(feature = "wgpu")]
        "wgpu" => Ok(Device::wgpu(Default::default())),
        #[cfg(feature = "webgpu")]
        "webgpu" => Ok(Device::webgpu(Default::default())),
        #[cfg(feature = "vulkan")]
        "vulkan" => Ok(Device::vulkan(Default::default())),
        #[cfg(feature = "metal")]
        "metal" => Ok(Device::metal(Default::default())),
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Device::cuda(0usize)),
        #[cfg(feature = "rocm")]
        "rocm" => Ok(Device::rocm(0usize)),
        _ => Err(format!("the program was built without the device `{name}`")),
    }
}

/// Returns the number of devices of this name on the machine, or 0 if the program was built without them.
pub fn count(name: &str) -> usize {
    let kind = match name {
        #[cfg(feature = "flex")]
        "flex" => DeviceType::Flex,
        #[cfg(feature = "wgpu")]
        "wgpu" => DeviceType::Wgpu,
        #[cfg(feature = "webgpu")]
        "webgpu" => DeviceType::WebGpu,
        #[cfg(feature = "vulkan")]
        "vulkan" => DeviceType::Vulkan,
        #[cfg(feature = "metal")]
        "metal" => DeviceType::Metal,
        #[cfg(feature = "cuda")]
        "cuda" => DeviceType::Cuda,
        #[cfg(feature = "rocm")]
        "rocm" => DeviceType::Rocm,
        _ => return 0,
    };
    Device::enumerate(kind).into_vec().len()
}
