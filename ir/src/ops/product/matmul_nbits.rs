//! MatMulNBits: products with packed 2-, 4- or 8-bit weights.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[row("MatMulNBits", &[1], read).arity("rrrooo", "r").of(MICROSOFT)];

/// A product with a packed weight in blocks. Inputs are the operand, packed weights, scales, zero points, the blocks of
/// the inputs, and a bias.
#[derive(Debug)]
struct MatMulNBits {
    inputs: usize,
    outputs: usize,
    bits: usize,
    block: usize,
    /// Whether the operand may be rounded to 8 bits.
    bytes: bool,
}

attributes!(struct MatMulNBits { inputs, outputs, bits, block, bytes });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let accuracy = a.int_or("accuracy_level", 0)?;
    if a.int_or("weight_prepacked", 0)? != 0 {
        return Err(Problem::new("the weight is packed for one kind of device")
            .help("export the model without `weight_prepacked`"));
    }
    let size = |name: &str, default: Option<i64>| {
        let value = a.int(name)?.or(default);
        let value = value.ok_or_else(|| Problem::new(format!("attribute `{name}` is missing")))?;
        usize::try_from(value)
            .ok()
            .filter(|&size| size > 0 && size < 1 << 31)
            .ok_or_else(|| Problem::new(format!("`{name}` is {value}")))
    };
    let operator = MatMulNBits {
        inputs: size("K", None)?,
        outputs: size("N", None)?,
        bits: size("bits", Some(4))?,
        block: size("block_size", None)?,
        bytes: accuracy == 4,
    };
    if ![2, 4, 8].contains(&operator.bits) {
        return Err(Problem::new(format!("`bits` is {}", operator.bits)).help("weights have 2, 4 or 8 bits"));
    }
    if operator.block < 16 || !operator.block.is_power_of_two() {
        return Err(Problem::new(format!("`block_size` is {}", operator.block))
            .help("it is a power of two of at least 16"));
    }
    Ok(Rc::new(operator))
}

impl MatMulNBits {
    /// Checks the type and number of elements of an optional input.
    fn check(&self, cx: &Infer<'_>, input: usize, dtype: DType, count: usize) -> Result<(), Problem> {
        if !cx.has(input) {
            return Ok(());
        }
        let operand = cx.tensor(input)?;
        if operand.dtype == dtype && operand.count().is_none_or(|tensor| tensor == count) {
            Ok(())
        } else {
            Err(Problem::new(format!("input {input} is {operand}, not {count} elements of type {dtype}")))
        }
    }

