//! Products of matrices, in the tiles of [`crate::cube::product`].

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{CubeBackend, kernel::untile, tensor::CubeTensor};
use cubecl::prelude::*;

use super::epilogue::{End, Ends, Others, Steps, at, ended, ends_of_one};
use super::{shapes, summed};
use crate::backend::{ByteProduct, Outcome};
use crate::cube::product::{
    BatchAxisLaunch, Geometry, GeometryLaunch, Terms, Zeros,
    tile::{self, Tile, UNITS},
};
use crate::cube::{
    blank,
    launch::{Grid, Strided, launch},
    narrow,
};
use crate::spec::{
    quantize::{Ending, Integers},
    types::TensorType,
};

/// Returns the product of the matrices of the last two axes; the others broadcast.
pub fn product(operands: ByteProduct<CubeBackend>, integers: Integers) -> Outcome<CubeBackend> {
    let Some(y) = shapes(&operands).product(integers.ending) else {
        return Outcome::Declined;
    };
    let ending = integers.ending;
    let y = multiplied(operands, y, ending);
    match ending {
        Ending::Floats => Outcome::Float(y),
        Ending::Sums | Ending::Quantized { .. } => Outcome::Int(y),
    }
}

/// Returns the stride along an axis counted from the end, 0 if it is absent or has one element.
fn step(tensor: &CubeTensor, from_end: usize) -> usize {
    match tensor.shape().num_dims().checked_sub(from_end) {
        Some(axis) if tensor.shape()[axis] != 1 => tensor.meta.strides()[axis],
        _ => 0,
    }
}

fn multiplied(operands: ByteProduct<CubeBackend>, y: TensorType, ending: Ending) -> CubeTensor {
    let (a, b, others) = Others::of(operands, ending);
    let (a, b) = (untile(a), untile(b));
    let y = blank(&a, y);
    let rank = y.shape().num_dims();
    let [rows, columns] = [y.shape()[rank - 2], y.shape()[rank - 1]];
    let terms = b.shape()[b.shape().num_dims() - 2];
    let batch: usize = y.shape().iter().take(rank - 2).product();
    let mut axes = SequenceArg::new();
    for axis in 0..rank - 2 {
        axes.push(BatchAxisLaunch::new(
            narrow(y.shape()[axis]),
            narrow(step(&a, rank - axis)),
            narrow(step(&b, rank - axis)),
        ));
    }
    let geometry = GeometryLaunch::new(
        narrow(rows),
        narrow(columns),
        narrow(terms),
        axes,
        narrow(step(&a, 2)),
        narrow(step(&a, 1)),
        narrow(step(&b, 2)),
        narrow(step(&b, 1)),
        0.0,
        0.0,
    );
    let tile = Tile::of(rows, columns, terms);
    let [of_rows, of_columns] = tile.of_cube();
    let cubes = batch * rows.div_ceil(of_rows) * columns.div_ceil(of_columns);
    let dtypes = [a.dtype, b.dtype, summed(terms), y.dtype].map(dtype_to_storage_type);
    let steps = |numbers: &CubeTensor| [step(numbers, 2), step(numbers, 1)];
    let (zeros, end, are_of_columns) = (others.zeros(), others.end(), others.are_of_columns(steps));
    let args = others.into_args(steps);
    let [row_zeros, column_zeros, result_zero] = args.zeros;
    let [row_steps, column_steps] = args.steps;
    launch!(Grid::cubes(cubes, UNITS).shared(tile.shared()) => product_kernel(
        Strided(a), Strided(b), row_zeros, column_zeros, result_zero, args.ends, &y;
        row_steps, column_steps, geometry, cubes, tile, zeros, are_of_columns, end, dtypes,
    ));
    y
}

/// The bounds are those of [`tile::product_kernel`]. Zero points and ends are read by their steps, 0 for one
/// that serves all rows or columns.
#[cube(launch_unchecked, address_type = "dynamic")]
fn product_kernel<A: Int, B: Int, S: Numeric, Y: Numeric>(
    a: &Tensor<A>,
    b: &Tensor<B>,
    row_zeros: ComptimeOption<&[A]>,
    column_zeros: ComptimeOption<&[B]>,
    result_zero: ComptimeOption<&[Y]>,
    ends: Ends,
    y: &mut Tensor<Y>,
    row_steps: Steps,
    column_steps: Steps,
    geometry: Geometry,
    cubes: usize,
    #[comptime] tile: Tile,
    #[comptime] zeros: Zeros,
    #[comptime] are_of_columns: bool,
    #[comptime] end: End,
    #[define(A, B, S, Y)] _dtypes: [ElemType; 4],
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let rows = geometry.rows as usize;
    let columns = geometry.columns as usize;
    let spot = tile::spot(&geometry, tile);
    let mut of_rows = Array::<S>::new(tile.rows);
    let mut of_columns = Array::<S>::new(tile.columns);
    #[comptime]
    match row_zeros {
        ComptimeOption::Some(zeros) =>
        {
            #[unroll]
            for down in 0..tile.rows {
                let row = min(spot.row + down, rows - 1);
                of_rows[down] = S::cast_from(zeros[at(&row_steps, row, 0usize)]);
            }
        }
        ComptimeOption::None => {}
    }
    #[comptime]
    match column_zeros {
        ComptimeOption::Some(zeros) =>
        {
            #[unroll]
            for across in 0..tile.columns {
                let column = min(spot.column + across * tile.across, columns - 1);
                of_columns[across] = S::cast_from(zeros[at(&column_steps, 0usize, column)]);
            }
        }
        ComptimeOption::None => {}
    }
    let sums =
        tile::products::<A, B, S>(a, b, &of_rows, &of_columns, &spot, &geometry, tile, zeros, Terms::All);
    if spot.slice == 0 {
        #[unroll]
        for across in 0..tile.columns {
            let column = spot.column + across * tile.across;
            if column < columns {
                let own = ends_of_one::<Y>(&ends, result_zero, 0usize, column);
                #[unroll]
                for down in 0..tile.rows {
                    let row = spot.row + down;
                    if row < rows {
                        let to = (spot.batch * rows + row) * columns + column;
                        let sum = sums[down * tile.columns + across];
                        if comptime!(are_of_columns) {
                            y[to] = ended::<S, Y>(sum, &own, end);
                        } else {
                            let own = ends_of_one::<Y>(&ends, result_zero, row, column);
                            y[to] = ended::<S, Y>(sum, &own, end);
                        }
                    }
                }
            }
        }
    }
}
