//! MatMulBnb4: products with weights that are 4-bit codes of floats.

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

pub const ROWS: &[Row] = &[row("MatMulBnb4", &[1], read).arity("rrr", "r").of(MICROSOFT)];

/// A product with a weight `[outputs, inputs]` in blocks of codes. Inputs are the operand, packed codes, and the largest
/// magnitude of each block.
#[derive(Debug)]
struct MatMulBnb4 {
    inputs: usize,
    outputs: usize,
    block: usize,
    /// Whether the codes are those of NF4 instead of FP4.
    normal: bool,
    /// Whether the weight is transposed, so that the operand has `inputs` columns instead of `outputs`.
    transposed: bool,
}

attributes!(struct MatMulBnb4 { inputs, outputs, block, normal, transposed });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.ignore(&["training_mode"]);
    let size = |name: &str| match a.positive(name)? {
        size @ ..0x8000_0000 => Ok(size),
        size => Err(Problem::expected(format_args!("`{name}`"), size, "an integer below 2147483648")),
    };
    let block = size("block_size")?;
    if block < 16 || !block.is_power_of_two() {
        return Err(Problem::expected("`block_size`", block, "a power of two of at least 16"));
    }
    let normal = match a.required("quant_type", Attributes::int)? {
        0 => false,
        1 => true,
        kind => return Err(Problem::expected("`quant_type`", kind, "0 (FP4) or 1 (NF4)")),
    };
    let (inputs, outputs) = (size("K")?, size("N")?);
    Ok(Rc::new(MatMulBnb4 { inputs, outputs, block, normal, transposed: a.flag("transB", true)? }))
}

impl MatMulBnb4 {
    /// Returns the size of the last axis of the operand and of the result.
    fn sizes(&self) -> (usize, usize) {
        if self.transposed { (self.inputs, self.outputs) } else { (self.outputs, self.inputs) }
    }

    /// Generates the decoded factor, from codes and magnitudes.
    fn matrix(&self, codes: &Code, largest: &Code) -> Code {
        let [rows, columns, size] = [self.outputs, self.inputs, self.block].map(Literal::usize_unsuffixed);
        let normal = self.normal;
        let layout = code! {
            ops::quantize::FloatCodes { rows: #rows, columns: #columns, size: #size, normal: #normal }
        };
        let matrix = code!(#layout.matrix(#codes, #largest));
        if self.transposed { code!(#matrix.transpose()) } else { matrix }
    }
}

impl Operator for MatMulBnb4 {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let (last, result) = self.sizes();
        let mut shape = x.shape.clone();
        let size = shape.pop().and_then(|dim| dim.number());
        let fits = size.is_none_or(|size| usize::try_from(size) == Ok(last));
        if !x.dtype.is_float() || x.rank() == 0 || !fits {
            let expected = format_args!("floats with a last axis of size {last}");
            return Err(Problem::expected("the input", x, expected));
        }
        let count = self.inputs.saturating_mul(self.outputs);
        let lists = [(1, DType::U8, count.div_ceil(2)), (2, x.dtype, count.div_ceil(self.block))];
        for (input, dtype, count) in lists {
            let list = cx.tensor_of_rank(input, 1)?;
            if list.dtype != dtype || list.count().is_some_and(|found| found != count) {
                let expected = format!("{} of type {dtype}", counted(count, "elements"));
                return Err(Problem::expected(format_args!("input {input}"), list, expected));
            }
        }
        shape.push(Dim::from(i64::try_from(result).unwrap_or(i64::MAX)));
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let size = i64::try_from(self.sizes().0).ok();
        let is_whole = |input: usize| cx.tensor_type(input).is_ok_and(|list| list.count().is_some());
        if x.shape.last().is_none_or(|last| last.number() != size) || !is_whole(1) || !is_whole(2) {
            cx.may_fail();
        }
        // Training changes the magnitudes, from which the factor is computed.
        if !cx.is_training() && cx.weight(1).is_some() && cx.weight(2).is_some() {
            let matrix = self.matrix(&cx.loaded(1)?, &cx.loaded(2)?);
            let hint = cx.layer_hint(1);
            let (ty, load) = match x.dtype {
                DType::F32 => (code!(layers::Linear), code!(layers::Linear::new(#matrix, None))),
                _ => (code!(layers::MatMulNBits), code!(layers::MatMulNBits::decoded(#matrix))),
            };
            let (layer, x) = (cx.layer(&hint, ty, load), cx.tensor(0)?);
            return Ok(code!(#layer.forward(#x)));
        }
        let (x, codes, largest) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let matrix = self.matrix(&codes, &largest);
        Ok(code!(ops::quantize::matmul_wide(#x, #matrix, None)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn codes_and_magnitudes_fit_the_weight() {
        problems(
            &[
                r#"(float[n, 33] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 16, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 3] x, uint8[50] b, float[7] m) => (float[n, 33] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 16, quant_type = 0, transB = 0> (x, b, m) }"#,
                r#"(float[n, 3] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 16, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[49] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 16, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[50] b, float[4] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 16, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 16, quant_type = 2> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 24, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = 3, block_size = 8, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, block_size = 16, quant_type = 1> (x, b, m) }"#,
                r#"(float[n, 33] x, uint8[50] b, float[7] m) => (float[n, 3] y) { y = com.microsoft.MatMulBnb4 <K = 33, N = -3, block_size = 16, quant_type = 1> (x, b, m) }"#,
            ],
            expect![[r#"
                fine
                fine
                the input is float32[n, 3], expected floats with a last axis of size 33
                input 1 is uint8[49], expected 50 elements of type uint8
                input 2 is float32[4], expected 7 elements of type float32
                `quant_type` is 2, expected 0 (FP4) or 1 (NF4)
                `block_size` is 24, expected a power of two of at least 16
                `block_size` is 8, expected a power of two of at least 16
                attribute `N` is missing
                `N` is -3, expected a positive integer
            "#]],
        );
    }
}
