//! Tensors filled with constants or diagonals.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, element_type, float_literal, host_element};
use crate::infer::Infer;
use crate::ops::elementwise::cast::from_bool;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, Shape};

pub const ROWS: &[Row] = &[
    row("ConstantOfShape", &[9, 20, 21, 23, 24, 25], constant_of_shape).hoisted(),
    row("EyeLike", &[9, 22], eye_like),
];

/// A tensor of a given shape filled with one value.
#[derive(Debug)]
pub struct ConstantOfShape {
    dtype: DType,
    pub value: Known,
}

attributes!(struct ConstantOfShape { dtype, value });

/// Ones on the `k`-th diagonal of a matrix with the sizes of the input.
#[derive(Debug)]
struct EyeLike {
    dtype: Option<DType>,
    k: i64,
}

attributes!(struct EyeLike { dtype, k });

fn constant_of_shape(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let Some(weight) = a.tensor("value")? else {
        let (dtype, value) = (DType::F32, Known::Floats(vec![0.0]));
        return Ok(Rc::new(ConstantOfShape { dtype, value }));
    };
    match weight.known() {
        Some(value) if value.len() == 1 => {
            let dtype = weight.dtype;
            Ok(Rc::new(ConstantOfShape { dtype, value }))
        }
        _ => Err(Problem::expected("`value`", weight.tensor_type(), "one number or boolean")),
    }
}

fn eye_like(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let dtype =
        match a.int("dtype")? {
            None => None,
            Some(number) => {
                let dtype = i32::try_from(number).ok().and_then(DType::from_onnx);
                let kinds = [ElementClass::Float, ElementClass::Int, ElementClass::Bool];
                let dtype = dtype.filter(|dtype| kinds.contains(&dtype.kind()));
                Some(dtype.ok_or_else(|| {
                    Problem::expected("`dtype`", number, "a numeric or boolean element type")
                })?)
            }
        };
    let k = a.int_or("k", 0)?;
    Ok(Rc::new(EyeLike { dtype, k }))
}

