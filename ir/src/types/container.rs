//! Types that contain others, and their items.

use std::collections::BTreeSet;

use super::Type;
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;

impl Type {
    /// Returns `true` if values of this type are always on the host: devices have neither strings nor tensors of
    /// unknown rank.
    pub fn is_of_host(&self) -> bool {
        match self {
            Type::Tensor(tensor) => tensor.dtype == DType::String,
            Type::Unranked(_) | Type::Nothing(_) => true,
            Type::Sequence(_) | Type::Optional(_) | Type::Map(..) => false,
        }
    }

    /// Returns the type of the items of a sequence or an optional.
    pub fn item(&self) -> Option<&Type> {
        match self {
            Type::Sequence(item) | Type::Optional(item) => Some(item),
            _ => None,
        }
    }

    /// Returns the type for an item, each of which may have different sizes: sizes with names that `is_bound` does not
    /// accept become any size.
    #[must_use]
    pub fn loosened(&self, is_bound: &mut impl FnMut(&Symbol) -> bool) -> Type {
        let mut inner = |item: &Type| Box::new(item.loosened(is_bound));
        match self {
            Type::Sequence(item) => Type::Sequence(inner(item)),
            Type::Optional(item) => Type::Optional(inner(item)),
            Type::Map(key, item) => Type::Map(*key, inner(item)),
            Type::Unranked(_) | Type::Nothing(_) => self.clone(),
            Type::Tensor(tensor) => {
                let size = |dim: &Dim| {
                    if dim.symbols().iter().all(&mut *is_bound) { dim.clone() } else { Dim::any() }
                };
                Type::tensor(tensor.dtype, tensor.shape.iter().map(size).collect())
            }
        }
    }

    /// Returns the type with other names of sizes, `None` if a size grows too large.
    pub fn renamed(&self, name: &impl Fn(&Symbol) -> Symbol) -> Option<Type> {
        let inner = |item: &Type| item.renamed(name).map(Box::new);
        Some(match self {
            Type::Sequence(item) => Type::Sequence(inner(item)?),
            Type::Optional(item) => Type::Optional(inner(item)?),
            Type::Map(key, item) => Type::Map(*key, inner(item)?),
            Type::Unranked(_) | Type::Nothing(_) => self.clone(),
            Type::Tensor(tensor) => {
                let shape = tensor.shape.iter().map(|dim| dim.renamed(name));
                Type::tensor(tensor.dtype, shape.collect::<Option<_>>()?)
            }
        })
    }

    /// Returns all names that the sizes depend on.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        match self {
            Type::Sequence(item) | Type::Optional(item) | Type::Map(_, item) => item.symbols(),
            Type::Unranked(_) | Type::Nothing(_) => BTreeSet::new(),
            Type::Tensor(tensor) => tensor.shape.iter().flat_map(Dim::symbols).collect(),
        }
    }

    /// Returns the type of a value that may be of either type. Sizes and ranks of items may differ.
    pub fn either(&self, other: &Type) -> Option<Type> {
        let boxed = |a: &Type, b: &Type| a.either(b).map(Box::new);
        match (self, other) {
            (a, b) if a == b => Some(a.clone()),
            (Type::Tensor(a), Type::Tensor(b)) if a.dtype == b.dtype && a.rank() == b.rank() => {
                let sizes = a.shape.iter().zip(&b.shape);
                let size = |(a, b): (&Dim, &Dim)| if a == b { a.clone() } else { Dim::any() };
                Some(Type::tensor(a.dtype, sizes.map(size).collect()))
            }
            (Type::Nothing(dtype), other) | (other, Type::Nothing(dtype)) => {
                (other.element() == Some(*dtype)).then(|| other.clone())
            }
            (Type::Sequence(a), Type::Sequence(b)) => boxed(a, b).map(Type::Sequence),
            (Type::Optional(a), Type::Optional(b)) => boxed(a, b).map(Type::Optional),
            (Type::Map(key, a), Type::Map(other, b)) if key == other => Some(Type::Map(*key, boxed(a, b)?)),
            (Type::Optional(item), plain) | (plain, Type::Optional(item)) => {
                boxed(item, plain).map(Type::Optional)
            }
            (a, b) if a.element().is_some() && a.element() == b.element() => a.element().map(Type::Unranked),
            _ => None,
        }
    }

    /// Returns the element type of a tensor.
    pub fn element(&self) -> Option<DType> {
        match self {
            Type::Tensor(tensor) => Some(tensor.dtype),
            Type::Unranked(dtype) | Type::Nothing(dtype) => Some(*dtype),
            Type::Sequence(_) | Type::Optional(_) | Type::Map(..) => None,
        }
    }
}
