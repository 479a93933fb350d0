//! Matrix products with their epilogue, in one launch.
//!
//! A unit sums a tile of rows and columns; if there are few rows, units share the terms of a sum. Devices with tensor
//! cores, and large products on devices with wide planes, use Burn's product, and the epilogue is a launch of its own.

pub mod tile;

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type, ops::FloatTensorOps};
use burn::tensor::{DType, Shape};
use burn_cubecl::{
    CubeBackend,
    kernel::{
        into_contiguous,
        matmul::{MatmulStrategy, matmul as burn_matmul},
        untile,
    },
    tensor::CubeTensor,
};
use cubecl::prelude::*;

use self::tile::{Tile, UNITS};
use super::{
    ensure_alike,
    epilogue::{Function, finish},
    launch::{Grid, Strided, launch},
    narrow, reshape, summed, type_of, unwritten,
};
use crate::spec::{
    epilogue::{Activation, Epilogue},
    product as spec,
};

/// Number of multiplications from which on Burn's tiles are faster on wide planes.
const LARGE: usize = 1 << 24;

/// Sizes and strides of one or several products.
#[derive(CubeLaunch, CubeType)]
pub struct Geometry {
    pub rows: u32,
    pub columns: u32,
    pub terms: u32,
    pub axes: Sequence<BatchAxis>,
    /// Strides of rows and terms of the left operand, and of terms and columns of the right one.
    pub next_row: u32,
    pub next_left: u32,
    pub next_right: u32,
    pub next_column: u32,
    pub alpha: f32,
    pub beta: f32,
}

/// A batch axis.
#[derive(CubeLaunch, CubeType)]
pub struct BatchAxis {
    pub size: u32,
    pub next_left: u32,
    pub next_right: u32,
}

/// Operands that have zero points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Zeros {
    pub left: bool,
    pub right: bool,
}

/// The terms of a product's sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Terms {
    #[default]
    All,
    /// Those whose left factor is not negative.
    NotNegative,
}

/// Returns products of the matrices of the last two axes; the others broadcast.
pub fn matmul(a: CubeTensor, b: CubeTensor) -> CubeTensor {
    product(a, b, None, None, Activation::Identity)
}

/// Returns `activation(x * weight + bias + sum)` over the last axis.
pub fn linear(
    x: CubeTensor,
    weight: CubeTensor,
    bias: Option<CubeTensor>,
    sum: Option<CubeTensor>,
    epilogue: Epilogue,
) -> CubeTensor {
    let shape = spec::linear_result(&type_of(&x), &type_of(&weight)).shape;
    let terms = weight.shape()[0];
    let rows = x.shape().num_elements() / terms;
    let x = reshape(x, [rows, terms].into());
    let sum = sum.map(|sum| reshape(sum, [rows, weight.shape()[1]].into()));
    reshape(product(x, weight, bias, sum, epilogue.activation), shape)
}

/// Returns products of `[batch, heads, ..]` in a dtype. Each head of the right side serves the same number of
/// heads of the left side. Each operand and the result may be of half or single precision.
pub fn grouped_product(a: CubeTensor, b: CubeTensor, dtype: DType, terms: Terms) -> CubeTensor {
    let (left, right) = (a.shape(), b.shape());
    if left[1] == right[1] {
        return product_in(a, b, [None, None], Activation::Identity, dtype, terms);
    }
    let groups = left[1] / right[1];
    let a = reshape(a, [left[0], right[1], groups, left[2], left[3]].into());
    let b = reshape(b, [right[0], right[1], 1, right[2], right[3]].into());
    let y = product_in(a, b, [None, None], Activation::Identity, dtype, terms);
    reshape(y, [left[0], left[1], left[2], right[3]].into())
}

