//! The operations of [`Kernels`](super::Kernels) by the primitives of any backend.

mod attention;
mod finish;
mod quantize;

use alloc::{vec, vec::Vec};
use burn::backend::{
    Backend, TensorMetadata, get_or_init_device_settings,
    tensor::{FloatTensor, IntTensor},
};
use burn::tensor::{
    DType, Shape,
    ops::{ConvOptions, ConvTransposeOptions},
};

use super::{ByteProduct, CodedProduct, Machine, Optional, Parts, Recurrence, Walk};
use crate::{
    ensure,
    fault::Axis,
    spec::boxes::{BoxForm, Limits},
    spec::dft::Dft,
    spec::normalize::Lrn,
    spec::pool::Slide,
    spec::ranking::Top,
    spec::recurrent::{Cell, Sizes},
    spec::regions::RoiAlign,
    spec::scan::Scan,
    spec::{bits::Blocks, quantize::Integers, small::Small},
    spec::{
        epilogue::{Activation, Epilogue},
        packed::Packed,
    },
    spec::{svm::Comparison, trees::Election},
};
pub use attention::attention;
#[cfg(feature = "flex")]
pub use attention::attention_in_steps;
pub use finish::finish;
pub use quantize::*;

pub fn exp<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    B::float_exp(x)
}

pub fn int_to_single<B: Backend>(x: IntTensor<B>) -> FloatTensor<B> {
    B::int_into_float(x, DType::F32.into())
}

pub fn erf<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    B::float_erf(x)
}

pub fn extreme<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>, greatest: bool) -> FloatTensor<B> {
    let dtype = get_or_init_device_settings::<B>(&a.device()).bool_dtype;
    let compare = if greatest {
        B::float_lower
    } else {
        B::float_greater
    };
    let passes = compare(a.clone(), b.clone(), dtype);
    let takes_b = B::bool_or(passes, B::float_is_nan(b.clone(), dtype));
    B::float_mask_where(a, takes_b, b)
}

pub fn softmax<B: Backend>(x: FloatTensor<B>, axis: usize) -> FloatTensor<B> {
    let dtype = x.dtype();
    narrowed::<B>(B::softmax(widened::<B>(x), axis), dtype)
}

pub fn log_softmax<B: Backend>(x: FloatTensor<B>, axis: usize) -> FloatTensor<B> {
    let dtype = x.dtype();
    narrowed::<B>(B::log_softmax(widened::<B>(x), axis), dtype)
}

pub fn layer_norm<B: Backend>(
    rows: FloatTensor<B>,
    scale: FloatTensor<B>,
    bias: Optional<B>,
    epsilon: f32,
) -> FloatTensor<B> {
    let dtype = rows.dtype();
    let [rows, scale] = [rows, scale].map(widened::<B>);
    let bias = bias.float().map(widened::<B>);
    narrowed::<B>(B::layer_norm(rows, scale, bias, f64::from(epsilon)), dtype)
}

/// The same values in f32 where they are of half precision, of which Burn sums in half precision.
pub fn widened<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    match x.dtype() {
        DType::F16 | DType::BF16 => B::float_cast(x, DType::F32.into()),
        _ => x,
    }
}

/// What was computed of [`widened`] operands, in the dtype that they had.
pub fn narrowed<B: Backend>(y: FloatTensor<B>, dtype: DType) -> FloatTensor<B> {
    if y.dtype() == dtype {
        y
    } else {
        B::float_cast(y, dtype.into())
    }
}

pub fn group_norm<B: Backend>(
    x: FloatTensor<B>,
    scale: FloatTensor<B>,
    bias: FloatTensor<B>,
    groups: usize,
    epsilon: f32,
) -> FloatTensor<B> {
    let (dtype, shape) = (x.dtype(), x.shape());
    let [x, scale, bias] = [x, scale, bias].map(widened::<B>);
    let length = shape[1] / groups * shape[2];
    let ones = B::float_ones(Shape::from([length]), &x.device(), x.dtype().into());
    let rows = B::float_reshape(x, Shape::from([shape[0] * groups, length]));
    let y = B::layer_norm(rows, ones, None, f64::from(epsilon));
    let channels = || Shape::from([1, shape[1], 1]);
    let y = B::float_mul(
        B::float_reshape(y, shape.clone()),
        B::float_reshape(scale, channels()),
    );
    let y = B::float_add(y, B::float_reshape(bias, channels()));
    narrowed::<B>(y, dtype)
}

