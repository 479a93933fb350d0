//! Features scaled, normalized and replaced.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::not_one_of;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, element_type, float_literal};
use crate::infer::Infer;
use crate::ops::{ML, Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("Binarizer", &[1], |a| Ok(Rc::new(Binarizer { threshold: a.float_or("threshold", 0.0)? }))).of(ML),
    row("Imputer", &[1], imputer).of(ML),
    row("Normalizer", &[1], normalizer).of(ML),
    row("Scaler", &[1], |a| {
        Ok(Rc::new(Scaler {
            offset: a.floats("offset")?.unwrap_or(vec![0.0]),
            scale: a.floats("scale")?.unwrap_or(vec![1.0]),
        }))
    })
    .of(ML),
];

/// 1 if an element is greater than a threshold, otherwise 0.
#[derive(Debug)]
struct Binarizer {
    threshold: f32,
}

attributes!(struct Binarizer { threshold });

/// Replacement of one value by others, one for each feature or one for all.
#[derive(Debug)]
enum Imputer {
    Floats(f32, Vec<f32>),
    Ints(i64, Vec<i64>),
}

attributes!(
    enum Imputer {
        Floats(first, second),
        Ints(first, second),
    }
);

/// Rows divided by a norm. `norm` is its name in the kernels.
#[derive(Debug)]
struct Normalizer {
    norm: &'static str,
}

attributes!(struct Normalizer { norm });

