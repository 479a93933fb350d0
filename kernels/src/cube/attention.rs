//! Attention in three launches: scores, probabilities, and products with the values.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type, ops::FloatTensorOps};
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    epilogue::tanh,
    launch::{Grid, Strided, launch},
    narrow,
    product::{Terms, grouped_product, is_burns},
    summed,
    units::{UNITS, greatest, total},
};
use crate::spec::scores::{Scores, Undefined};

/// Strides of a mask or a bias along the axes of the scores, in elements; 0 along an axis of one element.
#[derive(CubeLaunch, CubeType)]
struct Strides {
    batch: u32,
    head: u32,
    query: u32,
    key: u32,
}

/// Sizes, strides and factors of the scores.
#[derive(CubeLaunch, CubeType)]
struct Geometry {
    heads: u32,
    queries: u32,
    keys: u32,
    mask: Strides,
    bias: Strides,
    scale: f32,
    softcap: f32,
    hidden: f32,
}

/// Compile-time options of the shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shader {
    is_capped: bool,
    bias_last: bool,
    undefined: Undefined,
    /// Hidden keys have a probability of -1 instead of 0, so that the sum of values leaves them out.
    marks_hidden: bool,
}

/// Returns the attention of each query.
///
/// Hidden keys and values may be anything, except on devices where Burn computes the sum of values, which multiplies hidden
/// values by 0.
pub fn attention(
    query: CubeTensor,
    key: CubeTensor,
    value: CubeTensor,
    mask: Option<CubeTensor>,
    bias: Option<CubeTensor>,
    scores: Scores,
) -> CubeTensor {
    let dtype = query.dtype;
    let key = CubeBackend::float_swap_dims(key, 2, 3);
    let products = grouped_product(query, key, summed(dtype), Terms::All);
    let mut sums = products.shape();
    sums[3] = value.shape()[3];
    let may_hide = scores.removes_hidden() && (mask.is_some() || bias.is_some());
    let which = match may_hide && !is_burns(&products, &sums) {
        true => Terms::NotNegative,
        false => Terms::All,
    };
    let probabilities = probabilities(products, mask, bias, scores, which);
    grouped_product(probabilities, value, dtype, which)
}

/// Returns the probabilities of scaled products, in the memory of these.
fn probabilities(
    products: CubeTensor,
    mask: Option<CubeTensor>,
    bias: Option<CubeTensor>,
    scores: Scores,
    summed_up: Terms,
) -> CubeTensor {
    let products = into_contiguous(products);
    let bias = bias.map(|bias| CubeBackend::float_cast(bias, products.dtype.into()));
    let shape = products.shape();
    let rows = shape[0] * shape[1] * shape[2];
    let geometry = GeometryLaunch::new(
        narrow(shape[1]),
        narrow(shape[2]),
        narrow(shape[3]),
        strides(mask.as_ref()),
        strides(bias.as_ref()),
        scores.scale as f32,
        scores.softcap as f32,
        scores.hidden as f32,
    );
    let shader = Shader {
        is_capped: scores.softcap > 0.0,
        bias_last: scores.bias_last,
        undefined: scores.undefined,
        marks_hidden: summed_up == Terms::NotNegative,
    };
    let of_mask = mask.as_ref().map_or(DType::U32, |mask| mask.dtype);
    let dtypes = [products.dtype, summed(products.dtype), of_mask].map(dtype_to_storage_type);
    let [mask, bias] = [mask, bias].map(|operand| operand.map(Strided));
    let shared = UNITS * summed(products.dtype).size();
    launch!(Grid::cubes(rows, UNITS).shared(shared) => probabilities_kernel(
        &products, mask, bias;
        rows, geometry, shader, dtypes,
    ));
    products
}

/// Returns the strides of an operand that broadcasts to the scores.
fn strides(operand: Option<&CubeTensor>) -> StridesLaunch {
    let of_axis = |axis: usize| {
        let operand = operand.filter(|operand| operand.shape()[axis] > 1);
        operand.map_or(0, |operand| narrow(operand.meta.strides()[axis]))
    };
    StridesLaunch::new(of_axis(0), of_axis(1), of_axis(2), of_axis(3))
}

