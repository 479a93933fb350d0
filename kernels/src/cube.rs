//! Bodies for the devices of CubeCL.

pub mod attention;
pub mod compact;
pub mod conv;
mod finish;
mod normalize;
pub mod product;
pub mod recurrent;
mod scan;
pub mod small;
pub mod sort;

use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_dtype, tensor::CubeTensor,
};

use burn::tensor::{DType, Shape, ops::ConvOptions};
use cubecl::prelude::*;

use crate::{
    attention::Scores,
    backend::{Kernels, Optional, Packed, Recurrence},
    index::top_k::Top,
    product::epilogue::{Activation, Epilogue},
    quantize::small::Small,
    recurrent::{Cell, Sizes},
    reduce::cumulative::Scan,
};

impl Kernels for CubeBackend {
    fn filters(weight: CubeTensor) -> CubeTensor {
        conv::filters(weight)
    }

    fn softmax(x: CubeTensor, axis: usize) -> CubeTensor {
        normalize::softmax(x, axis)
    }

    fn layer_norm(
        rows: CubeTensor,
        scale: CubeTensor,
        bias: Optional<Self>,
        epsilon: f32,
    ) -> CubeTensor {
        normalize::layer_norm(rows, scale, bias.float(), epsilon)
    }

    fn rms_norm(rows: CubeTensor, scale: CubeTensor, epsilon: f32) -> CubeTensor {
        normalize::rms_norm(rows, scale, epsilon)
    }

    fn group_norm(
        x: CubeTensor,
        scale: CubeTensor,
        bias: CubeTensor,
        groups: usize,
        epsilon: f32,
    ) -> CubeTensor {
        normalize::group_norm(x, scale, bias, groups, epsilon)
    }

    fn matmul(a: CubeTensor, b: CubeTensor) -> CubeTensor {
        product::product(a, b, None, None, Activation::Identity)
    }

    fn linear(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        product::linear(x, weight, bias.float(), sum.float(), epilogue.activation)
    }

    fn attention(
        query: CubeTensor,
        key: CubeTensor,
        value: CubeTensor,
        mask: Optional<Self>,
        bias: Optional<Self>,
        scores: Scores,
    ) -> CubeTensor {
        attention::attention(query, key, value, mask, bias, scores)
    }

    fn conv1d(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        options: ConvOptions<1>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        conv::conv(x, weight, bias.float(), sum.float(), options, &epilogue)
    }

    fn conv2d(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        options: ConvOptions<2>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        conv::conv(x, weight, bias.float(), sum.float(), options, &epilogue)
    }

    fn conv3d(
        x: CubeTensor,
        weight: CubeTensor,
        bias: Optional<Self>,
        sum: Optional<Self>,
        options: ConvOptions<3>,
        epilogue: Epilogue,
    ) -> CubeTensor {
        conv::conv(x, weight, bias.float(), sum.float(), options, &epilogue)
    }

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

    fn recurrence(
        operands: Recurrence<Self>,
        cell: Cell,
        sizes: Sizes,
        _: Option<[Packed; 2]>,
    ) -> (Optional<Self>, Optional<Self>, Optional<Self>) {
        recurrent::recurrence(operands, &cell, sizes)
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

/// The dtype of sums: half precision would lose digits with every term.
fn summed(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    }
}
