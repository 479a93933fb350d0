//! Types and known values of graph values.

mod container;

use std::fmt;

use crate::dim::Dim;
use crate::dtype::DType;

/// Sizes of a tensor. Their number is the rank.
pub type Shape = Vec<Dim>;

/// Element type and sizes of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Shape,
}

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Tensor(TensorType),
    /// A tensor whose rank is known only at run time: an item of a sequence. It is a host value.
    Unranked(DType),
    /// The item of an empty sequence or an optional without a value: a tensor of any rank.
    Nothing(DType),
    Sequence(Box<Type>),
    Optional(Box<Type>),
    Map(DType, Box<Type>),
}

/// Elements that are known at compile time, in row-major order. Integers may be symbolic sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    Ints(Vec<Dim>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Strings(Vec<String>),
}

/// Location of a value at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// A Burn tensor.
    #[default]
    Device,
    /// Plain Rust data.
    Host,
}

/// Maximum number of axes of a tensor.
pub const MAX_AXES: usize = 1024;
/// Maximum number of elements of a tensor, more than any memory can store.
const MAX_ELEMENTS: i64 = 1 << 48;

/// Maximum number of bytes of known strings that are computed from others.
const MAX_KNOWN_TEXT: usize = 1 << 20;

/// Returns `true` if a computer could store a tensor of these sizes, with 1 in place of 0: none is negative, and their
/// product does not exceed any memory.
pub fn fit(sizes: impl IntoIterator<Item = i64>) -> bool {
    let product = sizes.into_iter().try_fold(1i64, |product, size| match size {
        ..0 => None,
        _ => product.checked_mul(size.max(1)),
    });
    product.is_some_and(|product| product <= MAX_ELEMENTS)
}

/// Returns the number of bytes of all strings.
fn texts(strings: &[String]) -> usize {
    strings.iter().map(String::len).sum()
}

impl TensorType {
    pub fn new(dtype: DType, shape: Shape) -> Self {
        TensorType { dtype, shape }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the rank of the Burn tensor that represents this type: Burn has no rank 0.
    pub fn burn_rank(&self) -> usize {
        self.rank().max(1)
    }

    /// Returns the number of elements, if all sizes are known.
    pub fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |count, dim| count.checked_mul(dim.fixed()?))
    }

    /// Returns `true` if a computer could store the tensor, judged by its known sizes: none is negative, and their
    /// product does not exceed any memory. Arithmetic on sizes that fit is safe.
    pub fn fits(&self) -> bool {
        fit(self.shape.iter().filter_map(Dim::number))
    }

    /// Returns the number of elements as a size.
    pub fn elements(&self) -> Option<Dim> {
        Dim::product(&self.shape)
    }
}

impl Type {
    pub fn tensor(dtype: DType, shape: Shape) -> Self {
        Type::Tensor(TensorType { dtype, shape })
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

impl Known {
    pub fn len(&self) -> usize {
        match self {
            Known::Ints(values) => values.len(),
            Known::Floats(values) => values.len(),
            Known::Bools(values) => values.len(),
            Known::Strings(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes that the elements take, without the terms of symbolic sizes.
    pub fn bytes(&self) -> usize {
        match self {
            Known::Ints(values) => size_of_val(values.as_slice()),
            Known::Floats(values) => size_of_val(values.as_slice()),
            Known::Bools(values) => values.len(),
            Known::Strings(values) => size_of_val(values.as_slice()) + texts(values),
        }
    }

    /// Returns `true` if all elements are known at compile time.
    pub fn is_concrete(&self) -> bool {
        match self {
            Known::Ints(values) => values.iter().all(|dim| dim.number().is_some()),
            _ => true,
        }
    }

    /// Returns `true` if no element is infinite or NaN.
    pub fn is_finite(&self) -> bool {
        match self {
            Known::Floats(values) => values.iter().all(|value| value.is_finite()),
            _ => true,
        }
    }

    /// Returns the numbers, if these are integers and none is symbolic.
    pub fn numbers(&self) -> Option<Vec<i64>> {
        match self {
            Known::Ints(values) => values.iter().map(Dim::number).collect(),
            _ => None,
        }
    }

    /// Returns the integers, also from floats, as in old operators whose inputs share a type.
    pub fn whole(&self) -> Option<Vec<Dim>> {
        match self {
            Known::Ints(values) => Some(values.clone()),
            Known::Floats(values) => {
                values.iter().map(|&value| (value.fract() == 0.0).then(|| Dim::from(value as i64))).collect()
            }
            _ => None,
        }
    }

    /// Returns the elements at these indices, `None` if one is out of bounds or strings would be too long.
    pub fn pick(&self, positions: &[usize]) -> Option<Known> {
        fn at<T: Clone>(values: &[T], positions: &[usize]) -> Option<Vec<T>> {
            positions.iter().map(|&at| values.get(at).cloned()).collect()
        }
        Some(match self {
            Known::Ints(values) => Known::Ints(at(values, positions)?),
            Known::Floats(values) => Known::Floats(at(values, positions)?),
            Known::Bools(values) => Known::Bools(at(values, positions)?),
            Known::Strings(values) => {
                let picked = positions.iter().map(|&at| values.get(at));
                let long = picked.map(|text| text.map_or(0, String::len)).fold(0, usize::saturating_add);
                (long <= MAX_KNOWN_TEXT).then(|| at(values, positions)).flatten().map(Known::Strings)?
            }
        })
    }

    /// Returns these elements followed by `others`, `None` if their types differ or strings would be too long.
    pub fn followed_by(self, others: Known) -> Option<Known> {
        fn joined<T>(mut values: Vec<T>, others: Vec<T>) -> Vec<T> {
            values.extend(others);
            values
        }
        match (self, others) {
            (Known::Ints(a), Known::Ints(b)) => Some(Known::Ints(joined(a, b))),
            (Known::Floats(a), Known::Floats(b)) => Some(Known::Floats(joined(a, b))),
            (Known::Bools(a), Known::Bools(b)) => Some(Known::Bools(joined(a, b))),
            (Known::Strings(a), Known::Strings(b))
                if texts(&a).saturating_add(texts(&b)) <= MAX_KNOWN_TEXT =>
            {
                Some(Known::Strings(joined(a, b)))
            }
            _ => None,
        }
    }
}

/// Formats as in signatures: `float32[batch, 10]`, and `int64` for rank 0.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        for (at, dim) in self.shape.iter().enumerate() {
            let before = if at == 0 { "[" } else { ", " };
            write!(f, "{before}{dim}")?;
        }
        if self.shape.is_empty() { Ok(()) } else { f.write_str("]") }
    }
}

/// Formats as in signatures: `sequence(map(int64, float32))`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(tensor) => tensor.fmt(f),
            Type::Unranked(dtype) | Type::Nothing(dtype) => write!(f, "{dtype}[..]"),
            Type::Sequence(item) => write!(f, "sequence({item})"),
            Type::Optional(item) => write!(f, "optional({item})"),
            Type::Map(key, item) => write!(f, "map({key}, {item})"),
        }
    }
}