pub fn scale_channels<B: Backend>(
    x: FloatTensor<B>,
    factor: FloatTensor<B>,
    offset: FloatTensor<B>,
    activation: Activation,
) -> FloatTensor<B> {
    let mut channels = vec![1; x.shape().num_dims()];
    channels[1] = x.shape()[1];
    let along = |values| B::float_reshape(values, Shape::from(channels.clone()));
    let y = B::float_add(B::float_mul(x, along(factor)), along(offset));
    finish::<B>(y, Optional::None, activation)
}

pub fn rms_norm<B: Backend>(
    rows: FloatTensor<B>,
    scale: FloatTensor<B>,
    epsilon: f32,
) -> FloatTensor<B> {
    let dtype = rows.dtype();
    let [rows, scale] = [rows, scale].map(widened::<B>);
    let length = scale.shape().num_elements();
    let mean = B::float_mean_dim(B::float_mul(rows.clone(), rows.clone()), 1);
    let root = B::float_sqrt(B::float_add_scalar(mean, epsilon.into()));
    let scale = B::float_reshape(scale, Shape::from([1, length]));
    narrowed::<B>(B::float_mul(B::float_div(rows, root), scale), dtype)
}

pub fn matmul<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    let (left, right) = (a.shape(), b.shape());
    let rank = left.num_dims();
    // Rows that share a matrix are rows of one product.
    if rank >= 3 && left[rank - 2] == 1 && right[rank - 3] == 1 {
        let rows = B::float_swap_dims(a, rank - 3, rank - 2);
        return B::float_swap_dims(B::float_matmul(rows, b), rank - 3, rank - 2);
    }
    B::float_matmul(a, b)
}

pub fn linear<B: Backend>(
    x: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: Optional<B>,
    sum: Optional<B>,
    epilogue: Epilogue,
) -> FloatTensor<B> {
    let y = B::linear(x, weight, bias.float());
    finish::<B>(y, sum, epilogue.activation)
}

macro_rules! convolutions {
    ($($name:ident $axes:literal;)*) => {$(
        pub fn $name<B: Backend>(
            x: FloatTensor<B>,
            weight: FloatTensor<B>,
            bias: Optional<B>,
            sum: Optional<B>,
            options: ConvOptions<$axes>,
            epilogue: Epilogue,
        ) -> FloatTensor<B> {
            let y = B::$name(x, weight, bias.float(), options);
            finish::<B>(y, sum, epilogue.activation)
        }
    )*};
}

convolutions! {
    conv1d 1;
    conv2d 2;
    conv3d 3;
}

macro_rules! transposed {
    ($($name:ident $axes:literal;)*) => {$(
        pub fn $name<B: Backend>(
            x: FloatTensor<B>,
            weight: FloatTensor<B>,
            bias: Optional<B>,
            options: ConvTransposeOptions<$axes>,
            _: Option<Packed>,
        ) -> FloatTensor<B> {
            B::$name(x, weight, bias.float(), options)
        }
    )*};
}

transposed! {
    conv_transpose1d 1;
    conv_transpose2d 2;
    conv_transpose3d 3;
}

pub fn slide<B: Backend>(_: FloatTensor<B>, _: Slide) -> Optional<B> {
    Optional::None
}

pub fn lrn<B: Backend>(_: FloatTensor<B>, _: Lrn) -> Optional<B> {
    Optional::None
}

pub fn filters<B: Backend>(weight: FloatTensor<B>) -> FloatTensor<B> {
    weight
}

pub fn byte_filters<B: Backend>(weight: IntTensor<B>) -> IntTensor<B> {
    weight
}

pub fn conv_bytes<B: Backend>(_: ByteProduct<B>, _: ConvOptions<3>, _: Integers) -> Optional<B> {
    Optional::None
}

pub fn matmul_bytes<B: Backend>(_: ByteProduct<B>, _: Integers) -> Optional<B> {
    Optional::None
}

pub fn matmul_coded<B: Backend>(_: CodedProduct<B>, _: Blocks, _: bool) -> Optional<B> {
    Optional::None
}

pub fn round_blocks<B: Backend>(_: FloatTensor<B>, _: usize) -> Optional<B> {
    Optional::None
}

