//! The device that the command line names.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use onnx_embed::Device;

/// `auto`, `list`, `cpu`, `gpu` or `gpu:1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The first GPU, or the CPU if no GPU is available.
    Auto,
    List,
    Cpu,
    Gpu(usize),
}

/// A device with a readable name.
pub struct Named {
    pub name: String,
    pub device: Device,
}

impl FromStr for Choice {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "auto" => Self::Auto,
            "list" => Self::List,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu(0),
            _ => {
                let number = text.strip_prefix("gpu:").and_then(|number| number.parse().ok());
                Self::Gpu(number.context("expected auto, list, cpu, gpu or gpu:NUMBER")?)
            }
        })
    }
}

impl Named {
    pub fn cpu() -> Self {
        Self { name: "cpu".to_owned(), device: Device::flex() }
    }

    pub fn open(choice: Choice) -> Result<Self> {
        let mut gpus = gpus();
        let count = gpus.len();
        match choice {
            Choice::Cpu | Choice::List => Ok(Self::cpu()),
            Choice::Auto if gpus.is_empty() => Ok(Self::cpu()),
            Choice::Auto => Ok(gpus.remove(0)),
            Choice::Gpu(number) => {
                ensure!(
                    cfg!(feature = "wgpu"),
                    "this program is for CPUs alone; build it with `--features wgpu`"
                );
                if number >= count {
                    bail!("there are {count} GPUs, and none has number {number}; see `--device list`");
                }
                Ok(gpus.remove(number))
            }
        }
    }
}

impl Display for Named {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        self.name.fmt(formatter)
    }
}

/// Returns the adapters that wgpu finds through Vulkan, Metal or DirectX 12, the best one first.
#[cfg(feature = "wgpu")]
pub fn gpus() -> Vec<Named> {
    use onnx_embed::burn::tensor::DeviceType;

    let named = |(number, device): (usize, Device)| {
        let identity = device.identity();
        let card = identity.map_or_else(|| "unknown".to_owned(), |identity| identity.name);
        let name = format!("gpu:{number} ({card})");
        Named { name, device }
    };
    let devices = Device::enumerate(DeviceType::Wgpu).into_vec();
    devices.into_iter().enumerate().map(named).collect()
}

#[cfg(not(feature = "wgpu"))]
pub fn gpus() -> Vec<Named> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_a_word_and_a_number() {
        let names = ["auto", "list", "cpu", "gpu", "gpu:3"];
        let choices = [Choice::Auto, Choice::List, Choice::Cpu, Choice::Gpu(0), Choice::Gpu(3)];
        for (name, choice) in names.into_iter().zip(choices) {
            assert_eq!(name.parse::<Choice>().unwrap(), choice);
        }
        for name in ["", "tpu", "gpu:", "gpu:-1", "gpu:x"] {
            assert!(name.parse::<Choice>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_gpu_that_is_not_there_is_refused() {
        let error = Named::open(Choice::Gpu(99)).err().unwrap().to_string();
        let reason = match cfg!(feature = "wgpu") {
            true => "none has number 99",
            false => "build it with `--features wgpu`",
        };
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn without_a_gpu_the_cpu_is_taken() {
        let device = Named::open(Choice::Auto).unwrap();
        assert_eq!(device.name == "cpu", gpus().is_empty());
    }
}
