//! The epilogue of integer sums: a bias, scales, and a zero point.

use burn::backend::{Backend, tensor::FloatTensor};
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::cast, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::backend::{ByteProduct, Given};
use crate::cube::launch::{LaunchOperand, Request, Strided};
use crate::cube::narrow;
use crate::cube::product::Zeros;
use crate::cube::quantize::{Rounding, RoundingLaunch, quantized};
use crate::spec::quantize::Ending;

/// Result of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    Sums,
    Floats,
    Integers,
}

/// Strides of a tensor of numbers of rows and columns, 0 along an axis that shares one.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Steps {
    row: u32,
    column: u32,
}

#[derive(CubeType, CubeLaunch)]
pub struct Numbers<T: Numeric> {
    values: &'static Tensor<T>,
    steps: Steps,
}

/// A bias of sums, the scales of both operands, a bias of floats, and the scale and zero point of the result.
#[derive(CubeType, CubeLaunch)]
pub struct Ends {
    bias: ComptimeOption<Numbers<i32>>,
    left: ComptimeOption<Numbers<f32>>,
    right: ComptimeOption<Numbers<f32>>,
    added: ComptimeOption<Numbers<f32>>,
    result: ComptimeOption<Numbers<f32>>,
    /// Of the zero point, whose type is that of the result.
    zero: Steps,
    rounding: Rounding,
}

/// [`Ends`] of one element.
#[derive(CubeType, Clone, Copy)]
pub struct EndsOfOne {
    bias: i32,
    factor: f32,
    added: f32,
    rounding: Rounding,
}

#[cube]
pub fn at(steps: &Steps, row: usize, column: usize) -> usize {
    row * steps.row as usize + column * steps.column as usize
}

/// Returns the number of a row and column, or `other` if the tensor is absent.
#[cube]
fn number<T: Numeric>(numbers: &ComptimeOption<Numbers<T>>, other: T, row: usize, column: usize) -> T {
    let mut number = other;
    #[comptime]
    match numbers {
        ComptimeOption::Some(numbers) => {
            number = numbers.values[at(&numbers.steps, row, column)];
        }
        ComptimeOption::None => {}
    }
    number
}

/// Returns the epilogue of a row and column.
#[cube]
pub fn ends_of_one<Y: Numeric>(
    ends: &Ends,
    zero: ComptimeOption<&[Y]>,
    row: usize,
    column: usize,
) -> EndsOfOne {
    let mut factor = number::<f32>(&ends.left, 1.0f32, row, column);
    factor *= number::<f32>(&ends.right, 1.0f32, row, column);
    factor /= number::<f32>(&ends.result, 1.0f32, row, column);
    let mut middle = 0.0f32;
    #[comptime]
    match zero {
        ComptimeOption::Some(zero) => middle = f32::cast_from(zero[at(&ends.zero, row, column)]),
        ComptimeOption::None => {}
    }
    EndsOfOne {
        bias: number::<i32>(&ends.bias, 0i32, row, column),
        factor,
        added: number::<f32>(&ends.added, 0.0f32, row, column),
        rounding: Rounding { zero: middle, low: ends.rounding.low, high: ends.rounding.high },
    }
}

/// Returns the element of the result for a sum.
#[cube]
pub fn ended<S: Numeric, Y: Numeric>(sum: S, ends: &EndsOfOne, #[comptime] end: End) -> Y {
    let total = i32::cast_from(sum) + ends.bias;
    match end {
        End::Sums => Y::cast_from(total),
        End::Floats => Y::cast_from(f32::cast_from(total) * ends.factor + ends.added),
        End::Integers => quantized::<Y>(f32::cast_from(total) * ends.factor, &ends.rounding),
    }
}

/// Further operands of products of integers, in the dtypes of the kernels.
pub struct Others {
    left_zero: Option<CubeTensor>,
    right_zero: Option<CubeTensor>,
    bias: Option<CubeTensor>,
    left: Option<CubeTensor>,
    right: Option<CubeTensor>,
    added: Option<CubeTensor>,
    result: Option<CubeTensor>,
    zero: Option<CubeTensor>,
    ending: Ending,
}