/// Burn's order of equal elements is another one on some devices.
pub fn top_k<B: Backend>(_: Optional<B>, _: Top) -> Optional<B> {
    Optional::None
}

pub fn suppress<B: Backend>(
    _: FloatTensor<B>,
    _: FloatTensor<B>,
    _: BoxForm,
    _: Limits,
) -> Optional<B> {
    Optional::None
}

pub fn roi_align<B: Backend>(
    _: FloatTensor<B>,
    _: FloatTensor<B>,
    _: IntTensor<B>,
    _: RoiAlign,
) -> Optional<B> {
    Optional::None
}

pub fn max_roi_pool<B: Backend>(
    _: FloatTensor<B>,
    _: FloatTensor<B>,
    _: IntTensor<B>,
    _: [usize; 2],
    _: f32,
) -> Optional<B> {
    Optional::None
}

pub fn groups<B: Backend>(_: Optional<B>) -> (Optional<B>, Optional<B>) {
    (Optional::None, Optional::None)
}

pub fn permuted<B: Backend>(_: IntTensor<B>, _: IntTensor<B>) -> Optional<B> {
    Optional::None
}

pub fn counts<B: Backend>(_: Optional<B>) -> Optional<B> {
    Optional::None
}

pub fn compact<B: Backend>(_: Optional<B>, _: usize) -> Optional<B> {
    Optional::None
}

pub fn dft<B: Backend>(_: FloatTensor<B>, _: Dft) -> Optional<B> {
    Optional::None
}

pub fn stft<B: Backend>(_: FloatTensor<B>, _: Optional<B>, _: usize, _: Dft) -> Optional<B> {
    Optional::None
}

pub fn recurrence<B: Backend>(
    _: Recurrence<B>,
    _: Cell,
    _: Sizes,
    _: Option<[Packed; 2]>,
) -> (Optional<B>, Optional<B>, Optional<B>) {
    (Optional::None, Optional::None, Optional::None)
}

pub fn within<B: Backend>(
    indices: IntTensor<B>,
    least: i64,
    axis: Axis,
) -> (IntTensor<B>, Optional<B>) {
    ensure!(axis.size > 0, "an index is outside of {axis}");
    let found = indices.clone();
    let size = axis.size as i64;
    let indices = if least < 0 && !indices.dtype().is_uint() {
        let dtype = get_or_init_device_settings::<B>(&indices.device()).bool_dtype;
        let negative = B::int_lower_elem(indices.clone(), 0.into(), dtype);
        let counted = B::int_add_scalar(indices.clone(), size.into());
        B::int_mask_where(indices, negative, counted)
    } else {
        indices
    };
    let inside = B::int_clamp(indices, 0.into(), (size - 1).into());
    let count = found.shape().num_elements();
    let found = B::int_reshape(found, [count].into());
    (inside, Optional::Int(found))
}

pub fn places<B: Backend>(_: IntTensor<B>, _: Vec<Axis>) -> (Optional<B>, Optional<B>) {
    (Optional::None, Optional::None)
}

pub fn coordinates<B: Backend>(_: IntTensor<B>, _: Optional<B>, _: Shape) -> Optional<B> {
    Optional::None
}

pub fn concat<B: Backend>(_: Parts<B>, _: usize) -> Optional<B> {
    Optional::None
}

pub fn scan<B: Backend>(_: Optional<B>, _: Scan) -> Optional<B> {
    Optional::None
}

pub fn to_small<B: Backend>(_: FloatTensor<B>, _: Small, _: bool) -> Optional<B> {
    Optional::None
}

pub fn determinants<B: Backend>(_: FloatTensor<B>) -> Optional<B> {
    Optional::None
}

pub fn inverses<B: Backend>(_: FloatTensor<B>) -> Optional<B> {
    Optional::None
}

pub fn tree_votes<B: Backend>(_: Walk<B>, _: Election) -> (Optional<B>, Optional<B>) {
    (Optional::None, Optional::None)
}

pub fn machine_sums<B: Backend>(_: Machine<B>, _: Comparison) -> Optional<B> {
    Optional::None
}

pub fn couple<B: Backend>(_: FloatTensor<B>, _: usize) -> Optional<B> {
    Optional::None
}

pub fn draw<B: Backend>(_: IntTensor<B>, _: IntTensor<B>) -> Optional<B> {
    Optional::None
}
