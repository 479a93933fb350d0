//! Sizes as kernels have them.

use burn::backend::TensorMetadata;
use burn::tensor::Shape;
use burn_cubecl::{ops, tensor::CubeTensor};

use crate::fault::fail;

/// A size or a stride in the 32 bits that it has in the geometry of a kernel.
pub fn narrow(size: usize) -> u32 {
    u32::try_from(size).unwrap_or_else(|_| {
        fail(format_args!(
            "a size or stride of {size} elements is too large for kernels of this device"
        ))
    })
}

/// The elements in another shape. Burn's own function trusts that there are as many.
pub fn reshape(x: CubeTensor, shape: Shape) -> CubeTensor {
    let own = x.shape();
    assert_eq!(
        own.num_elements(),
        shape.num_elements(),
        "shape {own:?} cannot become {shape:?}"
    );
    ops::reshape(x, shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    #[test]
    fn sizes_beyond_32_bits_fail() {
        assert_eq!(attempt(|| narrow(u32::MAX as usize)), Ok(u32::MAX));
        let beyond = usize::try_from(u64::from(u32::MAX) + 1).expect("64 bits");
        let fault = attempt(|| narrow(beyond)).unwrap_err();
        assert!(fault.reason.contains("4294967296"), "{fault}");
    }
}
