//! MatMulNBits: products with packed 2-, 4- or 8-bit weights.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, counted};
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
    let prepacked = a.int_or("weight_prepacked", 0)?;
    if prepacked != 0 {
        return Err(Problem::expected("`weight_prepacked`", prepacked, "0")
            .help("export the model without prepacked weights"));
    }
    let size = |name: &str| match a.positive(name)? {
        size @ ..0x8000_0000 => Ok(size),
        size => Err(Problem::expected(format_args!("`{name}`"), size, "an integer below 2147483648")),
    };
    let bits = match a.int_or("bits", 4)? {
        2 => 2,
        4 => 4,
        8 => 8,
        bits => return Err(Problem::expected("`bits`", bits, "2, 4 or 8")),
    };
    let block = size("block_size")?;
    if block < 16 || !block.is_power_of_two() {
        return Err(Problem::expected("`block_size`", block, "a power of two of at least 16"));
    }
    Ok(Rc::new(MatMulNBits { inputs: size("K")?, outputs: size("N")?, bits, block, bytes: accuracy == 4 }))
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
            let expected = format!("{} of type {dtype}", counted(count, "elements"));
            Err(Problem::expected(format_args!("input {input}"), operand, expected))
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
        // The layer packs them into memory of its own, also if other nodes have them: an embedding with the weight of the
        // last product.
        let (bytes, scales) = (cx.list(1)?, cx.list(2)?);
        let mut optional = |input: usize| {
            let name = match input {
                _ if !cx.has(input) => return Some(code!(None)),
                5 => cx.weight(input),
                _ => cx.list(input),
            };
            name.map(|name| code!(Some(#name)))
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
            let expected = format_args!("floats with a last axis of size {}", self.inputs);
            return Err(Problem::expected("the input", x, expected));
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
        if cx.has(4) {
            let (groups, padded) = (cx.tensor_of_rank(4, 1)?, blocks.saturating_mul(self.block));
            if groups.dtype != DType::I32 {
                return Err(Problem::expected("`g_idx`", groups, "int32"));
            }
            if groups.count().is_some_and(|count| ![self.inputs, padded].contains(&count)) {
                let expected = format_args!("{} or {padded} elements", self.inputs);
                return Err(Problem::expected("`g_idx`", groups, expected));
            }
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
pub fn flat(cx: &mut Emit<'_, '_>, input: usize) -> Result<Code, Problem> {
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

                  `bits` is 3, expected 2, 4 or 8
                    at node `z` (com.microsoft.MatMulNBits opset 1)

                  `weight_prepacked` is 1, expected 0
                    at node `w` (com.microsoft.MatMulNBits opset 1)
                    help: export the model without prepacked weights

                  input 1 is uint8[5, 2, 8], expected 120 elements of type uint8
                    at node `y` (com.microsoft.MatMulNBits version 1)

                  model: IR version 10, ai.onnx 21, com.microsoft 1"#]],
        );
    }
}
