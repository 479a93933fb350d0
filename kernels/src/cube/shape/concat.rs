//! Concatenation along an axis, in one launch.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{CubeBackend, ops::permute, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    blank, ensure_alike,
    launch::{Grid, Strided, launch},
    narrow, type_of,
};
use crate::{
    backend::{Given, Outcome, Parts},
    spec::{join, types::TensorType},
};

/// Concatenates tensors of one dtype, none empty, whose other sizes are equal. The result has the axis order
/// of the first one.
pub fn concat(parts: Parts<CubeBackend>, axis: usize) -> Outcome<CubeBackend> {
    type Wrap = fn(CubeTensor) -> Outcome<CubeBackend>;
    let wrap: Wrap = match parts.first {
        Given::Missing => return Outcome::Declined,
        Given::Float(_) => Outcome::Float,
        Given::Int(_) => Outcome::Int,
        Given::Bool(_) => Outcome::Bool,
    };
    let tensor = |part: Given<CubeBackend>| match part {
        Given::Missing => None,
        Given::Float(x) | Given::Int(x) | Given::Bool(x) => Some(x),
    };
    let parts = parts.all().into_iter().filter_map(tensor).collect();
    wrap(joined_tensors(parts, axis))
}

fn joined_tensors(parts: Vec<CubeTensor>, axis: usize) -> CubeTensor {
    ensure_alike(&parts[0], parts[1..].iter().map(Some));
    let order = order(&parts[0]);
    let parts: Vec<CubeTensor> = parts.into_iter().map(|part| permute(part, &order)).collect();
    let place = order.iter().position(|&from| from == axis).unwrap_or(axis);
    let types: Vec<TensorType> = parts.iter().map(type_of).collect();
    let y = blank(&parts[0], join::result(&types, place));
    let shape = y.shape();

    let inner: usize = shape.iter().skip(place + 1).product();
    let lengths: Vec<usize> = types.iter().map(|part| part.shape[place] * inner).collect();
    let views: Vec<bool> = parts.iter().map(|part| !is_dense(part)).collect();
    let fits = |together: &usize| lengths.iter().all(|length| length.is_multiple_of(*together));
    let together = if views.contains(&true) { 1 } else { [4, 2].into_iter().find(fits).unwrap_or(1) };
    let mut axes = SequenceArg::new();
    for part in &parts {
        for axis in (0..order.len()).rev() {
            axes.push(AxisLaunch::new(narrow(part.shape()[axis]), narrow(part.meta.strides()[axis])));
        }
    }
    let views = Views { rank: order.len(), which: std::array::from_fn(|at| views.get(at) == Some(&true)) };
    let mut ends = SequenceArg::new();
    let mut end = 0;
    for length in &lengths {
        end += length / together;
        ends.push(narrow(end));
    }
    let count = shape.num_elements() / together;
    let dtype = dtype_to_storage_type(y.dtype);
    let mut parts = parts.into_iter().map(Strided);
    let mut next = || parts.next();
    launch!(Grid::units(count) => concat_kernel[together](
        next(), next(), next(), next(), next(), next(), &y;
        ends, axes, count, views, dtype,
    ));
    let mut back = vec![0; order.len()];
    for (to, &from) in order.iter().enumerate() {
        back[from] = to;
    }
    permute(y, &back)
}

/// Returns the axes from the outermost to the innermost.
fn order(x: &CubeTensor) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..x.shape().num_dims()).collect();
    // An axis of one element keeps its position.
    if axes.iter().all(|&axis| x.shape()[axis] == 1 || x.meta.strides()[axis] > 0) {
        let mut long: Vec<usize> = axes.iter().copied().filter(|&axis| x.shape()[axis] > 1).collect();
        long.sort_by_key(|&axis| std::cmp::Reverse(x.meta.strides()[axis]));
        let mut long = long.into_iter();
        for axis in &mut axes {
            if x.shape()[*axis] > 1 {
                *axis = long.next().unwrap_or(*axis);
            }
        }
    }
    axes
}