/// `(x - offset) * scale`.
#[derive(Debug)]
struct Scaler {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

attributes!(struct Scaler { offset, scale });

fn imputer(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let floats = a.floats("imputed_value_floats")?.unwrap_or_default();
    let ints = a.ints("imputed_value_int64s")?.unwrap_or_default();
    let float = a.float_or("replaced_value_float", 0.0)?;
    let int = a.int_or("replaced_value_int64", 0)?;
    match (floats.is_empty(), ints.is_empty()) {
        (false, true) => Ok(Rc::new(Imputer::Floats(float, floats))),
        (true, false) => Ok(Rc::new(Imputer::Ints(int, ints))),
        (is_empty, _) => Err(not_one_of(["imputed_value_floats", "imputed_value_int64s"], !is_empty)),
    }
}

fn normalizer(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let norm = a.choice("norm", "MAX", &[("MAX", "Max"), ("L1", "L1"), ("L2", "L2")])?;
    Ok(Rc::new(Normalizer { norm }))
}

impl Operator for Binarizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = numbers(cx, 0)?;
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let kind = cx.tensor_type(0)?.dtype.kind();
        let (x, threshold) = (cx.tensor(0)?, float_literal(f64::from(self.threshold), DType::F64));
        Ok(match kind {
            ElementClass::Int => code!(ops::features::binarize_int(#x, #threshold)),
            _ => code!(ops::features::binarize(#x, #threshold)),
        })
    }
}

impl Operator for Imputer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = numbers(cx, 0)?;
        let (name, kind, expected, count) = match self {
            Imputer::Floats(_, values) => {
                ("imputed_value_floats", ElementClass::Float, "floats", values.len())
            }
            Imputer::Ints(_, values) => ("imputed_value_int64s", ElementClass::Int, "integers", values.len()),
        };
        if x.dtype.kind() != kind {
            return Err(Problem::expected("the input", x, format_args!("{expected} for `{name}`")));
        }
        features(&x, name, count)?;
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let dtype = cx.tensor_type(0)?.dtype;
        let x = cx.tensor(0)?;
        Ok(match self {
            Imputer::Floats(replaced, values) => {
                let values = row_of(cx, "imputed", dtype, values);
                let replaced = float_literal(f64::from(*replaced), DType::F64);
                code!(ops::features::impute(#x, #replaced, #values))
            }
            Imputer::Ints(replaced, values) => {
                let (count, element) = (Literal::usize_unsuffixed(values.len()), element_type(dtype));
                let values = values.iter().map(|&value| Literal::i64_unsuffixed(value));
                let load = code! {
                    constant::int::<1>(weights.device(), #element, [#count], &[#(#values),*])
                };
                let values = cx.layer("imputed", code!(Tensor<1, Int>), load);
                let replaced = Literal::i64_unsuffixed(*replaced);
                code!(ops::features::impute_int(#x, #replaced, #values.clone()))
            }
        })
    }
}

impl Operator for Normalizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = numbers(cx, 0)?;
        if !matches!(x.rank(), 1 | 2) {
            return Err(Problem::expected("the input", x, "shape [N, C] or [C]"));
        }
        cx.output(0, DType::F32, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, norm) = (float(cx, 0, DType::F32)?, format_ident!("{}", self.norm));
        Ok(code!(ops::features::normalize(#x, ops::features::Norm::#norm)))
    }
}

impl Operator for Scaler {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = numbers(cx, 0)?;
        features(&x, "offset", self.offset.len())?;
        features(&x, "scale", self.scale.len())?;
        cx.output(0, DType::F32, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let exact = match cx.tensor_type(0)?.dtype {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        let x = float(cx, 0, exact)?;
        let offset = row_of(cx, "offset", exact, &self.offset);
        let scale = row_of(cx, "scale", exact, &self.scale);
        let scaled = code!(ops::features::scale(#x, #offset, #scale));
        Ok(match exact {
            DType::F64 => code!(ops::cast::float_to_float(#scaled, DType::F32)),
            _ => scaled,
        })
    }
}

/// The element types of these operators, as messages name them.
pub const NUMBERS: &str = "floats or integers of 32 or 64 bits";

pub fn is_number(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::I64 | DType::I32)
}

/// Returns the type of an input, which must be an element type of these operators.
pub fn numbers(cx: &Infer<'_>, input: usize) -> Result<TensorType, Problem> {
    let operand = cx.tensor(input)?;
    if is_number(operand.dtype) {
        Ok(operand)
    } else {
        Err(Problem::expected(format_args!("input {input}"), operand, NUMBERS))
    }
}

/// Checks that the number of values is 1 or the number of features.
fn features(x: &TensorType, name: &str, count: usize) -> Result<(), Problem> {
    match x.shape.last().map_or(Some(1), Dim::number) {
        Some(size) if count != 1 && usize::try_from(size) != Ok(count) => {
            let expected = if size == 1 { "1".to_owned() } else { format!("1 or {size}") };
            Err(Problem::new(format!("`{name}` has {count} elements for the input {x}, expected {expected}")))
        }
        _ => Ok(()),
    }
}

/// Returns an input converted to a float type.
pub fn float(cx: &mut Emit<'_, '_>, input: usize, to: DType) -> Result<Code, Problem> {
    let from = cx.tensor_type(input)?.dtype;
    let (x, target) = (cx.tensor(input)?, format_ident!("{to:?}"));
    Ok(match from.kind() {
        ElementClass::Int => code!(ops::cast::int_to_float(#x, DType::#target)),
        _ if from == to => x,
        _ => code!(ops::cast::float_to_float(#x, DType::#target)),
    })
}

/// Returns a field with these floats as a vector.
fn row_of(cx: &mut Emit<'_, '_>, hint: &str, dtype: DType, values: &[f32]) -> Code {
    let (count, element) = (Literal::usize_unsuffixed(values.len()), element_type(dtype));
    let values = values.iter().map(|&value| float_literal(f64::from(value), DType::F64));
    let load = code!(constant::float::<1>(weights.device(), #element, [#count], &[#(#values),*]));
    let field = cx.layer(hint, code!(Tensor<1>), load);
    code!(#field.clone())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::ml;

    #[test]
    fn features_become_floats() {
        ml(
            r#"g (int64[n, 3] x) => (float[a, b] y) {
                s = ai.onnx.ml.Scaler<offset: floats = [1.0, 2.0, 3.0], scale: floats = [0.5]>(x)
                y = ai.onnx.ml.Normalizer<norm: string = "L2">(s)
            }"#,
            expect![[r#"
                g (int64[n, 3] x) => (float32[n, 3] y)
                {
                    float32[n, 3] s = ai.onnx.ml.Scaler <offset: [1.0, 2.0, 3.0], scale: [0.5]> (x)
                    float32[n, 3] y = ai.onnx.ml.Normalizer <norm: "L2"> (s)
                }
            "#]],
        );
    }

    #[test]
    fn values_must_fit_the_features() {
        ml(
            r#"g (int64[n, 3] x, float[n, 2] f) => (int64[a, b] y, float[c, d] z, float[e, h] w) {
                y = ai.onnx.ml.Imputer<imputed_value_floats: floats = [1.0]>(x)
                z = ai.onnx.ml.Imputer<imputed_value_floats: floats = [1.0, 2.0, 3.0]>(f)
                w = ai.onnx.ml.Scaler<scale: floats = [1.0, 2.0, 3.0]>(f)
            }"#,
            expect![[r#"
                cannot compile `model`: 3 problems

                  the input is int64[n, 3], expected floats for `imputed_value_floats`
                    at node `y` (ai.onnx.ml.Imputer version 1)

                  `imputed_value_floats` has 3 elements for the input float32[n, 2], expected 1 or 2
                    at node `z` (ai.onnx.ml.Imputer version 1)

                  `scale` has 3 elements for the input float32[n, 2], expected 1 or 2
                    at node `w` (ai.onnx.ml.Scaler version 1)

                  model: IR version 10, ai.onnx 21, ai.onnx.ml 1"#]],
        );
    }
}
