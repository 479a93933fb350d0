//! Device of a model without weights.

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};

/// A tensor of one element that moves with its model. Records and training ignore it.
#[derive(Module, Debug)]
pub struct Anchor {
    tensor: Tensor<1>,
}

impl Anchor {
    /// Creates an anchor on `device`.
    pub fn new(device: &Device) -> Self {
        Self { tensor: Tensor::zeros([1], (device, DType::F32)) }
    }
}

/// Returns the device of a model, which has weights or an anchor.
pub fn device(model: &impl Module) -> Device {
    model.devices().into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_knows_its_device_and_has_no_parameters() {
        let anchor = Anchor::new(&Device::flex());
        assert_eq!(device(&anchor), Device::flex());
        assert_eq!(anchor.num_params(), 0);
        assert!(anchor.into_record().is_empty());
    }
}
