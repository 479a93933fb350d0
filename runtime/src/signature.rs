//! What a model takes and gives.

mod check;

use alloc::{string::ToString, vec::Vec};
use core::fmt;

use crate::ElementType;

/// The inputs and outputs of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The inputs in the order of the file.
    pub inputs: &'static [Port],
    /// The outputs in the order of the file.
    pub outputs: &'static [Port],
}

/// One input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name that the file gives it.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// The kind of an ONNX value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tensor, of rank 0 where there are no sizes: `float32[batch, 10]`, `int64`.
    Tensor {
        /// The type of its elements.
        dtype: ElementType,
        /// The size of each axis.
        sizes: &'static [Size],
    },
    /// A tensor whose rank is not known, as an item of a sequence may be.
    Unranked(ElementType),
    /// Any number of values of one kind, a `Vec`.
    Sequence(&'static Kind),
    /// A value that may be absent, an `Option`.
    Optional(&'static Kind),
    /// Values by key, a `BTreeMap`.
    Map {
        /// The type of the keys: strings, or integers of some width.
        key: ElementType,
        /// The kind of the values.
        value: &'static Kind,
    },
}

/// The size of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This size and no other.
    Fixed(usize),
    /// Any size, the same wherever the name stands; for an output it may be a formula of such names.
    Named(&'static str),
    /// Any size, which the file gives no name; it is written `?`.
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Tensor { dtype, sizes: [] } => write!(f, "{dtype}"),
            Kind::Tensor { dtype, sizes } => {
                let sizes: Vec<_> = sizes.iter().map(Size::to_string).collect();
                write!(f, "{dtype}[{}]", sizes.join(", "))
            }
            Kind::Unranked(dtype) => write!(f, "{dtype}[..]"),
            Kind::Sequence(item) => write!(f, "sequence({item})"),
            Kind::Optional(item) => write!(f, "optional({item})"),
            Kind::Map { key, value } => write!(f, "map({key}, {value})"),
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

    const IMAGE: Kind = Kind::Tensor {
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
            inputs: &[Port { name: "xs", kind: Kind::Optional(&Kind::Sequence(&IMAGE)) }],
            outputs: &[Port { name: "n", kind: Kind::Tensor { dtype: ElementType::Int64, sizes: &[] } }],
        };
        assert_eq!(SIGNATURE.to_string(), "(xs: optional(sequence(float32[batch, 1, ?]))) -> (n: int64)");
    }
}