/// Returns `activation(a * b + bias + sum)` over the last two axes; the others broadcast. No operand is empty.
pub fn product(
    a: CubeTensor,
    b: CubeTensor,
    bias: Option<CubeTensor>,
    sum: Option<CubeTensor>,
    activation: Activation,
) -> CubeTensor {
    ensure_alike(&a, [Some(&b), bias.as_ref(), sum.as_ref()]);
    let dtype = a.dtype;
    product_in(a, b, [bias, sum], activation, dtype, Terms::All)
}

/// Returns `true` if a product of these shapes is computed by Burn, whose sums have all terms.
pub fn is_burns(a: &CubeTensor, shape: &Shape) -> bool {
    let rank = shape.num_dims();
    let sizes = shape.iter().copied().chain([a.shape()[a.shape().num_dims() - 1]]);
    let multiplications = sizes.fold(1, usize::saturating_mul);
    let is_large = shape[rank - 2] >= 64 && multiplications >= LARGE;
    let properties = a.client.properties();
    !properties.features.matmul.cmma.is_empty() || is_large && properties.hardware.plane_size_max > 8
}

/// [`product`] in the dtype of bias and sum.
fn product_in(
    a: CubeTensor,
    b: CubeTensor,
    [bias, sum]: [Option<CubeTensor>; 2],
    activation: Activation,
    dtype: DType,
    which: Terms,
) -> CubeTensor {
    let shape = spec::result(&type_of(&a), &type_of(&b)).shape;
    let rank = shape.num_dims();
    let [rows, columns, terms] = [shape[rank - 2], shape[rank - 1], a.shape()[rank - 1]];
    let batch: usize = shape.iter().take(rank - 2).product();
    if is_burns(&a, &shape) {
        let y = by_burn(a, b, dtype);
        return finish(y, bias, sum, activation);
    }
    let (a, b) = (untile(a), untile(b));
    let y = unwritten(&a, shape, dtype);
    let tile = Tile::of(rows, columns, terms);
    let [next_row, next_left] = [a.meta.strides()[rank - 2], a.meta.strides()[rank - 1]];
    let [next_right, next_column] = [b.meta.strides()[rank - 2], b.meta.strides()[rank - 1]];
    let mut axes = SequenceArg::new();
    for axis in 0..rank - 2 {
        let next = |tensor: &CubeTensor| match tensor.shape()[axis] {
            1 => 0,
            _ => narrow(tensor.meta.strides()[axis]),
        };
        axes.push(BatchAxisLaunch::new(narrow(y.shape()[axis]), next(&a), next(&b)));
    }
    let (function, [alpha, beta]) = Function::of(activation);
    let geometry = GeometryLaunch::new(
        narrow(rows),
        narrow(columns),
        narrow(terms),
        axes,
        narrow(next_row),
        narrow(next_left),
        narrow(next_right),
        narrow(next_column),
        alpha,
        beta,
    );
    let [of_rows, of_columns] = tile.of_cube();
    let cubes = batch * rows.div_ceil(of_rows) * columns.div_ceil(of_columns);
    let [bias, sum] = [bias, sum].map(|operand| operand.map(into_contiguous));
    let dtypes = [a.dtype, b.dtype, dtype].map(dtype_to_storage_type);
    launch!(Grid::cubes(cubes, UNITS).shared(tile.shared()) => tile::product_kernel(
        Strided(a), Strided(b), bias, sum, &y;
        geometry, cubes, tile, function, which, dtypes,
    ));
    y
}

/// Returns the product in one dtype, the wider one of several.
fn by_burn(a: CubeTensor, b: CubeTensor, dtype: DType) -> CubeTensor {
    let own = if a.dtype == b.dtype && a.dtype == dtype { dtype } else { summed(dtype) };
    let cast = |x: CubeTensor, dtype: DType| match x.dtype == dtype {
        true => x,
        false => CubeBackend::float_cast(x, dtype.into()),
    };
    let (a, b) = (cast(a, own), cast(b, own));
    let y = burn_matmul(a, b, None, MatmulStrategy::default(), own);
    cast(y.expect("Burn multiplies whatever fits"), dtype)
}
