//! Parses types, shapes, and values with a type.

use super::Error;
use super::parser::Parser;
use super::tokens::Token;
use crate::proto::{
    DataType, Dimension, DimensionValue, MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType,
    TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};

const TENSOR_TYPES: [(&str, DataType); 28] = [
    ("float", DataType::Float),
    ("uint8", DataType::Uint8),
    ("int8", DataType::Int8),
    ("uint16", DataType::Uint16),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("string", DataType::String),
    ("bool", DataType::Bool),
    ("float16", DataType::Float16),
    ("double", DataType::Double),
    ("uint32", DataType::Uint32),
    ("uint64", DataType::Uint64),
    ("complex64", DataType::Complex64),
    ("complex128", DataType::Complex128),
    ("bfloat16", DataType::Bfloat16),
    ("float8e4m3fn", DataType::Float8e4m3fn),
    ("float8e4m3fnuz", DataType::Float8e4m3fnuz),
    ("float8e5m2", DataType::Float8e5m2),
    ("float8e5m2fnuz", DataType::Float8e5m2fnuz),
    ("uint4", DataType::Uint4),
    ("int4", DataType::Int4),
    ("float4e2m1", DataType::Float4e2m1),
    ("float8e8m0", DataType::Float8e8m0),
    ("uint2", DataType::Uint2),
    ("int2", DataType::Int2),
    ("float6e2m3", DataType::Float6e2m3),
    ("float6e3m2", DataType::Float6e3m2),
];

impl Parser<'_> {
    pub(super) fn at_type(&self) -> bool {
        let Token::Identifier(word) = self.peek() else {
            return false;
        };
        tensor_type(word).is_some() || matches!(word, "seq" | "map" | "optional" | "sparse_tensor" | "opaque")
    }

    pub(super) fn value_type(&mut self) -> Result<TypeProto, Error> {
        let value = match self.peek() {
            Token::Identifier("seq") => TypeValue::Sequence(SequenceType {
                elem_type: Some(Box::new(self.in_parentheses(Parser::value_type)?)),
            }),
            Token::Identifier("optional") => TypeValue::Optional(OptionalType {
                elem_type: Some(Box::new(self.in_parentheses(Parser::value_type)?)),
            }),
            Token::Identifier("map") => TypeValue::Map(self.in_parentheses(Parser::map_type)?),
            Token::Identifier("sparse_tensor") => {
                let TensorType { elem_type, shape } = self.in_parentheses(Parser::tensor_type)?;
                TypeValue::SparseTensor(SparseTensorType { elem_type, shape })
            }
            Token::Identifier("opaque") => TypeValue::Opaque(self.in_parentheses(Parser::opaque_type)?),
            _ => TypeValue::Tensor(self.tensor_type()?),
        };
        Ok(TypeProto { value: Some(value), denotation: String::new() })
    }

    /// Parses a name with an optional type before it.
    pub(super) fn value_info(&mut self) -> Result<ValueInfoProto, Error> {
        let r#type = if self.at_type() { Some(self.value_type()?) } else { None };
        Ok(ValueInfoProto { name: self.name()?, r#type, ..Default::default() })
    }

    pub(super) fn value_infos(&mut self, close: char) -> Result<Vec<ValueInfoProto>, Error> {
        let mut values = Vec::new();
        self.list(close, |parser| {
            values.push(parser.value_info()?);
            Ok(())
        })?;
        Ok(values)
    }

    /// Parses a keyword and a rule in parentheses.
    fn in_parentheses<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.identifier()?;
        self.expect('(')?;
        let value = self.nested(rule)?;
        self.expect(')')?;
        Ok(value)
    }

    /// Parses a tensor type. Without brackets the rank is 0; with empty ones it is unknown.
    fn tensor_type(&mut self) -> Result<TensorType, Error> {
        let elem_type = self.element_type()?;
        if !self.accept('[') {
            return Ok(TensorType { elem_type, shape: Some(TensorShapeProto::default()) });
        }
        let mut dim = Vec::new();
        self.list(']', |parser| {
            dim.push(parser.dimension()?);
            Ok(())
        })?;
        let shape = if dim.is_empty() { None } else { Some(TensorShapeProto { dim }) };
        Ok(TensorType { elem_type, shape })
    }

    fn element_type(&mut self) -> Result<i32, Error> {
        let Token::Identifier(word) = self.peek() else {
            return Err(self.expected("a type"));
        };
        let Some(data_type) = tensor_type(word) else {
            return Err(self.expected("a type"));
        };
        self.take();
        Ok(data_type.into())
    }

    fn dimension(&mut self) -> Result<Dimension, Error> {
        let value = match self.peek() {
            Token::Mark('?') => {
                self.take();
                None
            }
            Token::Integer(_) => Some(DimensionValue::Value(self.integer()?)),
            Token::Identifier(_) | Token::Quoted(_) => Some(DimensionValue::Name(self.name()?)),
            _ => return Err(self.expected("a size, a name or `?`")),
        };
        Ok(Dimension { value, denotation: String::new() })
    }

    fn map_type(&mut self) -> Result<MapType, Error> {
        let key_type = self.element_type()?;
        self.expect(',')?;
        Ok(MapType { key_type, value_type: Some(Box::new(self.value_type()?)) })
    }

    /// Parses nothing, a name, or a domain and a name. A domain may contain points.
    fn opaque_type(&mut self) -> Result<OpaqueType, Error> {
        if self.at(')') {
            return Ok(OpaqueType::default());
        }
        let mut name = self.identifier()?.to_owned();
        while self.accept('.') {
            name = format!("{name}.{}", self.identifier()?);
        }
        if !self.accept(',') {
            return Ok(OpaqueType { domain: String::new(), name });
        }
        Ok(OpaqueType { domain: name, name: self.identifier()?.to_owned() })
    }
}

