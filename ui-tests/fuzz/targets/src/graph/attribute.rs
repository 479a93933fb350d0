//! Values of attributes.

use arbitrary::Result;
use onnx_embed_ir::proto::{AttributeProto, AttributeType, Elements, List};

use super::build::Building;
use super::schema::Declared;
use super::tensor::{self, FLOATS, INTS};

/// Texts that attributes of the standard accept, and others.
const TEXTS: [&str; 40] = [
    "NOTSET",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "linear",
    "nearest",
    "cubic",
    "bilinear",
    "constant",
    "reflect",
    "edge",
    "wrap",
    "zeros",
    "border",
    "reflection",
    "mean",
    "sum",
    "none",
    "add",
    "mul",
    "max",
    "min",
    "tanh",
    "forward",
    "reverse",
    "bidirectional",
    "half_pixel",
    "asymmetric",
    "align_corners",
    "floor",
    "ceil",
    "round_prefer_floor",
    "DCR",
    "CRD",
    "Relu",
    "Sigmoid",
    "BRANCH_LEQ",
    "LEAF",
    "SOFTMAX",
    "x",
];
/// Small numbers, which most attributes need.
const SMALL: [i64; 6] = [1, 0, 2, 3, -1, 4];

impl Building<'_, '_> {
    /// Chooses a value of the declared kind; of another kind in a few cases.
    pub fn attribute(&mut self, declared: &Declared) -> Result<AttributeProto> {
        let mut attribute = AttributeProto { name: declared.name.to_owned(), ..AttributeProto::default() };
        let kind = match self.choices.ratio(1, 60)? {
            true => *self.choices.choose(&["int", "ints", "string", "float", "tensor"])?,
            false => declared.kind,
        };
        let ty = match kind {
            "int" => {
                attribute.i = Some(self.number()?);
                AttributeType::Int
            }
            "float" => {
                attribute.f = Some(*self.choices.choose(&FLOATS)?);
                AttributeType::Float
            }
            "string" => {
                attribute.s = Some(self.text()?.into());
                AttributeType::String
            }
            "ints" => {
                let numbers = self.several(Self::number)?;
                attribute.list = Some(List::new(Elements::Ints(numbers)));
                AttributeType::Ints
            }
            "floats" => {
                let numbers = self.several(|this| this.choices.choose(&FLOATS).copied())?;
                attribute.list = Some(List::new(Elements::Floats(numbers)));
                AttributeType::Floats
            }
            "strings" => {
                let texts = self.several(|this| Ok(this.text()?.into()))?;
                attribute.list = Some(List::new(Elements::Strings(texts)));
                AttributeType::Strings
            }
            "tensor" => {
                attribute.t = Some(Box::new(tensor::constant(self.choices)?));
                AttributeType::Tensor
            }
            "sparse_tensor" => {
                attribute.sparse_tensor = Some(Box::new(tensor::sparse(self.choices)?));
                AttributeType::SparseTensor
            }
            "type_proto" => {
                attribute.tp = Some(Box::new(tensor::input(self.choices)?));
                AttributeType::TypeProto
            }
            "graph" => {
                attribute.g = Some(Box::new(self.nested()?));
                AttributeType::Graph
            }
            _ => AttributeType::Undefined,
        };
        attribute.r#type = Some(ty.into());
        Ok(attribute)
    }

    fn number(&mut self) -> Result<i64> {
        match self.choices.ratio(9, 10)? {
            true => self.choices.choose(&SMALL).copied(),
            false => self.choices.choose(&INTS).copied(),
        }
    }

    fn text(&mut self) -> Result<Vec<u8>> {
        Ok(self.choices.choose(&TEXTS)?.as_bytes().to_vec())
    }

    /// Makes at most five values.
    fn several<T>(&mut self, mut make: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.choices.int_in_range(0..=5)?;
        (0..count).map(|_| make(self)).collect()
    }
}
