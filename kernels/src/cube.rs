//! Bodies for the devices of CubeCL.

mod scan;
pub mod small;

use burn_cubecl::{CubeBackend, ops::numeric::empty_device_dtype, tensor::CubeTensor};

use burn::tensor::{DType, Shape};

use crate::{
    backend::{Kernels, Optional},
    quantize::small::Small,
    reduce::cumulative::Scan,
};

impl Kernels for CubeBackend {
    fn scan(x: Optional<Self>, scan: Scan) -> Optional<Self> {
        x.map(|x| scan::scan(x, scan))
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
