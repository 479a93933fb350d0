//! Regions of images, an element of the result by a unit.

mod align;
mod pool;

use burn::backend::{
    TensorMetadata,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::{DType, FloatDType, IntDType, Shape};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use burn_fusion::custom::TensorSpec;
use cubecl::prelude::AddressType;

pub use self::{align::roi_align, pool::max_roi_pool};
use super::{address, unwritten};
use crate::backend::OptionalMetadata;

/// What comes of an image and its regions, before it is there.
pub fn described(x: &TensorSpec, rois: &TensorSpec, output: [usize; 2]) -> OptionalMetadata {
    if !has_body(x.dtype, rois.dtype) {
        return OptionalMetadata::None;
    }
    let shape = shape(&x.shape, &rois.shape, output);
    OptionalMetadata::Float(TensorSpec::new(shape, x.dtype))
}

/// Coordinates are computed in f32.
fn has_body(x: DType, rois: DType) -> bool {
    x.size() <= 4 && rois.size() <= 4
}

fn shape(x: &Shape, rois: &Shape, output: [usize; 2]) -> Shape {
    [rois[0], x[1], output[0], output[1]].into()
}

/// The operands of a kernel, contiguous and in the dtypes that it takes.
struct Operands {
    x: CubeTensor,
    rois: CubeTensor,
    batches: CubeTensor,
    y: CubeTensor,
}

impl Operands {
    fn new(
        x: CubeTensor,
        rois: CubeTensor,
        batches: CubeTensor,
        output: [usize; 2],
    ) -> Option<Self> {
        if !has_body(x.dtype, rois.dtype) {
            return None;
        }
        let x = into_contiguous(x);
        let rois = into_contiguous(CubeBackend::float_cast(rois, FloatDType::F32));
        let batches = into_contiguous(CubeBackend::int_cast(batches, IntDType::I32));
        let y = unwritten(&x, shape(&x.shape(), &rois.shape(), output), x.dtype);
        Some(Self {
            x,
            rois,
            batches,
            y,
        })
    }

    fn address(&self) -> AddressType {
        address([&self.x, &self.rois, &self.batches, &self.y])
    }
}
