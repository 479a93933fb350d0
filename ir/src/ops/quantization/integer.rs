//! Products and convolutions of quantized integers.

use std::rc::Rc;

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::is_quantized;
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::ops::cast::carrier;
use crate::ops::matmul::product;
use crate::ops::window::{Resolved, Window};
use crate::types::{Shape, TensorType};

/// A product whose sums are the result, or are brought to the scale of the result.
#[derive(Debug)]
struct MatMul {
    places: &'static Places,
}

/// The same for a convolution.
#[derive(Debug)]
struct Conv {
    places: &'static Places,
    window: Window,
    groups: i64,
}

/// The inputs at which things stand: operands and their zero points, and scales.
#[derive(Debug)]
struct Places {
    operands: [usize; 2],
    zeros: [usize; 2],
    result: Option<Scaled>,
}

/// The scales of both operands and of the result, the result's zero point and a bias.
#[derive(Debug)]
struct Scaled {
    scales: [usize; 3],
    zero: usize,
    bias: usize,
}

const INTEGER: Places = Places {
    operands: [0, 1],
    zeros: [2, 3],
    result: None,
};

const QUANTIZED: Places = Places {
    operands: [0, 3],
    zeros: [2, 5],
    result: Some(Scaled {
        scales: [1, 4, 6],
        zero: 7,
        bias: 8,
    }),
};

/// Where a scale or zero point has an element for each place along an axis of its operand.
#[derive(Clone, Copy)]
enum Side {
    /// The axis of rows, or of channels.
    Before(usize),
    /// The last axis.
    Last,
}

pub fn matmul() -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(MatMul { places: &INTEGER }))
}

pub fn quantized_matmul() -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(MatMul { places: &QUANTIZED }))
}

pub fn conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, &INTEGER)
}

pub fn quantized_conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, &QUANTIZED)
}

fn read(a: &Attributes<'_>, places: &'static Places) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Conv {
        places,
        window: Window::read(a)?,
        groups: a.int_or("group", 1)?,
    }))
}

impl Places {
    /// The types of both operands and of the result.
    fn types(&self, cx: &Infer<'_>) -> Result<(TensorType, TensorType, DType), Problem> {
        let [left, right] = self.operands;
        let (left, right) = (cx.tensor(left)?, cx.tensor(right)?);
        let result = match &self.result {
            Some(result) => cx.tensor(result.zero)?.dtype,
            None => DType::I32,
        };
        let quantized = is_quantized(left.dtype) && is_quantized(right.dtype);
        let bytes = left.dtype.bits() <= 8 && right.dtype.bits() <= 8;
        if !quantized || !bytes || !(is_quantized(result) || result == DType::I32) {
            return Err(Problem::new(format!(
                "the operands are {left} and {right}, and the result is of type {result}"
            )));
        }
        let scales = self.result.iter().flat_map(|result| result.scales);
        for input in scales.chain(self.zeros.into_iter().filter(|&input| cx.has(input))) {
            cx.tensor(input)?;
        }
        Ok((left, right, result))
    }

