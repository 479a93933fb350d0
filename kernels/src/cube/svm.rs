//! Support vector machines: a unit compares a row with a vector, then products are summed over the vectors of classes.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    blank,
    finish::tanh,
    launch::{Grid, launch},
    tensor, type_of, unwritten,
};
use crate::backend::Machine;
use crate::spec::svm::{Comparison, Kernel};

/// Number of units of a cube that share a sum over many vectors.
const UNITS: usize = 64;
/// Number of products in memory at a time; few in tests, which have few rows.
const PRODUCTS: usize = if cfg!(test) { 1 << 10 } else { 1 << 24 };
/// Largest power that is computed by products.
const WHOLE: f32 = 16.0;

/// Computation of a power. Shaders have none of negative numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Power {
    Whole(u32),
    Even,
    Odd,
    Fraction,
}

impl Power {
    fn of(degree: f32) -> Self {
        match degree {
            _ if degree.fract() != 0.0 => Power::Fraction,
            0.0..=WHOLE => Power::Whole(degree as u32),
            _ if degree % 2.0 == 0.0 => Power::Even,
            _ => Power::Odd,
        }
    }
}

/// Returns the products or sums of at least one row.
pub fn sums(machine: Machine<CubeBackend>, comparison: Comparison) -> CubeTensor {
    let rows = tensor(&machine.rows);
    let y = comparison.result(&type_of(rows), &type_of(&machine.vectors));
    let rows = into_contiguous(rows.clone());
    let (count, vectors) = (rows.shape()[0], machine.vectors.shape()[1]);
    let y = blank(&rows, y);
    if comparison.sums.is_none() {
        products(&rows, &machine, &y, [0, count], comparison);
        return y;
    }
    let block = (PRODUCTS / vectors).clamp(1, count);
    for first in (0..count).step_by(block) {
        let length = block.min(count - first);
        let x = unwritten(&rows, [length, vectors].into(), DType::F32);
        products(&rows, &machine, &x, [first, length], comparison);
        add(x, &machine, &y, [first, length], comparison.classes);
    }
    y
}

/// Writes the products of `length` rows from `first` on and all vectors.
fn products(
    rows: &CubeTensor,
    machine: &Machine<CubeBackend>,
    y: &CubeTensor,
    [first, length]: [usize; 2],
    comparison: Comparison,
) {
    let vectors = machine.vectors.shape()[1];
    let count = length * vectors;
    launch!(Grid::units(count) => products_kernel(
        rows, &machine.vectors, y;
        count, first, vectors, rows.shape()[1], comparison.gamma, comparison.coef0,
        comparison.degree, comparison.kernel, Power::of(comparison.degree),
        dtype_to_storage_type(rows.dtype),
    ));
}

/// Writes the sums of `length` rows from `first` on.
fn add(
    products: CubeTensor,
    machine: &Machine<CubeBackend>,
    y: &CubeTensor,
    [first, length]: [usize; 2],
    classes: usize,
) {
    let (vectors, width) = (products.shape()[1], y.shape()[1]);
    let count = length * width;
    let share = if vectors / classes > UNITS { UNITS } else { 1 };
    let grid = match share {
        1 => Grid::units(count),
        _ => Grid::cubes(count, UNITS).shared(UNITS * size_of::<f32>()),
    };
    launch!(grid => sums_kernel(
        products, &machine.coefficients, &machine.starts, y;
        count, first, width, vectors, classes, share,
    ));
}

/// A unit compares a row with a vector.
///
/// Units beyond `count`, the number of `products`, end. `rows` has `features` elements for each row from
/// `first` on, and `vectors` `length` for each feature.
#[cube(launch_unchecked, address_type = "dynamic")]
fn products_kernel<X: Numeric>(
    rows: &Tensor<X>,
    vectors: &Tensor<f32>,
    products: &mut Tensor<f32>,
    count: usize,
    first: usize,
    length: usize,
    features: usize,
    gamma: f32,
    coef0: f32,
    degree: f32,
    #[comptime] kernel: Kernel,
    #[comptime] power: Power,
    #[define(X)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let (row, vector) = (ABSOLUTE_POS / length, ABSOLUTE_POS % length);
    let begin = (first + row) * features;
    let mut sum = 0f32;
    for feature in 0..features {
        let x = f32::cast_from(rows[begin + feature]);
        let v = vectors[feature * length + vector];
        if comptime!(kernel == Kernel::Rbf) {
            sum += (x - v) * (x - v);
        } else {
            sum += x * v;
        }
    }
    if comptime!(kernel == Kernel::Rbf) {
        sum = (-gamma * sum).exp();
    } else if comptime!(kernel == Kernel::Sigmoid) {
        sum = tanh::<f32>(gamma * sum + coef0);
    } else if comptime!(kernel == Kernel::Poly) {
        sum = raised(gamma * sum + coef0, degree, power);
    }
    products[ABSOLUTE_POS] = sum;
}

#[cube]
fn raised(x: f32, degree: f32, #[comptime] power: Power) -> f32 {
    let mut y = 1f32;
    match comptime!(power) {
        Power::Whole(times) =>
        {
            #[unroll]
            for _ in 0..times {
                y *= x;
            }
        }
        Power::Even => {
            y = x.abs().powf(degree);
        }
        Power::Odd => {
            y = x.abs().powf(degree);
            if x < 0f32 {
                y = -y;
            }
        }
        Power::Fraction => {
            y = x.abs().powf(degree);
            if x < 0f32 {
                y = f32::reinterpret(0x7fc0_0000u32);
            }
        }
    }
    y
}

/// A unit or a cube sums the products of a row with the vectors of a class.
///
/// Units or cubes beyond `count` end. `products` has `vectors` elements for each row and `coefficients` for
/// each sum of a class; `sums` has `width` for each row from `first` on. `starts` has an element more than
/// there are classes; they ascend to `vectors`, as the door of the operator checks.
#[cube(launch_unchecked, address_type = "dynamic")]
fn sums_kernel(
    products: &Tensor<f32>,
    coefficients: &Tensor<f32>,
    starts: &Tensor<u32>,
    sums: &mut Tensor<f32>,
    count: usize,
    first: usize,
    width: usize,
    vectors: usize,
    classes: usize,
    #[comptime] share: usize,
) {
    // The units of a cube share a sum, or each has one.
    let mut place = ABSOLUTE_POS;
    let mut part = 0usize;
    if comptime!(share > 1) {
        place = CUBE_POS;
        part = UNIT_POS as usize;
    }
    if place >= count {
        terminate!();
    }
    let (row, at) = (place / width, place % width);
    let (sum, class) = (at / classes, at % classes);
    let mut total = 0f32;
    let end = starts[class + 1] as usize;
    let mut vector = starts[class] as usize + part;
    while vector < end {
        total += products[row * vectors + vector] * coefficients[sum * vectors + vector];
        vector += share;
    }
    if comptime!(share > 1) {
        let mut totals = Shared::<[f32]>::new_slice(UNITS);
        totals[part] = total;
        sync_cube();
        let mut active = comptime!(UNITS / 2).runtime();
        while active > 0 {
            if part < active {
                let other = totals[part + active];
                totals[part] += other;
            }
            sync_cube();
            active /= 2;
        }
        total = totals[0];
    }
    if part == 0 {
        sums[(first + row) * width + at] = total;
    }
}
