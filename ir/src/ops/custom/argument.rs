//! Attributes as arguments of a function.

use proc_macro2::Literal;

use crate::attributes::{Attribute, Attributes, Described, Kept};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::proto::{AttributeProto, AttributeType, Elements};
use crate::rust::{Code, code};

/// An attribute that a function can take.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Int(i64),
    Float(f32),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<String>),
    /// A constant of the model, appended to the inputs.
    Tensor(Kept),
}

/// Returns the attributes of a node by their names. Names that start with two underscores are internal to other
/// programs.
pub fn list(attributes: &Attributes<'_>) -> Result<Vec<(String, Argument)>, Problem> {
    let all = attributes.all().into_iter();
    let all = all.filter(|(name, _)| !name.starts_with("__"));
    all.map(|(name, attribute)| Ok((name.to_owned(), Argument::read(attributes, name, attribute)?))).collect()
}

impl Argument {
    fn read(attributes: &Attributes<'_>, name: &str, attribute: &AttributeProto) -> Result<Self, Problem> {
        let wrong = || {
            Problem::new(format!(
                "attribute `{name}` cannot be passed to a function, expected an integer, a float, a string, a list \
                 of these, or a tensor of numbers"
            ))
        };
        let found = match kind(attribute) {
            AttributeType::Int => attributes.int(name)?.map(Argument::Int),
            AttributeType::Float => attributes.float(name)?.map(Argument::Float),
            AttributeType::String => attributes.string(name)?.map(Argument::Text),
            AttributeType::Ints => attributes.ints(name)?.map(Argument::Ints),
            AttributeType::Floats => attributes.floats(name)?.map(Argument::Floats),
            AttributeType::Strings => attributes.strings(name)?.map(Argument::Texts),
            AttributeType::Tensor => attributes.keep(name)?.map(Argument::Tensor),
            _ => None,
        };
        found.ok_or_else(wrong)
    }

    /// Returns the type and value as code.
    pub fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<(Code, Code), Problem> {
        let value = match self {
            Argument::Tensor(kept) => return cx.argument(kept.input),
            Argument::Int(value) => int(value),
            Argument::Float(value) => float(value),
            Argument::Text(value) => code!(#value),
            Argument::Ints(values) => {
                let values = values.iter().map(int);
                code!(&[#(#values),*])
            }
            Argument::Floats(values) => {
                let values = values.iter().map(float);
                code!(&[#(#values),*])
            }
            Argument::Texts(values) => code!(&[#(#values),*]),
        };
        Ok((self.ty().unwrap_or_default(), value))
    }

    /// Returns the type, unless it depends on a value.
    pub fn ty(&self) -> Option<Code> {
        Some(match self {
            Argument::Int(_) => code!(i64),
            Argument::Float(_) => code!(f32),
            Argument::Text(_) => code!(&'static str),
            Argument::Ints(_) => code!(&'static [i64]),
            Argument::Floats(_) => code!(&'static [f32]),
            Argument::Texts(_) => code!(&'static [&'static str]),
            Argument::Tensor(_) => return None,
        })
    }

    /// Returns the type as displayed in messages.
    pub fn written(&self) -> Option<&'static str> {
        Some(match self {
            Argument::Int(_) => "i64",
            Argument::Float(_) => "f32",
            Argument::Text(_) => "&str",
            Argument::Ints(_) => "&[i64]",
            Argument::Floats(_) => "&[f32]",
            Argument::Texts(_) => "&[&str]",
            Argument::Tensor(_) => return None,
        })
    }
}

fn int(value: &i64) -> Code {
    let literal = Literal::i64_unsuffixed(*value);
    code!(#literal)
}

fn float(value: &f32) -> Code {
    float_literal(f64::from(*value), DType::F32)
}

/// Returns the type of an attribute. Files of IR version 1 do not specify it.
fn kind(attribute: &AttributeProto) -> AttributeType {
    let named = attribute.r#type.and_then(|named| AttributeType::try_from(named).ok());
    if let Some(named) = named.filter(|&named| named != AttributeType::Undefined) {
        return named;
    }
    let list = attribute.list.as_ref().map(|list| &list.elements);
    match (attribute, list) {
        (AttributeProto { i: Some(_), .. }, _) => AttributeType::Int,
        (AttributeProto { f: Some(_), .. }, _) => AttributeType::Float,
        (AttributeProto { s: Some(_), .. }, _) => AttributeType::String,
        (AttributeProto { t: Some(_), .. }, _) => AttributeType::Tensor,
        (_, Some(Elements::Ints(_))) => AttributeType::Ints,
        (_, Some(Elements::Floats(_))) => AttributeType::Floats,
        (_, Some(Elements::Strings(_))) => AttributeType::Strings,
        _ => AttributeType::Undefined,
    }
}

impl Described for Argument {
    fn attributes(&self) -> Attribute {
        match self {
            Argument::Int(value) => value.attributes(),
            Argument::Float(value) => value.attributes(),
            Argument::Text(value) => value.attributes(),
            Argument::Ints(values) => values.attributes(),
            Argument::Floats(values) => values.attributes(),
            Argument::Texts(values) => values.attributes(),
            Argument::Tensor(kept) => kept.attributes(),
        }
    }
}
