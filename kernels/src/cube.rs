//! Bodies for the devices of CubeCL.

pub mod compact;
pub mod couple;
pub mod draw;
pub mod matrices;
mod scan;
pub mod small;
pub mod sort;
pub mod svm;
pub mod trees;

use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_dtype, tensor::CubeTensor,
};

use burn::tensor::{DType, Shape};
use cubecl::prelude::*;

use crate::{
    backend::{Kernels, Machine, Optional, Walk},
    classical::{svm::Comparison, trees::Election},
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
            Optional::Float(x) | Optional::Int(x) => Optional::Int(sort::top_k(x, top)),
            Optional::None | Optional::Bool(_) => Optional::None,
        }
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

    fn to_small(x: CubeTensor, small: Small, saturate: bool) -> Optional<Self> {
        Optional::Float(small::to_small(x, small, saturate))
    }

    fn determinants(x: CubeTensor) -> Optional<Self> {
        Optional::Float(matrices::determinants(x))
    }

    fn inverses(x: CubeTensor) -> Optional<Self> {
        Optional::Float(matrices::inverses(x))
    }

    fn tree_votes(walk: Walk<Self>, election: Election) -> (Optional<Self>, Optional<Self>) {
        trees::votes(walk, election)
    }

    fn machine_sums(machine: Machine<Self>, comparison: Comparison) -> Optional<Self> {
        svm::sums(machine, comparison)
    }

    fn couple(lines: CubeTensor, classes: usize) -> Optional<Self> {
        Optional::Float(couple::couple(lines, classes))
    }

    fn draw(sums: CubeTensor, fractions: CubeTensor) -> Optional<Self> {
        Optional::Int(draw::draw(sums, fractions))
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
