//! Columns selected, concatenated and one-hot encoded.

use std::rc::Rc;

use proc_macro2::Literal;

use super::features::{NUMBERS, float, is_number, numbers};
use super::labels::{Labels, Wins};
use super::not_one_of;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{ML, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("ArrayFeatureExtractor", &[1], |_| Ok(Rc::new(Extractor))).arity("rr", "r").of(ML),
    row("FeatureVectorizer", &[1], vectorizer).arity("+", "r").of(ML),
    row("OneHotEncoder", &[1], one_hot).of(ML),
];

/// The columns at the indices in input 1. A vector is a row.
#[derive(Debug)]
struct Extractor;

attributes!(struct Extractor);

/// The columns of all inputs, concatenated; `columns` is the number from each input.
#[derive(Debug)]
struct Vectorizer {
    columns: Vec<i64>,
}

attributes!(struct Vectorizer { columns });

/// One-hot encoding of categories along a new axis.
#[derive(Debug)]
struct OneHotEncoder {
    categories: Labels,
    zeros: bool,
}

attributes!(struct OneHotEncoder { categories, zeros });

fn vectorizer(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let columns = a.required("inputdimensions", Attributes::ints)?;
    if let Some(size) = columns.iter().find(|&&size| size < 0) {
        let message = format!("`inputdimensions` contains {size}, expected non-negative integers");
        return Err(Problem::new(message));
    }
    sizes::length("`inputdimensions`", columns.len(), a.inputs())?;
    Ok(Rc::new(Vectorizer { columns }))
}

fn one_hot(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let ints = a.ints("cats_int64s")?.unwrap_or_default();
    let strings = a.strings("cats_strings")?.unwrap_or_default();
    let categories = match (ints.is_empty(), strings.is_empty()) {
        (false, true) => Labels::ints(ints),
        (true, false) => Labels::strings(strings),
        (is_empty, _) => return Err(not_one_of(["cats_int64s", "cats_strings"], !is_empty)),
    };
    let zeros = a.flag("zeros", true)?;
    Ok(Rc::new(OneHotEncoder { categories, zeros }))
}

impl Operator for Extractor {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        if x.rank() == 0 {
            return Err(Problem::expected("the input", x, "rank 1 or more"));
        }
        if indices.dtype != DType::I64 {
            return Err(Problem::expected("the tensor of indices", indices, "int64"));
        }
        let mut shape = match x.rank() {
            1 => vec![Dim::from(1)],
            rank => x.shape.iter().take(rank - 1).cloned().collect(),
        };
        let columns = indices.elements();
        shape.push(cx.dim_or_fresh(columns, "columns"));
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.rank());
        cx.may_fail();
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        Ok(code!(ops::features::extract::<_, _, #rank, _>(#x, #indices)))
    }

    fn moves(&self) -> bool {
        true
    }
}

