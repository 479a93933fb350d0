//! The device that cases run on.

use std::panic::catch_unwind;

use onnx_embed::Device;
use onnx_embed_runner::device;

/// The device that the variable `DEVICE` names; the CPU by default.
pub struct Chosen {
    pub name: String,
    pub device: Device,
}

impl Chosen {
    /// Returns the device of `DEVICE`, or `None` if the machine has no device of that name.
    ///
    /// # Errors
    ///
    /// If the program was built without support for it.
    pub fn of_environment() -> Result<Option<Self>, String> {
        let name = std::env::var("DEVICE").unwrap_or("flex".to_owned());
        let device = device::named(&name)?;
        // Without a driver, a query for adapters may panic.
        let count = catch_unwind(|| device::count(&name)).unwrap_or(0);
        Ok((count > 0).then_some(Self { name, device }))
    }

    /// Returns `true` if cases run on the CPU in this process.
    pub fn is_cpu(&self) -> bool {
        self.name == "flex"
    }
}
