//! Products of matrices with what follows them, in one launch.
//!
//! A unit sums a tile of rows and columns; where there are few rows, units share the terms of a sum. Large products on
//! devices whose planes are wide, or which multiply tiles of matrices, are Burn's, behind which the rest is a
//! launch of its own.

pub mod tile;

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type, ops::FloatTensorOps};
use burn::tensor::DType;
use burn_cubecl::{
    CubeBackend,
    kernel::{
        into_contiguous,
        matmul::{MatmulStrategy, matmul as burn_matmul},
        untile,
    },
    tensor::CubeTensor,
};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use self::tile::{Tile, UNITS};
use super::{
    address, ensure_alike,
    finish::{Function, finish},
    narrow, reshape, summed, type_of, unwritten,
};
use crate::spec::{
    epilogue::{Activation, Epilogue},
    product as spec,
};

/// So many products are left to Burn on wide planes: fewer end before its tiles are worth it.
const LARGE: usize = 1 << 24;

/// Sizes of a product, of which there are some.
#[derive(CubeLaunch, CubeType)]
pub struct Geometry {
    pub rows: u32,
    pub columns: u32,
    pub terms: u32,
    pub axes: Sequence<BatchAxis>,
    /// How far rows and terms of the left operand, and terms and columns of the right one are from each other.
    pub next_row: u32,
    pub next_left: u32,
    pub next_right: u32,
    pub next_column: u32,
    pub alpha: f32,
    pub beta: f32,
}

/// An axis along which there are several products.
#[derive(CubeLaunch, CubeType)]
pub struct BatchAxis {
    pub size: u32,
    pub next_left: u32,
    pub next_right: u32,
}

/// Products of the matrices of the last two axes; those before broadcast.
pub fn matmul(a: CubeTensor, b: CubeTensor) -> CubeTensor {
    product(a, b, None, None, Activation::Identity)
}

/// `activation(x * weight + bias + sum)` over the last axis.
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

/// Products of `[batch, heads, ..]` with equally many heads each for those of the right side, in a dtype. Either
/// side and they may be of half or single precision.
pub fn grouped_product(a: CubeTensor, b: CubeTensor, dtype: DType) -> CubeTensor {
    let (left, right) = (a.shape(), b.shape());
    if left[1] == right[1] {
        return product_in(a, b, None, None, Activation::Identity, dtype);
    }
    let groups = left[1] / right[1];
    let a = reshape(a, [left[0], right[1], groups, left[2], left[3]].into());
    let b = reshape(b, [right[0], right[1], 1, right[2], right[3]].into());
    let y = product_in(a, b, None, None, Activation::Identity, dtype);
    reshape(y, [left[0], left[1], left[2], right[3]].into())
}

/// `activation(a * b + bias + sum)` over the last two axes; those before broadcast. None is empty.
pub fn product(
    a: CubeTensor,
    b: CubeTensor,
    bias: Option<CubeTensor>,
    sum: Option<CubeTensor>,
    activation: Activation,
) -> CubeTensor {
    ensure_alike(&a, [Some(&b), bias.as_ref(), sum.as_ref()]);
    let dtype = a.dtype;
    product_in(a, b, bias, sum, activation, dtype)
}

/// [`product`] in the dtype of bias and sum.
fn product_in(
    a: CubeTensor,
    b: CubeTensor,
    bias: Option<CubeTensor>,
    sum: Option<CubeTensor>,
    activation: Activation,
    dtype: DType,
) -> CubeTensor {
    let shape = spec::result(&type_of(&a), &type_of(&b)).shape;
    let rank = shape.num_dims();
    let [rows, columns, terms] = [shape[rank - 2], shape[rank - 1], a.shape()[rank - 1]];
    let batch: usize = shape.iter().take(rank - 2).product();
    let client = a.client.clone();
    let properties = client.properties();
    let is_large = rows >= 64 && batch * rows * columns * terms >= LARGE;
    if !properties.features.matmul.cmma.is_empty()
        || is_large && properties.hardware.plane_size_max > 8
    {
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
        axes.push(BatchAxisLaunch::new(
            narrow(y.shape()[axis]),
            next(&a),
            next(&b),
        ));
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
    let units = CubeDim::new_1d(UNITS as u32);
    let [bias, sum] = [bias, sum]
        .map(|operand| operand.map(|operand| into_contiguous(operand).into_buffer_arg()));
    let dtypes = [a.dtype, b.dtype, dtype].map(dtype_to_storage_type);
    let address = address([&a, &b, &y]);
    // Safety: a cube beyond the last one ends; rows, columns and terms outside are read as the last ones.
    unsafe {
        tile::product_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, cubes * UNITS, units),
            units,
            address,
            a.into_tensor_arg(),
            b.into_tensor_arg(),
            bias.into(),
            sum.into(),
            y.clone().into_tensor_arg(),
            geometry,
            cubes,
            tile,
            function,
            dtypes,
        );
    }
    y
}

/// The product of one type, which is the wider one of several.
fn by_burn(a: CubeTensor, b: CubeTensor, dtype: DType) -> CubeTensor {
    let own = if a.dtype == b.dtype && a.dtype == dtype {
        dtype
    } else {
        summed(dtype)
    };
    let cast = |x: CubeTensor, dtype: DType| match x.dtype == dtype {
        true => x,
        false => CubeBackend::float_cast(x, dtype.into()),
    };
    let (a, b) = (cast(a, own), cast(b, own));
    let y = burn_matmul(a, b, None, MatmulStrategy::default(), own);
    cast(y.expect("Burn multiplies whatever fits"), dtype)
}