fn tensor_type(word: &str) -> Option<DataType> {
    TENSOR_TYPES.iter().find(|(name, _)| *name == word).map(|(_, data_type)| *data_type)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Prints the type of a value.
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&match Parser::new(text).value_info() {
            Ok(value) => format!("{}: {}", value.name, describe(&value.r#type.unwrap())),
            Err(error) => error.to_string(),
        });
    }

    fn describe(value: &TypeProto) -> String {
        let inner = |value: &Option<Box<TypeProto>>| describe(value.as_deref().unwrap());
        match value.value.as_ref().unwrap() {
            TypeValue::Tensor(tensor) => format!("{} {}", tensor.elem_type, shape(&tensor.shape)),
            TypeValue::SparseTensor(sparse) => {
                format!("sparse {} {}", sparse.elem_type, shape(&sparse.shape))
            }
            TypeValue::Sequence(sequence) => format!("seq {}", inner(&sequence.elem_type)),
            TypeValue::Optional(optional) => format!("optional {}", inner(&optional.elem_type)),
            TypeValue::Map(map) => format!("map {} {}", map.key_type, inner(&map.value_type)),
            TypeValue::Opaque(opaque) => format!("opaque {:?} {:?}", opaque.domain, opaque.name),
        }
    }

    fn shape(shape: &Option<TensorShapeProto>) -> String {
        let Some(shape) = shape else {
            return "of unknown rank".to_owned();
        };
        let sizes = shape.dim.iter().map(|dim| match &dim.value {
            None => "?".to_owned(),
            Some(DimensionValue::Value(size)) => size.to_string(),
            Some(DimensionValue::Name(name)) => name.clone(),
        });
        format!("{:?}", sizes.collect::<Vec<_>>())
    }

    #[test]
    fn sizes_are_numbers_names_or_unknown() {
        check(r#"float[N, 3, ?, "2*N"] x"#, expect![[r#"x: 1 ["N", "3", "?", "2*N"]"#]]);
    }

    #[test]
    fn no_brackets_mean_rank_zero() {
        check("int64 x", expect![[r#"x: 7 []"#]]);
    }

    #[test]
    fn empty_brackets_mean_an_unknown_rank() {
        check("bool[] x", expect!["x: 9 of unknown rank"]);
    }

    #[test]
    fn types_contain_types() {
        check("optional(seq(float[2])) x", expect![[r#"x: optional seq 1 ["2"]"#]]);
        check("map(int64, string) x", expect!["x: map 7 8 []"]);
        check("sparse_tensor(float16[]) x", expect!["x: sparse 10 of unknown rank"]);
        check("opaque(ai.onnx, Thing) x", expect![[r#"x: opaque "ai.onnx" "Thing""#]]);
        check("opaque(a.Thing) x", expect![[r#"x: opaque "" "a.Thing""#]]);
    }

    #[test]
    fn an_unknown_type_is_an_error() {
        check("seq(flot) x", expect!["line 1, column 5: expected a type, found `flot`"]);
        check("float[-] x", expect!["line 1, column 7: expected a size, a name or `?`, found `-`"]);
    }

    #[test]
    fn types_nest_only_so_deep() {
        let deep = "seq(".repeat(100_000);
        check(&deep, expect!["line 1, column 133: nested more than 32 levels deep"]);
    }
}
