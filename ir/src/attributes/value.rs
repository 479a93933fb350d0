//! Attributes of operators as data, to be compared and shown.

use super::Kept;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::types::{Known, TensorType, Type};
use crate::weight::{Encoding, Weight};

/// A type with attributes. `attributes!` derives it.
pub trait Described {
    fn attributes(&self) -> Attribute;
}

/// An attribute of any type. Floats are compared by their bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attribute {
    Nothing,
    Flag(bool),
    Int(i128),
    Single(u32),
    Double(u64),
    Size(Dim),
    Type(DType),
    Letter(char),
    /// A name of the compiler, such as that of a variant.
    Word(&'static str),
    Text(String),
    /// A constant of the model that is the input at this index.
    Kept(usize),
    List(Vec<Attribute>),
    /// Name and fields of a struct or variant. Fields of tuples have no names.
    Fields(&'static str, Vec<(&'static str, Attribute)>),
    /// A row of a table. It is compared but not shown, because the operator's name determines it.
    Row(Box<Attribute>),
}

/// Derives [`Described`] for types whose fields are repeated, so that none is forgotten:
/// `attributes!(struct Conv { window, groups })`, `attributes!(enum PoolReduction { Max(ceil), Average })`. A field after a
/// semicolon, a function that the others determine, is ignored.
macro_rules! attributes {
    (struct $name:ident) => {
        $crate::attributes::attributes!(@implement $name [$name => stringify!($name), []]);
    };
    (struct $name:ident($($field:ident),*)) => {
        $crate::attributes::attributes!(
            @implement $name [$name($($field),*) => stringify!($name), [$(("", $field))*]]
        );
    };
    (struct $name:ident { $($field:ident),* $(,)? $(; $($left:ident),*)? }) => {
        $crate::attributes::attributes!(
            @implement $name
            [$name { $($field,)* $($($left: _,)*)? } => stringify!($name), [$((stringify!($field), $field))*]]
        );
    };
    (enum $name:ident { $($variant:ident $(($($inner:ident),*))? $({ $($field:ident),* $(,)? })?),* $(,)? }) => {
        impl $crate::attributes::Described for $name {
            fn attributes(&self) -> $crate::attributes::Attribute {
                match self {
                    $($name::$variant $(($($inner),*))? $({ $($field),* })? => {
                        let fields: Vec<(&'static str, $crate::attributes::Attribute)> = vec![
                            $($(("", $crate::attributes::Described::attributes($inner)),)*)?
                            $($((stringify!($field), $crate::attributes::Described::attributes($field)),)*)?
                        ];
                        $crate::attributes::variant(stringify!($variant), fields)
                    })*
                }
            }
        }
    };
    (@implement $name:ident [$pattern:pat => $text:expr, [$(($label:expr, $field:ident))*]]) => {
        impl $crate::attributes::Described for $name {
            fn attributes(&self) -> $crate::attributes::Attribute {
                let $pattern = self;
                let fields = vec![
                    $(($label, $crate::attributes::Described::attributes($field)),)*
                ];
                $crate::attributes::Attribute::Fields($text, fields)
            }
        }
    };
}

pub(crate) use attributes;

/// Returns the attribute of an enum's variant.
pub fn variant(name: &'static str, fields: Vec<(&'static str, Attribute)>) -> Attribute {
    if fields.is_empty() { Attribute::Word(name) } else { Attribute::Fields(name, fields) }
}

impl Described for bool {
    fn attributes(&self) -> Attribute {
        Attribute::Flag(*self)
    }
}

impl Described for i64 {
    fn attributes(&self) -> Attribute {
        Attribute::Int((*self).into())
    }
}

impl Described for u64 {
    fn attributes(&self) -> Attribute {
        Attribute::Int((*self).into())
    }
}

impl Described for u32 {
    fn attributes(&self) -> Attribute {
        Attribute::Int((*self).into())
    }
}

