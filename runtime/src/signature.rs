//! Inputs and outputs of a model.

mod check;

use alloc::{string::ToString, vec::Vec};
use core::fmt;

use crate::ElementType;

/// Names and types of the inputs and outputs of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Inputs in the order of the file.
    pub inputs: &'static [Port],
    /// Outputs in the order of the file.
    pub outputs: &'static [Port],
}

/// An input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name in the file.
    pub name: &'static str,
    /// Type of its value.
    pub kind: ValueType,
}

/// The type of an ONNX value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A tensor, of rank 0 if there are no sizes: `float32[batch, 10]`, `int64`.
    Tensor {
        /// Element type.
        dtype: ElementType,
        /// Size of each axis.
        sizes: &'static [Size],
    },
    /// A tensor of unknown rank, for example an item of a sequence.
    Unranked(ElementType),
    /// Any number of values of one type, a `Vec`.
    Sequence(&'static ValueType),
    /// A value that may be absent, an `Option`.
    Optional(&'static ValueType),
    /// Values by key, a `BTreeMap`.
    Map {
        /// Type of the keys: strings, or integers of some width.
        key: ElementType,
        /// Type of the values.
        value: &'static ValueType,
    },
}

/// The size of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A fixed size.
    Fixed(usize),
    /// Any size, which is equal wherever the name occurs. The size of an output may be a formula of names.
    Named(&'static str),
    /// Any size without a name in the file, displayed as `?`.
    Unknown,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ports: &[Port]| ports.iter().map(Port::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(self.inputs), list(self.outputs))
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.kind)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Tensor { dtype, sizes: [] } => write!(f, "{dtype}"),
            ValueType::Tensor { dtype, sizes } => {
                let sizes: Vec<_> = sizes.iter().map(Size::to_string).collect();
                write!(f, "{dtype}[{}]", sizes.join(", "))
            }
            ValueType::Unranked(dtype) => write!(f, "{dtype}[..]"),
            ValueType::Sequence(item) => write!(f, "sequence({item})"),
            ValueType::Optional(item) => write!(f, "optional({item})"),
            ValueType::Map { key, value } => write!(f, "map({key}, {value})"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Fixed(size) => write!(f, "{size}"),
            Size::Named(name) => f.write_str(name),
            Size::Unknown => f.write_str("?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: ValueType = ValueType::Tensor {
        dtype: ElementType::Float32,
        sizes: &[Size::Named("batch"), Size::Fixed(1), Size::Unknown],
    };

    #[test]
    fn a_port_prints_its_name_type_and_sizes() {
        let port = Port { name: "image", kind: IMAGE };
        assert_eq!(port.to_string(), "image: float32[batch, 1, ?]");
    }

    #[test]
    fn kinds_nest() {
        const SIGNATURE: Signature = Signature {
            inputs: &[Port { name: "xs", kind: ValueType::Optional(&ValueType::Sequence(&IMAGE)) }],
            outputs: &[Port { name: "n", kind: ValueType::Tensor { dtype: ElementType::Int64, sizes: &[] } }],
        };
        assert_eq!(SIGNATURE.to_string(), "(xs: optional(sequence(float32[batch, 1, ?]))) -> (n: int64)");
    }
}