    /// The sums in the scale of the result, if that has one; `sides` are those of the operands and
    /// of the result.
    fn scaled(
        &self,
        cx: &mut Emit<'_, '_>,
        sums: TokenStream,
        sides: [Side; 3],
    ) -> Result<TokenStream, Problem> {
        let Some(result) = &self.result else {
            return Ok(sums);
        };
        let output = cx.output_tensor(0)?.clone();
        let rank = output.burn_rank();
        let pairs = result.scales.into_iter().zip(sides);
        let scales = pairs.map(|(input, side)| spread(cx, input, rank, side));
        let scales = scales.collect::<Result<Vec<_>, Problem>>()?;
        let zero = spread(cx, result.zero, rank, sides[2])?;
        let (dtype, bits) = (
            format_ident!("{}", carrier(output.dtype)),
            Literal::u32_unsuffixed(output.dtype.bits()),
        );
        Ok(quote! {
            ops::quantize::requantize(#sums, [#(#scales),*], #zero, DType::#dtype, #bits)
        })
    }
}

impl Operator for MatMul {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (left, mut right, result) = self.places.types(cx)?;
        right.dtype = left.dtype;
        let shape = product(cx, &left, &right)?;
        cx.output(0, result, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let [left, right] = self.places.operands;
        let ranks = [
            cx.tensor_type(left)?.burn_rank(),
            cx.tensor_type(right)?.burn_rank(),
        ];
        let sides = [Side::Before(ranks[0].saturating_sub(2)), Side::Last];
        let zeros = zeros(cx, self.places.zeros, ranks, sides)?;
        let (a, b) = (cx.tensor(left)?, cx.tensor(right)?);
        let rank = cx.output_tensor(0)?.burn_rank();
        let dimension = Literal::usize_unsuffixed(rank);
        let sums = quote! {
            ops::quantize::matmul_integer::<_, _, #dimension>(#a, #b, #(#zeros),*)
        };
        let rows = Side::Before(rank.saturating_sub(2));
        self.places.scaled(cx, sums, [rows, Side::Last, rows])
    }
}

impl Operator for Conv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight, result) = self.places.types(cx)?;
        let window = self.resolve(&x, &weight)?;
        let mut shape: Shape = x.shape.iter().take(1).cloned().collect();
        shape.extend(weight.shape.first().cloned());
        match window.positions(x.shape.get(2..).unwrap_or_default()) {
            Some(positions) => shape.extend(positions),
            None => shape.extend((2..x.rank()).map(|_| cx.fresh("conv"))),
        }
        cx.output(0, result, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let [input, filter] = self.places.operands;
        let (x, weight) = (
            cx.tensor_type(input)?.clone(),
            cx.tensor_type(filter)?.clone(),
        );
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        let window = self.resolve(&x, &weight)?.emit(cx, &spatial);
        let zeros = self.places.zeros.map(|zero| match is_zero(cx, zero) {
            true => Ok(quote!(None)),
            false => cx.optional(zero),
        });
        let [x_zero, weight_zero] = zeros;
        let (x_zero, weight_zero) = (x_zero?, weight_zero?);
        let (x, weight) = (cx.tensor(input)?, cx.tensor(filter)?);
        let groups = Literal::i64_unsuffixed(self.groups);
        let function = format_ident!("conv_integer{}d", spatial.len());
        let mut sums = quote! {
            ops::quantize::#function(#x, #weight, #x_zero, #weight_zero, #window, #groups)
        };
        let rank = cx.output_tensor(0)?.burn_rank();
        let channels = Side::Before(1);
        if let Some(result) = &self.places.result
            && cx.has(result.bias)
        {
            let bias = spread(cx, result.bias, rank, channels)?;
            sums = quote!(#sums + #bias);
        }
        self.places.scaled(cx, sums, [channels, channels, channels])
    }
}

impl Conv {
    fn resolve(&self, x: &TensorType, weight: &TensorType) -> Result<Resolved, Problem> {
        if !(3..=5).contains(&x.rank()) || weight.rank() != x.rank() {
            return Err(Problem::new(format!(
                "the input is {x} and the weight {weight}; convolution has 1 to 3 spatial axes"
            )));
        }
        let kernel: Option<Vec<i64>> = weight.shape.iter().skip(2).map(Dim::number).collect();
        self.window.resolve(x.rank() - 2, kernel)
    }
}

/// Zero points that broadcast to their operands; those that are 0 are left out.
fn zeros(
    cx: &mut Emit<'_, '_>,
    inputs: [usize; 2],
    ranks: [usize; 2],
    sides: [Side; 2],
) -> Result<Vec<TokenStream>, Problem> {
    let all = inputs.into_iter().zip(ranks).zip(sides);
    let zeros = all.map(|((input, rank), side)| {
        if is_zero(cx, input) {
            return Ok(quote!(None));
        }
        let zero = spread(cx, input, rank, side)?;
        Ok(quote!(Some(#zero)))
    });
    zeros.collect()
}

fn is_zero(cx: &Emit<'_, '_>, input: usize) -> bool {
    let none = |zeros: Vec<i64>| zeros.iter().all(|&zero| zero == 0);
    !cx.has(input) || cx.numbers(input).is_some_and(none)
}

/// The input in `rank` axes, its elements along that of `side`.
fn spread(
    cx: &mut Emit<'_, '_>,
    input: usize,
    rank: usize,
    side: Side,
) -> Result<TokenStream, Problem> {
    let held = cx.tensor_type(input)?.clone();
    match (side, held.shape.as_slice()) {
        (Side::Before(at), [size]) if at + 1 < rank && !size.is(1) => {
            let mut shape = vec![Dim::from(1); rank];
            if let Some(held) = shape.get_mut(at) {
                *held = size.clone();
            }
            let (tensor, shape) = (cx.tensor(input)?, cx.shape(&shape));
            Ok(quote!(#tensor.reshape(#shape)))
        }
        (_, shape) if shape.len() <= rank => cx.tensor_of_rank(input, rank),
        _ => Err(Problem::new(format!(
            "a scale or zero point is {held}, which has too many axes"
        ))),
    }
}
