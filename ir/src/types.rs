//! Types and known values of graph values.

mod container;

use std::fmt;

use crate::dim::Dim;
use crate::dtype::DType;

/// The sizes of a tensor; its length is the rank.
pub type Shape = Vec<Dim>;

/// A tensor's element type and sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Shape,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Tensor(TensorType),
    /// A tensor whose rank only the run can tell: an item of a sequence. It is a host value.
    Unranked(DType),
    /// What an empty sequence is made of, or an optional that holds nothing: a tensor of any rank.
    Nothing(DType),
    Sequence(Box<Type>),
    Optional(Box<Type>),
    Map(DType, Box<Type>),
}

/// Elements known while compiling, in row-major order. Integers may be symbolic sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    Ints(Vec<Dim>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Strings(Vec<String>),
}

/// Where a value lives when the model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Place {
    /// A Burn tensor.
    #[default]
    Device,
    /// Plain Rust data.
    Host,
}

/// Tensors have no more axes than this.
pub const MOST_AXES: usize = 1024;
/// Far beyond any memory.
const MOST_ELEMENTS: i64 = 1 << 48;

impl TensorType {
    pub fn new(dtype: DType, shape: Shape) -> Self {
        TensorType { dtype, shape }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The rank of the Burn tensor that carries this type: Burn has no rank 0.
    pub fn burn_rank(&self) -> usize {
        self.rank().max(1)
    }

    /// The number of elements, when every size is known.
    pub fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |count, dim| count.checked_mul(dim.fixed()?))
    }

    /// Whether a computer could hold it, as far as its sizes are known: none is negative, and neither one nor
    /// their product is beyond any memory. Arithmetic on sizes that fit is safe.
    pub fn fits(&self) -> bool {
        let mut numbers = self.shape.iter().filter_map(Dim::number);
        let product = numbers.try_fold(1i64, |product, size| match size {
            ..0 => None,
            _ => product.checked_mul(size.max(1)),
        });
        product.is_some_and(|product| product <= MOST_ELEMENTS)
    }

    /// The number of elements as a size.
    pub fn elements(&self) -> Option<Dim> {
        self.shape.iter().try_fold(Dim::from(1), |count, dim| count.mul(dim))
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

    /// Whether nothing in it waits for the run.
    pub fn is_concrete(&self) -> bool {
        match self {
            Known::Ints(values) => values.iter().all(|dim| dim.number().is_some()),
            _ => true,
        }
    }

    /// Whether no element is infinite or not a number.
    pub fn is_finite(&self) -> bool {
        match self {
            Known::Floats(values) => values.iter().all(|value| value.is_finite()),
            _ => true,
        }
    }

    /// The numbers, when these are integers and none is symbolic.
    pub fn numbers(&self) -> Option<Vec<i64>> {
        match self {
            Known::Ints(values) => values.iter().map(Dim::number).collect(),
            _ => None,
        }
    }

    /// The integers, also where floats hold them, as in operators of old whose inputs share a type.
    pub fn whole(&self) -> Option<Vec<Dim>> {
        match self {
            Known::Ints(values) => Some(values.clone()),
            Known::Floats(values) => {
                values.iter().map(|&value| (value.fract() == 0.0).then(|| Dim::from(value as i64))).collect()
            }
            _ => None,
        }
    }

    /// The elements at these positions, `None` when one is outside.
    pub fn pick(&self, positions: &[usize]) -> Option<Known> {
        fn at<T: Clone>(values: &[T], positions: &[usize]) -> Option<Vec<T>> {
            positions.iter().map(|&at| values.get(at).cloned()).collect()
        }
        Some(match self {
            Known::Ints(values) => Known::Ints(at(values, positions)?),
            Known::Floats(values) => Known::Floats(at(values, positions)?),
            Known::Bools(values) => Known::Bools(at(values, positions)?),
            Known::Strings(values) => Known::Strings(at(values, positions)?),
        })
    }

    /// These elements and then `others`, `None` when they are of another kind.
    pub fn followed_by(self, others: Known) -> Option<Known> {
        fn joined<T>(mut values: Vec<T>, others: Vec<T>) -> Vec<T> {
            values.extend(others);
            values
        }
        match (self, others) {
            (Known::Ints(a), Known::Ints(b)) => Some(Known::Ints(joined(a, b))),
            (Known::Floats(a), Known::Floats(b)) => Some(Known::Floats(joined(a, b))),
            (Known::Bools(a), Known::Bools(b)) => Some(Known::Bools(joined(a, b))),
            (Known::Strings(a), Known::Strings(b)) => Some(Known::Strings(joined(a, b))),
            _ => None,
        }
    }
}

/// As signatures spell it: `float32[batch, 10]`, and of rank 0 `int64`.
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

/// As signatures spell it: `sequence(map(int64, float32))`.
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
