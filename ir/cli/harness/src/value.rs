//! Recorded and computed values.

use std::fmt;

use half::{bf16, f16};
use onnx_embed_ir::dtype::DType;

/// Value of an input or output of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Tensor(Tensor),
    Strings { shape: Vec<usize>, texts: Vec<String> },
    Sequence(Vec<Value>),
    Optional(Option<Box<Value>>),
    Map(Vec<(Key, Value)>),
}

/// Numbers or booleans, as little-endian bytes in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Int(i64),
    Text(String),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Int(number) => number.fmt(f),
            Key::Text(text) => text.fmt(f),
        }
    }
}

/// Values by name.
pub type Values = Vec<(String, Value)>;

impl Value {
    /// Returns the kind of the value, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Strings { .. } => "a tensor of strings",
            Value::Sequence(_) => "a sequence",
            Value::Optional(Some(_)) => "an optional",
            Value::Optional(None) => "an empty optional",
            Value::Map(_) => "a map",
        }
    }
}

impl Tensor {
    /// Returns the elements as numbers, or `None` for types that no tensor has here, such as complex numbers.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        macro_rules! numbers {
            ($($dtype:ident $number:ty, $wide:expr;)*) => {
                match self.dtype {
                    $(DType::$dtype => {
                        const SIZE: usize = size_of::<$number>();
                        let chunks = self.bytes.as_chunks::<SIZE>().0.iter();
                        let wide = $wide;
                        chunks.map(|chunk| wide(<$number>::from_le_bytes(*chunk))).collect()
                    })*
                    DType::Bool => self.bytes.iter().copied().map(f64::from).collect(),
                    _ => return None,
                }
            };
        }
        Some(numbers! {
            F32 f32, f64::from;
            F64 f64, |wide| wide;
            F16 f16, f16::to_f64;
            Bf16 bf16, bf16::to_f64;
            I8 i8, f64::from;
            I16 i16, f64::from;
            I32 i32, f64::from;
            I64 i64, |wide| wide as f64;
            U8 u8, f64::from;
            U16 u16, f64::from;
            U32 u32, f64::from;
            U64 u64, |wide| wide as f64;
        })
    }
}

impl Tensor {
    /// Converts 16-bit floats to float32. Returns `None` for other types.
    pub fn widened(&self) -> Option<Tensor> {
        if !matches!(self.dtype, DType::F16 | DType::Bf16) {
            return None;
        }
        let numbers = self.numbers()?;
        let bytes = numbers.iter().flat_map(|wide| (*wide as f32).to_le_bytes());
        Some(Tensor { dtype: DType::F32, shape: self.shape.clone(), bytes: bytes.collect() })
    }
}

/// Returns the type with this name, such as `float32`.
pub fn dtype(name: &str) -> Option<DType> {
    let mut all = (1..=26).filter_map(DType::from_onnx);
    all.find(|dtype| dtype.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign() {
        let tensor = Tensor { dtype: DType::I16, shape: vec![2], bytes: vec![0xfe, 0xff, 2, 0] };
        assert_eq!(tensor.numbers(), Some(vec![-2.0, 2.0]));
    }

    #[test]
    fn floats_of_16_bits_are_widened() {
        let numbers = [f16::from_f32(-0.1), f16::INFINITY];
        let half =
            Tensor { dtype: DType::F16, shape: vec![2], bytes: numbers.map(f16::to_le_bytes).concat() };
        let wide = half.widened().unwrap();
        assert_eq!((wide.dtype, wide.numbers()), (DType::F32, half.numbers()));
        assert_eq!(wide.widened(), None);
    }

    #[test]
    fn types_are_found_by_name() {
        assert_eq!(dtype("bfloat16"), Some(DType::Bf16));
        assert_eq!(dtype("float"), None);
    }
}
