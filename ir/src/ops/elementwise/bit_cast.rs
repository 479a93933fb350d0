//! BitCast: the same bits in another element type.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::cast::small_float;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("BitCast", &[26], read)];

#[derive(Debug)]
struct BitCast {
    to: DType,
}

attributes!(struct BitCast { to });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let number = a.required("to", Attributes::int)?;
    match i32::try_from(number).ok().and_then(DType::from_onnx) {
        Some(to) => Ok(Rc::new(BitCast { to })),
        None => Err(Problem::expected("`to`", number, "an ONNX element type")),
    }
}

impl Operator for BitCast {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let kinds = [x.dtype.kind(), self.to.kind()];
        if kinds.contains(&ElementClass::String) || x.dtype.bits() != self.to.bits() {
            return Err(Problem::new(format!(
                "a bit cast from {} to {} is not supported, expected numeric types of the same width",
                x.dtype, self.to
            )));
        }
        if x.dtype == self.to {
            cx.output_same(0, 0);
            return Ok(());
        }
        if kinds.contains(&ElementClass::Complex) {
            return Err(Problem::new(format!(
                "a bit cast from {} to {} is not supported, expected real types",
                x.dtype, self.to
            )));
        }
        cx.output(0, self.to, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (from, to) = (cx.tensor_type(0)?.dtype, self.to);
        let x = cx.tensor(0)?;
        if from == to {
            return Ok(x);
        }
        Ok(match (from.kind(), to.kind()) {
            (ElementClass::Float, ElementClass::Float) => {
                to_float(&to_int(&x, from, unsigned(from)), unsigned(to), to)
            }
            (ElementClass::Float, ElementClass::Bool) => {
                let bits = to_int(&x, from, DType::U8);
                code!(ops::cast::to_bool(#bits))
            }
            (ElementClass::Bool, ElementClass::Float) => {
                to_float(&code!(ops::cast::bool_to_int(#x, DType::U8)), DType::U8, to)
            }
            (ElementClass::Float, _) => to_int(&x, from, to),
            (_, ElementClass::Float) => to_float(&x, from, to),
            (_, ElementClass::Bool) => code!(ops::cast::to_bool(#x)),
            (ElementClass::Bool, _) => {
                let target = format_ident!("{}", to.carrier());
                code!(ops::cast::bool_to_int(#x, DType::#target))
            }
            _ => between(&x, to),
        })
    }
}

/// Returns the bits of floats as integers.
fn to_int(x: &Code, from: DType, to: DType) -> Code {
    if let Some(small) = small_float(from, "Up") {
        let bits = code!(ops::bit_cast::small_to_int(#x, #small));
        return match to {
            DType::U8 | DType::U4 => bits,
            _ => between(&bits, to),
        };
    }
    let [from, to] = [from, to].map(|dtype| format_ident!("{}", dtype.carrier()));
    code!(ops::bit_cast::float_to_int(#x, DType::#from, DType::#to))
}

/// Returns the floats with the bits of integers.
fn to_float(x: &Code, from: DType, to: DType) -> Code {
    if let Some(small) = small_float(to, "Up") {
        return code!(ops::bit_cast::int_to_small(#x, #small));
    }
    let [from, to] = [from, to].map(|dtype| format_ident!("{}", dtype.carrier()));
    code!(ops::bit_cast::int_to_float(#x, DType::#from, DType::#to))
}

/// Converts integers to the type of the same width and the other signedness.
fn between(x: &Code, to: DType) -> Code {
    let target = format_ident!("{}", to.carrier());
    match to.bits() {
        bits @ 0..8 => {
            let bits = Literal::u32_unsuffixed(bits);
            code!(ops::small::to_bits(#x, DType::#target, #bits))
        }
        _ => code!(ops::cast::int_to_int(#x, DType::#target)),
    }
}

/// Returns the unsigned integer type of the same width.
fn unsigned(dtype: DType) -> DType {
    match dtype.bits() {
        64 => DType::U64,
        32 => DType::U32,
        16 => DType::U16,
        4 => DType::U4,
        _ => DType::U8,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn types_are_of_one_width() {
        check(
            r#"<ir_version: 13, opset_import: ["": 26]>
            g (float[n] x) => (int64[n] y) { y = BitCast <to = 7> (x) }"#,
            expect![[r#"
                cannot compile `model`

                  a bit cast from float32 to int64 is not supported, expected numeric types of the same width
                    at node `y` (BitCast version 26)

                  model: IR version 13, ai.onnx 26"#]],
        );
    }

    #[test]
    fn the_same_type_is_the_same_value() {
        check(
            r#"<ir_version: 13, opset_import: ["": 26]>
            g (float[n] x) => (float[n] y) { y = BitCast <to = 1> (x) }"#,
            expect![[r#"
                g (float32[n] x) => (float32[n] y)
                {
                    float32[n] y = BitCast <to: F32> (x)
                }
            "#]],
        );
    }
}
