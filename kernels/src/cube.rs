//! Bodies for the devices of CubeCL.

pub mod compact;
pub mod groups;
mod keys;
pub mod roi;
mod scan;
pub mod small;
pub mod sort;
pub mod suppress;

use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_dtype, tensor::CubeTensor,
};

use burn::tensor::{DType, Shape};
use cubecl::prelude::*;

use crate::{
    backend::{Kernels, Optional},
    image::{
        non_max_suppression::{BoxForm, Limits},
        roi::RoiAlign,
    },
    index::top_k::Top,
    quantize::small::Small,
    reduce::cumulative::Scan,
};

impl Kernels for CubeBackend {
    fn scan(x: Optional<Self>, scan: Scan) -> Optional<Self> {
        x.map(|x| scan::scan(x, scan))
    }

    fn top_k(x: Optional<Self>, top: Top) -> Optional<Self> {
        match x {
            Optional::Float(x) | Optional::Int(x) => sort::top_k(x, top),
            Optional::None | Optional::Bool(_) => Optional::None,
        }
    }

    fn groups(rows: Optional<Self>) -> (Optional<Self>, Optional<Self>) {
        match rows {
            Optional::Float(rows) | Optional::Int(rows) => groups::groups(rows),
            Optional::None | Optional::Bool(_) => (Optional::None, Optional::None),
        }
    }

    fn permuted(values: CubeTensor, places: CubeTensor) -> Optional<Self> {
        Optional::Int(groups::permuted(values, places))
    }

    fn counts(condition: Optional<Self>) -> Optional<Self> {
        match condition {
            Optional::Bool(condition) => Optional::Int(compact::counts(condition)),
            Optional::None | Optional::Float(_) | Optional::Int(_) => Optional::None,
        }
    }

    fn compact(counts: Optional<Self>, found: usize) -> Optional<Self> {
        counts.map(|counts| compact::compact(into_contiguous(counts), found))
    }

    fn suppress(
        boxes: CubeTensor,
        scores: CubeTensor,
        form: BoxForm,
        limits: Limits,
    ) -> Optional<Self> {
        suppress::suppress(boxes, scores, form, limits)
    }

    fn roi_align(
        x: CubeTensor,
        rois: CubeTensor,
        batches: CubeTensor,
        options: RoiAlign,
    ) -> Optional<Self> {
        roi::roi_align(x, rois, batches, options)
    }

    fn max_roi_pool(
        x: CubeTensor,
        rois: CubeTensor,
        batches: CubeTensor,
        output: [usize; 2],
        scale: f32,
    ) -> Optional<Self> {
        roi::max_roi_pool(x, rois, batches, output, scale)
    }

    fn to_small(x: CubeTensor, small: Small, saturate: bool) -> Optional<Self> {
        Optional::Float(small::to_small(x, small, saturate))
    }
}

impl Optional<CubeBackend> {
    /// Another tensor of the same kind, if there is one.
    fn map(self, f: impl FnOnce(CubeTensor) -> CubeTensor) -> Self {
        match self {
            Self::None => Self::None,
            Self::Float(x) => Self::Float(f(x)),
            Self::Int(x) => Self::Int(f(x)),
            Self::Bool(x) => Self::Bool(f(x)),
        }
    }
}

/// A tensor beside another one, whose elements are still to be written.
fn unwritten(beside: &CubeTensor, shape: Shape, dtype: DType) -> CubeTensor {
    empty_device_dtype(beside.client.clone(), beside.device.clone(), shape, dtype)
}

/// Where a row of a contiguous tensor begins, along whose axis elements are `inner` apart.
#[cube]
fn first(row: usize, size: usize, inner: usize) -> usize {
    (row / inner) * (inner * size) + row % inner
}

/// The bits of infinity.
const INFINITE: u32 = 0x7f80_0000;

/// The bits of an absolute value, which exceed [`INFINITE`] for NaN: shaders may assume that no float is infinite or NaN.
#[cube]
fn magnitude(x: f32) -> u32 {
    u32::reinterpret(x) & 0x7fff_ffffu32
}