impl Described for usize {
    fn attributes(&self) -> Attribute {
        Attribute::Int(i128::try_from(*self).unwrap_or(i128::MAX))
    }
}

impl Described for f32 {
    fn attributes(&self) -> Attribute {
        Attribute::Single(self.to_bits())
    }
}

impl Described for f64 {
    fn attributes(&self) -> Attribute {
        Attribute::Double(self.to_bits())
    }
}

impl Described for String {
    fn attributes(&self) -> Attribute {
        Attribute::Text(self.clone())
    }
}

impl Described for &'static str {
    fn attributes(&self) -> Attribute {
        Attribute::Text((*self).to_owned())
    }
}

impl<T: Described> Described for Option<T> {
    fn attributes(&self) -> Attribute {
        self.as_ref().map_or(Attribute::Nothing, T::attributes)
    }
}

impl<T: Described> Described for [T] {
    fn attributes(&self) -> Attribute {
        Attribute::List(self.iter().map(T::attributes).collect())
    }
}

impl<T: Described> Described for Vec<T> {
    fn attributes(&self) -> Attribute {
        self.as_slice().attributes()
    }
}

impl<T: Described, const N: usize> Described for [T; N] {
    fn attributes(&self) -> Attribute {
        self.as_slice().attributes()
    }
}

impl<T: Described> Described for Box<T> {
    fn attributes(&self) -> Attribute {
        (**self).attributes()
    }
}

impl<T: Described> Described for &'static T {
    fn attributes(&self) -> Attribute {
        Attribute::Row(Box::new((**self).attributes()))
    }
}

impl<T: Described> Described for &'static [T] {
    fn attributes(&self) -> Attribute {
        (**self).attributes()
    }
}

impl Described for char {
    fn attributes(&self) -> Attribute {
        Attribute::Letter(*self)
    }
}

impl<A: Described, B: Described> Described for (A, B) {
    fn attributes(&self) -> Attribute {
        let fields = vec![("", self.0.attributes()), ("", self.1.attributes())];
        Attribute::Fields("", fields)
    }
}

impl<A: Described, B: Described, C: Described> Described for (A, B, C) {
    fn attributes(&self) -> Attribute {
        let (a, b, c) = self;
        let fields = vec![("", a.attributes()), ("", b.attributes()), ("", c.attributes())];
        Attribute::Fields("", fields)
    }
}

impl Described for Dim {
    fn attributes(&self) -> Attribute {
        Attribute::Size(self.clone())
    }
}

impl Described for DType {
    fn attributes(&self) -> Attribute {
        Attribute::Type(*self)
    }
}

impl Described for Kept {
    fn attributes(&self) -> Attribute {
        Attribute::Kept(self.input)
    }
}

/// Compares locations in the file, because equal locations have equal contents.
impl Described for Weight {
    fn attributes(&self) -> Attribute {
        let parts = self.parts.iter();
        let parts = parts.map(|part| (part.file, part.start, part.bytes.len()).attributes());
        let fields = vec![
            ("dtype", self.dtype.attributes()),
            ("sizes", self.sizes.attributes()),
            ("encoding", self.encoding.attributes()),
            ("parts", Attribute::List(parts.collect())),
        ];
        Attribute::Row(Box::new(Attribute::Fields("Weight", fields)))
    }
}

attributes!(
    enum Encoding {
        Raw,
        Varint,
        Records,
    }
);
attributes!(struct TensorType { dtype, shape });
attributes!(
    enum Type {
        Tensor(inner),
        Unranked(inner),
        Nothing(inner),
        Sequence(inner),
        Optional(inner),
        Map(key, inner),
    }
);
attributes!(
    enum ElementClass {
        Float,
        Int,
        Bool,
        String,
        Complex,
    }
);
attributes!(
    enum Known {
        Ints(all),
        Floats(all),
        Bools(all),
        Strings(all),
    }
);
