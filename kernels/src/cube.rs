//! Kernels for the devices of CubeCL.

pub mod attention;
pub mod convolution;
mod epilogue;
mod float_bits;
pub mod image;
pub mod index;
mod launch;
mod normalize;
pub mod pool;
pub mod product;
pub mod quantize;
pub mod recurrent;
pub mod reduce;
pub mod shape;
mod sizes;
mod units;

use burn::backend::{
    TensorMetadata,
    tensor::{BoolTensor, FloatTensor, IntTensor},
};
use burn::tensor::{DType, Shape, ops::ConvOptions};
use burn_cubecl::{CubeBackend, ops::numeric::empty_device_contiguous_dtype, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::{
    backend::{
        Any, ByteProduct, CodedProduct, Given, Maybe, Outcome, Parts, Recurrence, implement, operations,
    },
    ensure,
    spec::indices::Axis,
    spec::{
        bits::Blocks,
        boxes::{BoxForm, Limits},
        epilogue::Epilogue,
        packed::Packed,
        pool::Slide,
        quantize::{Affine, Integers, Mean, Pair, Unary},
        ranking::Top,
        recurrent::{Cell, Sizes},
        regions::RoiAlign,
        scan::Scan,
        scores::Scores,
        small::Small,
        types::TensorType,
        window::Window,
    },
};
use float_bits::{INFINITE, is_nan, magnitude};
use sizes::{narrow, reshape};

/// Implements the operations of the table by the kernels that it names.
macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $name:ident($($operand:ident: $kind:tt),+ $(; $($option:ident: $type:ty),+)?) -> $result:ident
        $(, flex[$($flex:tt)*])? $(, cube[$kernel:path => $of_cube:expr])? $(, wgpu[$of_wgpu:path => $type_of:expr])?;
    )*) => {
        $(implement!(
            @for CubeBackend, $name, [$($kernel)? $($of_wgpu)?], [$($operand: $kind),+], [$($($option: $type,)+)?], $result
        );)*
    };
}

operations! { kernels }

impl Maybe<CubeTensor> for CubeTensor {
    fn option(self) -> Option<CubeTensor> {
        Some(self)
    }
}

/// Returns the shape and element type of a tensor.
fn type_of(x: &CubeTensor) -> TensorType {
    TensorType::new(x.shape(), x.dtype)
}

/// Returns the shape and element type of an operand, if it is given.
fn type_of_given(x: &Given<CubeBackend>) -> Option<TensorType> {
    match x {
        Given::Missing => None,
        Given::Float(x) | Given::Int(x) | Given::Bool(x) => Some(type_of(x)),
    }
}

/// Returns the tensor of any kind.
fn tensor(x: &Any<CubeBackend>) -> &CubeTensor {
    match x {
        Any::Float(x) | Any::Int(x) | Any::Bool(x) => x,
    }
}

/// Returns an uninitialized row-major tensor of a type, on the device of another one.
fn blank(beside: &CubeTensor, tensor: TensorType) -> CubeTensor {
    unwritten(beside, tensor.shape, tensor.dtype)
}

/// Returns an uninitialized row-major tensor, on the device of another one.
///
/// By default CUDA and ROCm align the rows of a tensor, so that its elements are not contiguous.
fn unwritten(beside: &CubeTensor, shape: Shape, dtype: DType) -> CubeTensor {
    empty_device_contiguous_dtype(beside.client.clone(), beside.device.clone(), shape, dtype)
}

/// Fails if operands that a kernel reads as elements of one dtype have several.
fn ensure_alike<'a>(x: &CubeTensor, others: impl IntoIterator<Item = Option<&'a CubeTensor>>) {
    for other in others.into_iter().flatten() {
        ensure!(
            other.dtype == x.dtype,
            "expected operands of the same type, found {:?} and {:?}",
            x.dtype,
            other.dtype
        );
    }
}

/// Returns the offset of a row of a row-major tensor, along an axis whose elements are `inner` apart.
#[cube]
fn first(row: usize, size: usize, inner: usize) -> usize {
    (row / inner) * (inner * size) + row % inner
}

/// Returns the dtype of sums: half precision would lose digits with every term.
fn summed(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    }
}