impl Others {
    /// Returns both operands of a product, and the others.
    pub fn of(operands: ByteProduct<CubeBackend>, ending: Ending) -> (CubeTensor, CubeTensor, Self) {
        let (left, right) = (operands.left, operands.right);
        let to = |tensor: Option<CubeTensor>, dtype| tensor.map(|tensor| cast(tensor, dtype));
        let (bias, added) = match operands.bias {
            Given::Float(added) => (None, Some(cast(added, DType::F32))),
            bias => (to(bias.int(), DType::I32), None),
        };
        let mut others = Self {
            left_zero: to(operands.left_zero.int(), left.dtype),
            right_zero: to(operands.right_zero.int(), right.dtype),
            bias,
            left: to(operands.left_scale.float(), DType::F32),
            right: to(operands.right_scale.float(), DType::F32),
            added,
            result: to(operands.scale.float(), DType::F32),
            zero: to(operands.zero.int(), ending.dtype()),
            ending,
        };
        others.join_scales(left.client.properties().hardware.max_bindings as usize);
        (left, right, others)
    }

    /// Joins all scales to one by primitives if a device binds few buffers.
    fn join_scales(&mut self, most: usize) {
        let numbers = [
            &self.left_zero,
            &self.right_zero,
            &self.bias,
            &self.left,
            &self.right,
            &self.added,
            &self.result,
            &self.zero,
        ];
        // Both operands, the result, and their metadata.
        let bound = 4 + numbers.into_iter().flatten().count();
        if bound > most
            && let (Some(left), Some(right)) = (self.left.take(), self.right.take())
        {
            self.left = Some(factor::<CubeBackend>(left, right, self.result.take()));
        }
    }

    pub fn zeros(&self) -> Zeros {
        Zeros { left: self.left_zero.is_some(), right: self.right_zero.is_some() }
    }

    /// Returns `true` if no numbers differ from row to row.
    pub fn are_of_columns(&self, steps: impl Fn(&CubeTensor) -> [usize; 2]) -> bool {
        let ends = [&self.bias, &self.left, &self.right, &self.added, &self.result, &self.zero];
        ends.into_iter().flatten().all(|of| steps(of)[0] == 0)
    }

    /// Returns the operands as kernels take them.
    pub fn into_args(self, steps: impl Fn(&CubeTensor) -> [usize; 2]) -> Args {
        let of = |tensor: &Option<CubeTensor>| {
            let [row, column] = tensor.as_ref().map_or([0, 0], &steps);
            StepsLaunch::new(narrow(row), narrow(column))
        };
        let numbers = |tensor: Option<CubeTensor>| {
            let steps = of(&tensor);
            tensor.map(|tensor| (Strided(tensor), steps))
        };
        let rounding = match self.ending {
            Ending::Quantized { dtype, bits } => RoundingLaunch::of(dtype, bits, 0),
            Ending::Sums | Ending::Floats => RoundingLaunch::new(0.0, 0.0, 0.0),
        };
        let zero_steps = of(&self.zero);
        let steps = [of(&self.left_zero), of(&self.right_zero)];
        let floats = [self.left, self.right, self.added, self.result].map(numbers);
        Args {
            zeros: [self.left_zero, self.right_zero, self.zero].map(|zero| zero.map(Strided)),
            steps,
            ends: EndOperands { bias: numbers(self.bias), floats, zero_steps, rounding },
        }
    }

    pub fn end(&self) -> End {
        match self.ending {
            Ending::Sums => End::Sums,
            Ending::Floats => End::Floats,
            Ending::Quantized { .. } => End::Integers,
        }
    }
}

/// [`Others`] as kernels take them.
pub struct Args {
    pub zeros: [Option<Strided<CubeTensor>>; 3],
    pub steps: [StepsLaunch; 2],
    pub ends: EndOperands,
}

/// The tensors of [`Ends`], each with its steps.
pub struct EndOperands {
    bias: Option<(Strided<CubeTensor>, StepsLaunch)>,
    /// Scales of both operands, bias, and scale of the result.
    floats: [Option<(Strided<CubeTensor>, StepsLaunch)>; 4],
    zero_steps: StepsLaunch,
    rounding: RoundingLaunch,
}

impl LaunchOperand for EndOperands {
    type Argument = EndsLaunch;

    fn enter(self, request: &mut Request) -> EndsLaunch {
        let bias = self.bias;
        let bias = bias.map(|(bias, steps)| NumbersLaunch::new(request.take(bias), steps));
        let [left, right, added, result] = self
            .floats
            .map(|numbers| numbers.map(|(numbers, steps)| NumbersLaunch::new(request.take(numbers), steps)));
        EndsLaunch::new(
            bias.into(),
            left.into(),
            right.into(),
            added.into(),
            result.into(),
            self.zero_steps,
            self.rounding,
        )
    }
}

/// `left * right / result`.
fn factor<B: Backend>(
    left: FloatTensor<B>,
    right: FloatTensor<B>,
    result: Option<FloatTensor<B>>,
) -> FloatTensor<B> {
    let factor = B::float_mul(left, right);
    match result {
        Some(result) => B::float_div(factor, result),
        None => factor,
    }
}
