//! Regions of images, an element of the result by a unit.

mod align;
mod pool;

use burn::backend::{
    TensorMetadata,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::{FloatDType, IntDType};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};

pub use self::{align::roi_align, pool::max_roi_pool};
use crate::cube::{blank, narrow, sizes::within_i32, type_of};
use crate::spec::regions;

/// Operands of a kernel, row-major and in the dtypes that it takes.
struct Operands {
    x: CubeTensor,
    rois: CubeTensor,
    batches: CubeTensor,
    y: CubeTensor,
}

impl Operands {
    fn new(x: CubeTensor, rois: CubeTensor, batches: CubeTensor, output: [usize; 2]) -> Option<Self> {
        let y = regions::result(&type_of(&x), &type_of(&rois), output)?;
        let x = into_contiguous(x);
        let [batches_of_x, _, height, width] = x.shape().dims();
        within_i32(batches_of_x);
        // Coordinates become indices of 32 bits.
        narrow(height);
        narrow(width);
        let rois = into_contiguous(CubeBackend::float_cast(rois, FloatDType::F32));
        let batches = into_contiguous(CubeBackend::int_cast(batches, IntDType::I32));
        let y = blank(&x, y);
        Some(Self { x, rois, batches, y })
    }
}