impl Operator for Vectorizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let mut rows: Option<Dim> = None;
        for at in 0..cx.inputs() {
            let x = numbers(cx, at)?;
            let own = match x.shape.as_slice() {
                [first, _, ..] => first.clone(),
                _ => Dim::from(1),
            };
            if let Some(rows) = &rows {
                sizes::agree("the number of rows", rows, &own)?;
            }
            // A known number of rows is more precise.
            if rows.as_ref().is_none_or(|rows| rows.number().is_none()) {
                rows = Some(own);
            }
        }
        let rows = rows.unwrap_or_else(|| Dim::from(1));
        let sum = self.columns.iter().try_fold(0i64, |sum, &size| sum.checked_add(size));
        let sum = sum.ok_or_else(|| Problem::new("the sum of `inputdimensions` is too large"))?;
        cx.output(0, DType::F32, vec![rows, Dim::from(sum)]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let mut parts = Vec::new();
        for (at, &size) in self.columns.iter().enumerate() {
            let (x, size) = (float(cx, at, DType::F32)?, Literal::i64_unsuffixed(size));
            parts.push(code!(ops::features::columns(#x, #size)));
        }
        Ok(match parts.as_slice() {
            [only] => only.clone(),
            _ => code!(Tensor::cat(vec![#(#parts),*], 1)),
        })
    }
}

impl Operator for OneHotEncoder {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        match (self.categories.dtype, x.dtype) {
            (DType::String, DType::String) => {}
            (DType::I64, dtype) if is_number(dtype) => {}
            (DType::String, _) => return Err(Problem::expected("the input", x, "strings")),
            _ => return Err(Problem::expected("the input", x, NUMBERS)),
        }
        let mut shape = x.shape;
        let count = i64::try_from(self.categories.len()).unwrap_or(i64::MAX);
        shape.push(Dim::from(count));
        cx.output(0, DType::F32, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (dtype, rank) = (cx.tensor_type(0)?.dtype, cx.output_tensor(0)?.rank());
        let literals = self.categories.literals();
        if !cx.on_host() {
            let count = Literal::usize_unsuffixed(literals.len());
            let load = code! {
                constant::int::<1>(weights.device(), ElementType::Int64, [#count], &[#(#literals),*])
            };
            let categories = cx.layer("categories", code!(Tensor<1, Int>), load);
            let (x, rank) = (integers(cx, dtype)?, Literal::usize_unsuffixed(rank));
            return Ok(code!(ops::features::one_hot::<_, #rank>(#x, #categories.clone())));
        }
        if !self.zeros {
            cx.may_fail();
        }
        let x = cx.host(0)?;
        let x = match dtype {
            DType::String => code!(&host::texts(#x)),
            DType::I64 => x,
            _ => code!(&host::cast::<_, i64>(#x)),
        };
        let order = self.categories.order(Wins::Last);
        let entries = order.iter().filter_map(|&at| {
            let (key, index) = (literals.get(at)?, Literal::usize_unsuffixed(at));
            Some(code!((#key, #index)))
        });
        let (count, zeros) = (Literal::usize_unsuffixed(literals.len()), self.zeros);
        Ok(code!(host::one_hot_encoder(#x, &[#(#entries),*], #count, #zeros)))
    }

    /// Returns `true` for strings, or if values without a category are errors or categories are equal. Only the host
    /// supports these.
    fn makes_host(&self) -> bool {
        let equal = self.categories.order(Wins::Last).len() != self.categories.len();
        equal || !self.zeros || self.categories.dtype == DType::String
    }
}

/// Returns input 0 as 64-bit integers.
fn integers(cx: &mut Emit<'_, '_>, from: DType) -> Result<Code, Problem> {
    let x = cx.tensor(0)?;
    Ok(match from {
        DType::I64 => x,
        DType::I32 => code!(ops::cast::int_to_int(#x, DType::I64)),
        _ => code!(ops::cast::float_to_int(#x, DType::I64)),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn columns_are_side_by_side() {
        check(
            r#"<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 1]>
            g (int64[n, 3] x, double[4] v, int64[2] i, string[m] s) => (float[c, d] z, float[e, f, g] o, double[h, j] w, float[k, l] p) {
                z = ai.onnx.ml.FeatureVectorizer<inputdimensions: ints = [2, 3]>(x, x)
                o = ai.onnx.ml.OneHotEncoder<cats_int64s: ints = [5, 6, 7, 8]>(x)
                w = ai.onnx.ml.ArrayFeatureExtractor(v, i)
                p = ai.onnx.ml.OneHotEncoder<cats_strings: strings = ["a", "b"], zeros: int = 0>(s)
            }"#,
            expect![[r#"
                g (int64[n, 3] x, float64[4] v, int64[2] i, host string[m] s) => (float32[n, 5] z, float32[n, 3, 4] o, float64[1, 2] w, host float32[m, 2] p)
                {
                    float32[n, 5] z = ai.onnx.ml.FeatureVectorizer <columns: [2, 3]> (x, x)
                    float32[n, 3, 4] o = ai.onnx.ml.OneHotEncoder <categories: {dtype: I64, elements: {[5, 6, 7, 8]}}, zeros: true> (x)
                    float64[1, 2] w = ai.onnx.ml.ArrayFeatureExtractor (v, i)
                    host float32[m, 2] p = ai.onnx.ml.OneHotEncoder <categories: {dtype: String, elements: {["a", "b"]}}> (s)
                }
            "#]],
        );
    }

    #[test]
    fn columns_side_by_side_have_as_many_rows() {
        problems(
            &[
                "(float[2, 3] a, float[3, 1] b) => (y) { y = ai.onnx.ml.FeatureVectorizer <inputdimensions: ints = [3, 1]> (a, b) }",
                "(float[2, 3] a, float[4] b) => (y) { y = ai.onnx.ml.FeatureVectorizer <inputdimensions: ints = [3, 4]> (a, b) }",
                "(float[n, 3] a, float[1, 4] b) => (y) { y = ai.onnx.ml.FeatureVectorizer <inputdimensions: ints = [3, 4]> (a, b) }",
            ],
            expect![[r#"
                the number of rows is 2 in one input and 3 in another
                the number of rows is 2 in one input and 1 in another
                fine
            "#]],
        );
    }
}
