//! Conversions between maps and rows of tensors.

use std::rc::Rc;

use proc_macro2::Literal;

use super::labels::Labels;
use super::not_one_of;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, counted};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, host_element};
use crate::infer::Infer;
use crate::ops::{ML, Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::Type;

pub const ROWS: &[Row] = &[
    row("CastMap", &[1], cast_map).of(ML),
    row("DictVectorizer", &[1], |a| {
        let keys = keys(a, "int64_vocabulary", "string_vocabulary")?;
        Ok(Rc::new(DictVectorizer { keys }))
    })
    .of(ML),
    row("ZipMap", &[1], |a| {
        let keys = keys(a, "classlabels_int64s", "classlabels_strings")?;
        Ok(Rc::new(ZipMap { keys }))
    })
    .of(ML),
];

/// The values of a map in the order of their keys, or each at the index that equals its key.
#[derive(Debug)]
struct CastMap {
    to: DType,
    size: Option<i64>,
}

attributes!(struct CastMap { to, size });

/// The values of a map in the order of a vocabulary.
#[derive(Debug)]
struct DictVectorizer {
    keys: Labels,
}

attributes!(struct DictVectorizer { keys });

/// A map for each row.
#[derive(Debug)]
struct ZipMap {
    keys: Labels,
}

attributes!(struct ZipMap { keys });

fn cast_map(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let types = [("TO_FLOAT", DType::F32), ("TO_STRING", DType::String), ("TO_INT64", DType::I64)];
    let to = a.choice("cast_to", "TO_FLOAT", &types)?;
    let size = a.int_or("max_map", 1)?;
    let is_sparse = a.choice("map_form", "DENSE", &[("DENSE", false), ("SPARSE", true)])?;
    if is_sparse && size < 1 {
        return Err(Problem::expected("`max_map`", size, "a positive integer"));
    }
    Ok(Rc::new(CastMap { to, size: is_sparse.then_some(size) }))
}

/// Reads the one list of two that is present.
fn keys(a: &Attributes<'_>, ints: &str, strings: &str) -> Result<Labels, Problem> {
    let present = |labels: &Labels| !labels.is_empty();
    let numbers = a.ints(ints)?.map(Labels::ints).filter(present);
    let texts = a.strings(strings)?.map(Labels::strings).filter(present);
    match (numbers, texts) {
        (Some(keys), None) | (None, Some(keys)) => Ok(keys),
        (numbers, _) => Err(not_one_of([ints, strings], numbers.is_some())),
    }
}

/// Returns the types of the keys and values of input 0.
fn map(cx: &Infer<'_>) -> Result<(DType, DType), Problem> {
    match cx.ty(0)? {
        Type::Map(key, item) => match item.as_tensor() {
            Some(item) if item.rank() == 0 => Ok((*key, item.dtype)),
            _ => Err(Problem::new(format!("the map contains {item}, expected scalars"))),
        },
        other => Err(Problem::expected("the input", other, "a map")),
    }
}

impl Operator for CastMap {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        match map(cx)? {
            (DType::I64, DType::F32 | DType::String) => {}
            (key, item) => {
                return Err(Problem::new(format!(
                    "the input is a map from {key} to {item}, expected int64 to float32 or string"
                )));
            }
        }
        let size = match self.size {
            Some(size) => Dim::from(size),
            None => cx.fresh("values"),
        };
        cx.output(0, self.to, vec![Dim::from(1), size]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, element) = (cx.value(0)?, host_element(self.to));
        let size = match self.size {
            Some(size) => {
                let size = Literal::i64_unsuffixed(size);
                code!(Some(#size))
            }
            None => code!(None),
        };
        Ok(code!(host::cast_map::<_, #element>(&#x, #size)))
    }

    fn makes_host(&self) -> bool {
        true
    }
}

impl Operator for DictVectorizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (key, item) = map(cx)?;
        if key != self.keys.dtype {
            return Err(Problem::new(format!(
                "the keys of the map have type {key}, expected {}, the type of the vocabulary",
                self.keys.dtype
            )));
        }
        let size = Dim::from(i64::try_from(self.keys.len()).unwrap_or(i64::MAX));
        cx.output(0, item, vec![Dim::from(1), size]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, keys) = (cx.value(0)?, self.keys.literals());
        Ok(code!(host::dict_vectorizer(&#x, &[#(#keys),*])))
    }

    fn makes_host(&self) -> bool {
        true
    }
}

impl Operator for ZipMap {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let count = i64::try_from(self.keys.len()).unwrap_or(i64::MAX);
        let columns = x.shape.last().and_then(Dim::number);
        if x.dtype != DType::F32 || !matches!(x.rank(), 1 | 2) {
            return Err(Problem::expected("the input", x, "float32 of shape [N, C] or [C]"));
        }
        if columns.is_some_and(|columns| columns != count) {
            let expected = format!("{}, one per key", counted(count, "columns"));
            return Err(Problem::expected("the input", x, expected));
        }
        let value = Type::tensor(DType::F32, vec![]);
        let map = Type::Map(self.keys.dtype, Box::new(value));
        cx.output_type(0, Type::Sequence(Box::new(map)));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let columns = cx.tensor_type(0)?.shape.last().and_then(Dim::number);
        if columns.is_none() {
            cx.may_fail();
        }
        let (x, keys) = (cx.host(0)?, self.keys.literals());
        let key = host_element(self.keys.dtype);
        Ok(code!(host::zip_map::<#key, _>(#x, &[#(#keys),*])))
    }

    fn makes_host(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::ml;

    #[test]
    fn rows_become_maps() {
        ml(
            r#"g (float[n, 2] x) => (seq(map(int64, float)) y, seq(map(string, float)) z) {
                y = ai.onnx.ml.ZipMap<classlabels_int64s: ints = [1, 0]>(x)
                z = ai.onnx.ml.ZipMap<classlabels_strings: strings = ["a", "b"]>(x)
            }"#,
            expect![[r#"
                g (host float32[n, 2] x) => (host seq(map(int64, float32[])) y, host seq(map(string, float32[])) z)
                {
                    host seq(map(int64, float32[])) y = ai.onnx.ml.ZipMap <keys: {dtype: I64, elements: {[1, 0]}}> (x)
                    host seq(map(string, float32[])) z = ai.onnx.ml.ZipMap <keys: {dtype: String, elements: {["a", "b"]}}> (x)
                }
            "#]],
        );
    }

    #[test]
    fn maps_become_rows() {
        ml(
            r#"g (map(int64, float) x) => (float[a, b] y, string[c, d] z, float[e, f] w) {
                y = ai.onnx.ml.DictVectorizer<int64_vocabulary: ints = [4, 2]>(x)
                z = ai.onnx.ml.CastMap<cast_to: string = "TO_STRING">(x)
                w = ai.onnx.ml.CastMap<map_form: string = "SPARSE", max_map: int = 5>(x)
            }"#,
            expect![[r#"
                g (map(int64, float32[]) x) => (host float32[1, 2] y, host string[1, values] z, host float32[1, 5] w)
                {
                    host float32[1, 2] y = ai.onnx.ml.DictVectorizer <keys: {dtype: I64, elements: {[4, 2]}}> (x)
                    host string[1, values] z = ai.onnx.ml.CastMap <to: String> (x)
                    host float32[1, 5] w = ai.onnx.ml.CastMap <to: F32, size: 5> (x)
                }
            "#]],
        );
    }

    #[test]
    fn keys_must_fit() {
        ml(
            r#"g (map(int64, float) x, float[n, 3] t) => (float[a, b] y, seq(map(int64, float)) z) {
                y = ai.onnx.ml.DictVectorizer<string_vocabulary: strings = ["a"]>(x)
                z = ai.onnx.ml.ZipMap<classlabels_int64s: ints = [1, 0]>(t)
            }"#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  the keys of the map have type int64, expected string, the type of the vocabulary
                    at node `y` (ai.onnx.ml.DictVectorizer version 1)

                  the input is float32[n, 3], expected 2 columns, one per key
                    at node `z` (ai.onnx.ml.ZipMap version 1)

                  model: IR version 10, ai.onnx 21, ai.onnx.ml 1"#]],
        );
    }
}