/// A cube turns a row of `x` into probabilities.
///
/// Cubes beyond `rows` end, and elements of row `CUBE_POS` are `geometry.keys` of the `rows * geometry.keys`
/// elements of `x`. Mask and bias have the size of the scores along each axis, or 1 and a stride of 0.
#[cube(launch_unchecked, address_type = "dynamic")]
fn probabilities_kernel<T: Float, S: Float, M: Numeric>(
    x: &mut Tensor<T>,
    mask: ComptimeOption<&[M]>,
    bias: ComptimeOption<&[T]>,
    rows: usize,
    geometry: Geometry,
    #[comptime] shader: Shader,
    #[define(T, S, M)] _dtypes: [ElemType; 3],
) {
    if CUBE_POS >= rows {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let keys = geometry.keys as usize;
    let first = CUBE_POS * keys;
    let query = CUBE_POS % geometry.queries as usize;
    let head = CUBE_POS / geometry.queries as usize % geometry.heads as usize;
    let batch = CUBE_POS / geometry.queries as usize / geometry.heads as usize;
    let of_mask = begin(&geometry.mask, batch, head, query);
    let of_bias = begin(&geometry.bias, batch, head, query);

    let mut shared = Shared::<[S]>::new_slice(UNITS);
    let mut most = S::min_value();
    let mut visible = S::from_int(0);
    for key in range_stepped(unit, keys, UNITS) {
        let mut score = S::cast_from(x[first + key]) * S::cast_from(geometry.scale);
        if comptime!(shader.is_capped) {
            let cap = S::cast_from(geometry.softcap);
            score = tanh::<S>(score / cap) * cap;
        }
        let mut added = S::from_int(0);
        let mut is_hidden = false;
        #[comptime]
        match bias {
            ComptimeOption::Some(bias) => {
                added = S::cast_from(bias[of_bias + key * geometry.bias.key as usize]);
                is_hidden = added < S::min_value();
            }
            ComptimeOption::None => {}
        }
        if comptime!(!shader.bias_last) {
            score += added;
        }
        #[comptime]
        match mask {
            ComptimeOption::Some(mask) => {
                let at = of_mask + key * geometry.mask.key as usize;
                let is_masked = mask[at] != M::from_int(0);
                score = select(is_masked, S::cast_from(geometry.hidden), score);
                is_hidden = is_hidden || is_masked;
            }
            ComptimeOption::None => {}
        }
        if comptime!(shader.bias_last) {
            score += added;
        }
        visible += select(is_hidden, S::from_int(0), S::from_int(1));
        most = select(score > most, score, most);
        x[first + key] = T::cast_from(score);
    }
    let most = greatest(most, &mut shared);
    let mut sees = true;
    if comptime!(shader.undefined == Undefined::ZeroIfHidden) {
        sees = total(visible, &mut shared) > S::from_int(0);
    }
    let mut sum = S::from_int(0);
    for key in range_stepped(unit, keys, UNITS) {
        sum += S::exp(S::cast_from(x[first + key]) - most);
    }
    let sum = total(sum, &mut shared);
    if comptime!(shader.undefined == Undefined::Zero) {
        sees = sum > S::from_int(0);
    }
    for key in range_stepped(unit, keys, UNITS) {
        let score = S::cast_from(x[first + key]);
        let mut probability = select(sees, S::exp(score - most) / sum, S::from_int(0));
        if comptime!(shader.marks_hidden) {
            let is_hidden = score < S::min_value() && probability == S::from_int(0);
            probability = select(is_hidden, S::from_int(-1), probability);
        }
        x[first + key] = T::cast_from(probability);
    }
}

/// Returns the offset of the elements of a query.
#[cube]
fn begin(strides: &Strides, batch: usize, head: usize, query: usize) -> usize {
    batch * strides.batch as usize + head * strides.head as usize + query * strides.query as usize
}
