//! Sizes in the integers of a kernel.
//!
//! Geometry has 32 bits in a kernel, and indices that are elements of tensors are `i32` on most devices. A size
//! that exceeds these is an error of the run.

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::{ops, tensor::CubeTensor};

use crate::fault::fail;

/// Returns a size or a stride in the 32 bits that it has in the geometry of a kernel.
pub fn narrow(size: usize) -> u32 {
    narrowed(size, u32::MAX.into()) as u32
}

/// Returns a size that a kernel computes with as `i32`, or whose indices are elements of such a tensor.
pub fn within_i32(size: usize) -> usize {
    within(DType::I32, size)
}

/// Returns a size whose indices are elements of a tensor of integers.
pub fn within(indices: DType, size: usize) -> usize {
    narrowed(size, largest(indices))
}

fn narrowed(size: usize, largest: u64) -> usize {
    if size as u64 > largest {
        fail(format_args!(
            "expected a size, stride or extent of at most {largest} elements on this device, found {size}"
        ));
    }
    size
}

/// Largest value of an integer dtype.
fn largest(dtype: DType) -> u64 {
    match dtype {
        DType::I8 => 0x7f,
        DType::I16 => 0x7fff,
        DType::I32 => 0x7fff_ffff,
        DType::U8 => 0xff,
        DType::U16 => 0xffff,
        DType::U32 => 0xffff_ffff,
        DType::U64 => u64::MAX,
        _ => i64::MAX as u64,
    }
}

/// Returns the number of elements of an axis, padding included, up to the end of the last window.
pub fn reach(windows: usize, stride: usize, kernel: usize, dilation: usize) -> usize {
    let windows = windows.saturating_sub(1).saturating_mul(stride);
    let taps = kernel.saturating_sub(1).saturating_mul(dilation);
    windows.saturating_add(taps).saturating_add(1)
}

/// Returns the elements in another shape. Burn's own function does not compare the numbers of elements.
pub fn reshape(x: CubeTensor, shape: Shape) -> CubeTensor {
    let own = x.shape();
    assert_eq!(own.num_elements(), shape.num_elements(), "cannot reshape {own:?} to {shape:?}");
    ops::reshape(x, shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    #[test]
    fn sizes_beyond_32_bits_fail() {
        for size in [1 << 31, u32::MAX as usize] {
            assert_eq!(attempt(|| narrow(size)), Ok(size as u32));
        }
        for size in [1 << 32, 1 << 33, usize::MAX] {
            let fault = attempt(|| narrow(size)).unwrap_err();
            assert!(fault.reason.contains(&size.to_string()), "{fault}");
        }
    }

    #[test]
    fn indices_are_values_of_their_dtype() {
        assert_eq!(attempt(|| within_i32((1 << 31) - 1)), Ok((1 << 31) - 1));
        assert!(attempt(|| within_i32(1 << 31)).is_err());
        assert_eq!(attempt(|| within(DType::U32, 1 << 31)), Ok(1 << 31));
        assert!(attempt(|| within(DType::U8, 256)).is_err());
        assert_eq!(attempt(|| within(DType::I64, 1 << 33)), Ok(1 << 33));
    }

    #[test]
    fn windows_reach_to_their_last_tap() {
        assert_eq!(reach(3, 2, 3, 1), 7);
        assert_eq!(reach(1, 9, 1, 9), 1);
        assert_eq!(reach(1 << 31, 2, 1, 1), (1 << 32) - 1);
        assert_eq!(reach(2, usize::MAX, 2, usize::MAX), usize::MAX);
    }
}
