//! The device that cases run on.

use std::panic::catch_unwind;

use onnx_embed::Device;
use onnx_embed_runner::device;

/// What the variable `DEVICE` names, else the CPU.
pub struct Chosen {
    pub name: String,
    pub device: Device,
}

impl Chosen {
    /// The device of `DEVICE`, or none if the machine has none of that name.
    ///
    /// # Errors
    ///
    /// If the program was built without it.
    pub fn of_environment() -> Result<Option<Self>, String> {
        let name = std::env::var("DEVICE").unwrap_or("flex".to_owned());
        let device = device::named(&name)?;
        // Where there is no driver at all, asking for adapters may panic.
        let count = catch_unwind(|| device::count(&name)).unwrap_or(0);
        Ok((count > 0).then_some(Self { name, device }))
    }

    /// Whether cases run on the CPU by this process.
    pub fn is_cpu(&self) -> bool {
        self.name == "flex"
    }
}