impl Operator for ConstantOfShape {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let shape: Shape = match cx.ints(0) {
            Some(sizes) => sizes,
            None => {
                let rank = sizes::rank(cx, 0)?;
                (0..rank).map(|_| cx.fresh("constant")).collect()
            }
        };
        if let Some(size) = shape.iter().filter_map(Dim::number).find(|&size| size < 0) {
            return Err(Problem::expected("a size of the result", size, "a non-negative integer"));
        }
        let sizes = broadcast::fixed(&shape);
        let count = sizes.map(|sizes| sizes.iter().product::<usize>());
        cx.output(0, self.dtype, shape);
        if let Some(count) = count.filter(|&count| count <= broadcast::MAX_KNOWN_ELEMENTS)
            && let Some(known) = self.value.pick(&vec![0; count])
        {
            cx.output_known(0, known);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let known = cx.is_known(0);
        let shape = cx.output_tensor(0)?.shape.clone();
        if !known || cx.output_tensor(0)?.count().is_none() {
            cx.may_fail();
        }
        if cx.on_host() {
            let sizes = if known {
                let sizes = cx.shape_of(&shape);
                code!(&#sizes)
            } else {
                cx.host_ints(0)?
            };
            let carried = match self.dtype {
                DType::F32 => DType::F32,
                _ => DType::F64,
            };
            let (element, value) = (host_element(self.dtype), self.literal(carried));
            return Ok(match self.dtype {
                DType::F16 | DType::Bf16 => code!(host::fill(#sizes, #element::from_f64(#value))),
                DType::Bool => code!(host::fill(#sizes, #value)),
                _ => code!(host::fill::<#element>(#sizes, #value)),
            });
        }
        let shape = if known {
            cx.shape(&shape)
        } else {
            let sizes = cx.host_ints(0)?;
            let rank = Literal::usize_unsuffixed(shape.len());
            code!(host::sizes::<#rank>(#sizes))
        };
        let (device, element, value) = (cx.device(), element_type(self.dtype), self.literal(DType::F64));
        Ok(match self.dtype.kind() {
            ElementClass::Bool => code!(constant::full_boolean(#device, #shape, #value)),
            ElementClass::Int => code!(constant::full_int(#device, #element, #shape, #value)),
            _ => code!(constant::full(#device, #element, #shape, #value)),
        })
    }

    fn wants_host(&self, _: usize) -> bool {
        true
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.is_fixed(0).then(|| rows.axis_of_output()).flatten().map(|axis| vec![axis])
    }
}

impl ConstantOfShape {
    fn literal(&self, float: DType) -> Code {
        match &self.value {
            Known::Floats(values) => float_literal(values.first().copied().unwrap_or_default(), float),
            Known::Bools(values) => {
                let value = values.first().copied().unwrap_or_default();
                code!(#value)
            }
            Known::Ints(values) => {
                let value = values.first().and_then(Dim::number).unwrap_or_default();
                let value = Literal::i64_unsuffixed(value);
                code!(#value)
            }
            Known::Strings(_) => code!(String::new()),
        }
    }
}

impl Operator for EyeLike {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 2)?;
        let dtype = self.dtype.unwrap_or(x.dtype);
        let known = broadcast::fixed(&x.shape).and_then(|shape| self.ones(&shape));
        cx.output(0, dtype, x.shape);
        if let Some(ones) = known {
            let known = match dtype.kind() {
                ElementClass::Bool => Known::Bools(ones),
                ElementClass::Int => Known::Ints(ones.into_iter().map(|one| i64::from(one).into()).collect()),
                _ => Known::Floats(ones.into_iter().map(f64::from).collect()),
            };
            cx.output_known(0, known);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let output = cx.output_tensor(0)?.clone();
        if output.count().is_none() {
            cx.may_fail();
        }
        let (shape, k) = (cx.shape(&output.shape), Literal::i64_unsuffixed(self.k));
        let device = cx.device();
        let ones = code!(ops::select::eye_like(#shape, #k, #device));
        Ok(from_bool(&ones, output.dtype))
    }
}

impl EyeLike {
    fn ones(&self, shape: &[usize]) -> Option<Vec<bool>> {
        let [rows, columns] = *shape else {
            return None;
        };
        let count = rows.checked_mul(columns)?;
        if count > broadcast::MAX_KNOWN_ELEMENTS {
            return None;
        }
        let k = i128::from(self.k);
        let one = |row: usize| move |column: usize| row as i128 + k == column as i128;
        Some((0..rows).flat_map(|row| (0..columns).map(one(row))).collect())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_shape_is_filled() {
        check(
            "g (float[n, m] x) => (int64[a, b] y, float[c, d] z) <int64[2] two = {2, 1}> {
                s = Shape(x)
                y = ConstantOfShape<value: tensor = int64[1] {7}>(two)
                z = ConstantOfShape(s)
            }",
            expect![[r#"
                g (float32[n, m] x) => (int64[2, 1] y, float32[n, m] z)
                <
                    int64[2] s = {n, m},
                    int64[2, 1] y = {7, 7}
                >
                {
                    float32[n, m] z = ConstantOfShape <dtype: F32, value: {[0.0]}> (s)
                }
            "#]],
        );
    }

    #[test]
    fn ones_stand_on_a_diagonal() {
        check(
            "g (float[2, 3] x, float[n, 3] y) => (int32[a, b] i, float[c, d] j) {
                i = EyeLike<dtype: int = 6, k: int = 1>(x)
                j = EyeLike(y)
            }",
            expect![[r#"
                g (float32[2, 3] x, float32[n, 3] y) => (int32[2, 3] i, float32[n, 3] j)
                <
                    int32[2, 3] i = {0, 1, 0, 0, 0, 1}
                >
                {
                    float32[n, 3] j = EyeLike <k: 0> (y)
                }
            "#]],
        );
    }
}