/// Returns `true` if the elements are in row-major order. Axes of one element may have any stride.
fn is_dense(x: &CubeTensor) -> bool {
    let mut stride = 1;
    (0..x.shape().num_dims()).rev().all(|axis| {
        let size = x.shape()[axis];
        let fits = size == 1 || x.meta.strides()[axis] == stride;
        stride *= size;
        fits
    })
}

/// An axis of a part.
#[derive(CubeLaunch, CubeType)]
struct Axis {
    size: u32,
    stride: u32,
}

/// Parts that are views: their elements are found by their axes, from the innermost on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Views {
    rank: usize,
    which: [bool; 6],
}

/// A unit copies an element.
///
/// Units beyond `count`, the elements of `y` in vectors, end. The elements of a row of `y` belong to the
/// parts in turn: the one before `ends` of a part is its last. A part that is not dense is read by its sizes
/// and strides.
#[cube(launch_unchecked, address_type = "dynamic")]
fn concat_kernel<T: Numeric, N: Size>(
    first: ComptimeOption<&[Vector<T, N>]>,
    second: ComptimeOption<&[Vector<T, N>]>,
    third: ComptimeOption<&[Vector<T, N>]>,
    fourth: ComptimeOption<&[Vector<T, N>]>,
    fifth: ComptimeOption<&[Vector<T, N>]>,
    sixth: ComptimeOption<&[Vector<T, N>]>,
    y: &mut Tensor<Vector<T, N>>,
    ends: Sequence<u32>,
    axes: Sequence<Axis>,
    count: usize,
    #[comptime] views: Views,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let parts = comptime!(ends.len());
    let row = *ends.index(comptime!(parts - 1)) as usize;
    let (outer, place) = (ABSOLUTE_POS / row, (ABSOLUTE_POS % row) as u32);
    #[comptime]
    match first {
        ComptimeOption::Some(part) => copy(part, y, outer, place, &ends, &axes, 0usize, views),
        ComptimeOption::None => {}
    }
    #[comptime]
    match second {
        ComptimeOption::Some(part) => copy(part, y, outer, place, &ends, &axes, 1usize, views),
        ComptimeOption::None => {}
    }
    #[comptime]
    match third {
        ComptimeOption::Some(part) => copy(part, y, outer, place, &ends, &axes, 2usize, views),
        ComptimeOption::None => {}
    }
    #[comptime]
    match fourth {
        ComptimeOption::Some(part) => copy(part, y, outer, place, &ends, &axes, 3usize, views),
        ComptimeOption::None => {}
    }
    #[comptime]
    match fifth {
        ComptimeOption::Some(part) => copy(part, y, outer, place, &ends, &axes, 4usize, views),
        ComptimeOption::None => {}
    }
    #[comptime]
    match sixth {
        ComptimeOption::Some(part) => copy(part, y, outer, place, &ends, &axes, 5usize, views),
        ComptimeOption::None => {}
    }
}

/// Writes the element of a part, if the index in the row belongs to it.
#[cube]
fn copy<T: Numeric, N: Size>(
    part: &[Vector<T, N>],
    y: &mut Tensor<Vector<T, N>>,
    outer: usize,
    place: u32,
    ends: &Sequence<u32>,
    axes: &Sequence<Axis>,
    #[comptime] at: usize,
    #[comptime] views: Views,
) {
    let end = *ends.index(at);
    let mut begin = 0u32;
    if comptime!(at > 0) {
        begin = *ends.index(comptime!(at - 1));
    }
    if place >= begin && place < end {
        let mut from = outer * (end - begin) as usize + (place - begin) as usize;
        if comptime!(views.which[at]) {
            let mut rest = from;
            from = 0usize;
            #[unroll]
            for axis in 0..views.rank {
                let axis = axes.index(comptime!(at * views.rank + axis));
                from += rest % axis.size as usize * axis.stride as usize;
                rest /= axis.size as usize;
            }
        }
        y[ABSOLUTE_POS] = part[from];
    }
}