    /// Generates `ops::quantize::Blocks { .. }`.
    fn blocks(&self) -> Code {
        let [inputs, outputs, bits, size] =
            [self.inputs, self.outputs, self.bits, self.block].map(Literal::usize_unsuffixed);
        code!(ops::quantize::Blocks { inputs: #inputs, outputs: #outputs, bits: #bits, size: #size })
    }

    /// Returns `true` if the product adds integers, for which the operand is rounded. `accuracy_level` must permit it;
    /// as in ONNX Runtime, zero points, the order of blocks or sizes may prevent it.
    fn sums_integers(&self, cx: &Emit<'_, '_>) -> bool {
        let whole = |dtype: DType| dtype == DType::U8;
        let zeros = !cx.has(3) || cx.tensor_type(3).is_ok_and(|tensor| whole(tensor.dtype));
        let sizes = match self.bits {
            2 => 32..=128,
            _ => 16..=256,
        };
        self.bytes && zeros && !cx.has(4) && sizes.contains(&self.block)
    }

    /// Returns the field that contains weight and bias, if they are weights of the model.
    fn layer(&self, cx: &mut Emit<'_, '_>) -> Option<Code> {
        // The weight is computed from the scales, which are trained.
        if cx.is_training() {
            return None;
        }
        let (bytes, scales) = (cx.weight(1)?, cx.weight(2)?);
        let mut optional = |input: usize| {
            if cx.has(input) { cx.weight(input).map(|name| code!(Some(#name))) } else { Some(code!(None)) }
        };
        let (zeros, groups, bias) = (optional(3)?, optional(4)?, optional(5)?);
        let (hint, blocks) = (cx.layer_hint(1), self.blocks());
        let rounded = self.sums_integers(cx).then(|| {
            let size = Literal::usize_unsuffixed(self.block);
            code!(.in_bytes(#size))
        });
        let load = code! {
            layers::MatMulNBits::load(weights, [#bytes, #scales], #zeros, #groups, #bias, #blocks)
                #rounded
        };
        Some(cx.layer(&hint, code!(layers::MatMulNBits), load))
    }
}

impl Operator for MatMulNBits {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let mut shape = x.shape.clone();
        let inputs = shape.pop().and_then(|dim| dim.number());
        let fits = inputs.is_none_or(|inputs| usize::try_from(inputs) == Ok(self.inputs));
        if !x.dtype.is_float() || x.rank() == 0 || !fits {
            return Err(Problem::new(format!("the operand is {x}, and the matrix has {} rows", self.inputs)));
        }
        let blocks = self.inputs.div_ceil(self.block);
        let bytes = |count: usize| count.saturating_mul(self.bits).div_ceil(8);
        let each = |count: usize| self.outputs.saturating_mul(count);
        self.check(cx, 1, DType::U8, each(bytes(blocks.saturating_mul(self.block))))?;
        self.check(cx, 2, x.dtype, each(blocks))?;
        if cx.has(3) && cx.tensor(3)?.dtype == DType::U8 {
            self.check(cx, 3, DType::U8, each(bytes(blocks)))?
        } else {
            self.check(cx, 3, x.dtype, each(blocks))?
        }
        if cx.has(4) && cx.tensor_of_rank(4, 1)?.dtype != DType::I32 {
            return Err(Problem::new("the blocks of the inputs are not of type int32"));
        }
        let groups = if cx.has(4) { cx.tensor(4)?.count() } else { None };
        let padded = blocks.saturating_mul(self.block);
        if let Some(groups) = groups.filter(|groups| ![self.inputs, padded].contains(groups)) {
            let inputs = self.inputs;
            return Err(Problem::new(format!("there are {groups} blocks of inputs for {inputs} inputs")));
        }
        self.check(cx, 5, x.dtype, self.outputs)?;
        shape.push(Dim::from(i64::try_from(self.outputs).unwrap_or(i64::MAX)));
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if let Some(layer) = self.layer(cx) {
            let x = cx.tensor(0)?;
            return Ok(code!(#layer.forward(#x)));
        }
        let x = cx.tensor(0)?;
        let (bytes, scales) = (flat(cx, 1)?, flat(cx, 2)?);
        let zeros = match (cx.has(3), cx.has(3) && cx.tensor_type(3)?.dtype == DType::U8) {
            (false, _) => code!(ops::quantize::Zeros::Middle),
            (true, packed) => {
                let zeros = flat(cx, 3)?;
                if packed {
                    code!(ops::quantize::Zeros::Packed(#zeros))
                } else {
                    code!(ops::quantize::Zeros::Plain(#zeros))
                }
            }
        };
        let (groups, bias, blocks) = (cx.optional(4)?, cx.optional(5)?, self.blocks());
        Ok(code! {
            ops::quantize::matmul_wide(
                #x,
                #blocks.matrix(#bytes, #scales, #zeros, #groups),
                #bias,
            )
        })
    }
}

/// Returns the elements of an input along one axis.
fn flat(cx: &mut Emit<'_, '_>, input: usize) -> Result<Code, Problem> {
    let operand: TensorType = cx.tensor_type(input)?.clone();
    let x = cx.tensor(input)?;
    let last = Literal::usize_unsuffixed(operand.burn_rank() - 1);
    Ok(match operand.burn_rank() {
        1 => x,
        _ => code!(#x.flatten::<1>(0, #last)),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_matrix_lies_in_whole_blocks() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (float[N, 40] x, uint8[5, 3, 8] b, float[5, 3] s, uint8[5, 2] z) => (float[N, 5] y) {
                y = com.microsoft.MatMulNBits <K = 40, N = 5, block_size = 16> (x, b, s, z)
            }
            "#,
            expect![[r#"
                main (float32[N, 40] x, uint8[5, 3, 8] b, float32[5, 3] s, uint8[5, 2] z) => (float32[N, 5] y)
                {
                    float32[N, 5] y = com.microsoft.MatMulNBits <inputs: 40, outputs: 5, bits: 4, block: 16> (x, b, s, z)
                }
            "#]],
        );
    }

    #[test]
    fn sizes_must_fit() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (float[N, 40] x, uint8[5, 2, 8] b, float[5, 3] s) => (float[N, 5] y, float[N, 5] z, float[N, 5] w) {
                y = com.microsoft.MatMulNBits <K = 40, N = 5, block_size = 16> (x, b, s)
                z = com.microsoft.MatMulNBits <K = 40, N = 5, block_size = 16, bits = 3> (x, b, s)
                w = com.microsoft.MatMulNBits <K = 40, N = 5, block_size = 16, weight_prepacked = 1> (x, b, s)
            }
            "#,
            expect![[r#"
                cannot compile `model`: 3 problems

                  `bits` is 3
                    at node `z` (com.microsoft.MatMulNBits opset 1)
                    help: weights have 2, 4 or 8 bits

                  the weight is packed for one kind of device
                    at node `w` (com.microsoft.MatMulNBits opset 1)
                    help: export the model without `weight_prepacked`

                  input 1 is uint8[5, 2, 8], not 120 elements of type uint8
                    at node `y` (com.microsoft.MatMulNBits version 1)

                  model: IR version 10, ai.onnx 21, com.microsoft 1"#]],
        );
    }
}
