//! Operands and results of the operations.

#[cfg(any(feature = "cube", feature = "flex"))]
use super::Operation;
#[cfg(feature = "cube")]
use super::Runtime;
use super::burn;
#[cfg(feature = "flex")]
use super::switches;
use burn::backend::{
    Backend, Dispatch, DispatchAutodiffContext, DispatchTensor, ExtensionType, TensorMetadata,
    TensorPrimitive,
    tensor::{BoolTensor, FloatTensor, IntTensor},
};
use burn::tensor::{DType, Tensor, kind::Basic};

/// A tensor or an optional tensor.
pub trait Operand {
    type Primitive;

    /// Converts to a tensor of Burn's dispatch. Quantized tensors become floats.
    fn into_primitive(self) -> Self::Primitive;
}

/// An optional operand. Burn's routing does not support `Option`.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub enum Given<B: Backend> {
    Missing,
    Float(FloatTensor<B>),
    Int(IntTensor<B>),
    Bool(BoolTensor<B>),
}

/// An operand of any tensor kind.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub enum Any<B: Backend> {
    Float(FloatTensor<B>),
    Int(IntTensor<B>),
    Bool(BoolTensor<B>),
}

/// Result of a kernel that may decline, in which case the operator's function computes it by other operations.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
#[cfg_attr(not(feature = "cube"), allow(dead_code))]
pub enum Outcome<B: Backend> {
    Declined,
    Float(FloatTensor<B>),
    Int(IntTensor<B>),
    Bool(BoolTensor<B>),
}

/// Results of operations without a kernel.
pub trait Declined {
    fn declined() -> Self;
}

impl<B: Backend> Declined for Outcome<B> {
    fn declined() -> Self {
        Self::Declined
    }
}

impl<B: Backend> Declined for Given<B> {
    fn declined() -> Self {
        Self::Missing
    }
}

impl<X: Declined, Y: Declined> Declined for (X, Y) {
    fn declined() -> Self {
        (X::declined(), Y::declined())
    }
}

impl<X: Declined, Y: Declined, Z: Declined> Declined for (X, Y, Z) {
    fn declined() -> Self {
        (X::declined(), Y::declined(), Z::declined())
    }
}

/// Return type of a kernel with one result: the tensor, or an `Option` of it if the kernel may decline.
#[cfg(any(feature = "cube", feature = "flex"))]
pub trait Maybe<T> {
    fn option(self) -> Option<T>;
}

#[cfg(any(feature = "cube", feature = "flex"))]
impl<T> Maybe<T> for Option<T> {
    fn option(self) -> Option<T> {
        self
    }
}

/// Operands as tensors of Burn's dispatch.
pub trait Routed {
    /// Bits of the operations that the device has kernels for. A missing operand allows all operations, a
    /// tensor that records gradients none.
    fn kernels(&self) -> u128;
}

impl<const D: usize, K: Basic> Operand for Tensor<D, K> {
    type Primitive = DispatchTensor;

    fn into_primitive(self) -> DispatchTensor {
        let mut tensor = self.into_dispatch();
        match tensor.dtype() {
            DType::QFloat(_) => TensorPrimitive::<Dispatch>::QFloat(tensor).tensor(),
            dtype if dtype.is_float() => tensor,
            _ => {
                // Integers and booleans have no gradients.
                tensor.autodiff = DispatchAutodiffContext::Disabled;
                tensor
            }
        }
    }
}

impl<const D: usize, K: Basic> Operand for Option<Tensor<D, K>> {
    type Primitive = Given<Dispatch>;

    fn into_primitive(self) -> Given<Dispatch> {
        match self.map(Any::of) {
            None => Given::Missing,
            Some(Any::Float(tensor)) => Given::Float(tensor),
            Some(Any::Int(tensor)) => Given::Int(tensor),
            Some(Any::Bool(tensor)) => Given::Bool(tensor),
        }
    }
}

impl<B: Backend> Operand for Any<B> {
    type Primitive = Self;

    fn into_primitive(self) -> Self {
        self
    }
}

impl Any<Dispatch> {
    /// Wraps a tensor as an operand of its kind.
    pub fn of<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> Self {
        let tensor = tensor.into_primitive();
        match tensor.dtype() {
            dtype if dtype.is_bool() => Self::Bool(tensor),
            dtype if dtype.is_float() => Self::Float(tensor),
            _ => Self::Int(tensor),
        }
    }
}

/// Returns the Flex tensor, unless it records gradients. For kernels that are not in the table.
#[cfg(feature = "flex")]
pub fn on_flex<const D: usize, K: Basic>(tensor: &Tensor<D, K>) -> Option<burn::backend::flex::FlexTensor> {
    use burn::backend::{BackendTensor, DispatchTensorKind};

    let tensor = tensor.clone().into_dispatch();
    match (tensor.kind, tensor.autodiff) {
        (
            DispatchTensorKind::Flex(
                BackendTensor::Float(tensor) | BackendTensor::Int(tensor) | BackendTensor::Bool(tensor),
            ),
            DispatchAutodiffContext::Disabled,
        ) if !switches::is_plain() => Some(tensor),
        _ => None,
    }
}

/// Wraps a Flex tensor of this rank and kind.
#[cfg(feature = "flex")]
pub fn of_flex<const D: usize, K: Basic>(tensor: burn::backend::flex::FlexTensor) -> Tensor<D, K> {
    use burn::backend::{BackendTensor, DispatchTensorKind};

    let tensor = match tensor.dtype() {
        dtype if dtype.is_float() => BackendTensor::Float(tensor),
        dtype if dtype.is_bool() => BackendTensor::Bool(tensor),
        _ => BackendTensor::Int(tensor),
    };
    Tensor::from_dispatch(DispatchTensor {
        kind: DispatchTensorKind::Flex(tensor),
        autodiff: DispatchAutodiffContext::Disabled,
    })
}

impl<B: Backend> Given<B> {
    pub fn float(self) -> Option<FloatTensor<B>> {
        match self {
            Self::Float(tensor) => Some(tensor),
            Self::Missing | Self::Int(_) | Self::Bool(_) => None,
        }
    }

    pub fn int(self) -> Option<IntTensor<B>> {
        match self {
            Self::Int(tensor) => Some(tensor),
            Self::Missing | Self::Float(_) | Self::Bool(_) => None,
        }
    }

    pub fn bool(self) -> Option<BoolTensor<B>> {
        match self {
            Self::Bool(tensor) => Some(tensor),
            Self::Missing | Self::Float(_) | Self::Int(_) => None,
        }
    }
}

impl Given<Dispatch> {
    /// Returns the tensor of any kind.
    pub fn tensor(self) -> Option<DispatchTensor> {
        match self {
            Self::Missing => None,
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => Some(tensor),
        }
    }
}

impl Outcome<Dispatch> {
    /// Returns the tensor of any kind.
    pub fn tensor(self) -> Option<DispatchTensor> {
        match self {
            Self::Declined => None,
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => Some(tensor),
        }
    }
}

impl Routed for DispatchTensor {
    fn kernels(&self) -> u128 {
        match (&self.kind, self.autodiff) {
            #[cfg(feature = "cube")]
            (burn::backend::DispatchTensorKind::Cube(_), DispatchAutodiffContext::Disabled) => {
                if Runtime::of_dispatch(&self.device()) == Runtime::Wgpu {
                    Operation::ON_WGPU
                } else {
                    Operation::ON_CUBE
                }
            }
            #[cfg(feature = "flex")]
            (burn::backend::DispatchTensorKind::Flex(_), DispatchAutodiffContext::Disabled) => {
                Operation::ON_FLEX
            }
            _ => 0,
        }
    }
}

impl Routed for Given<Dispatch> {
    fn kernels(&self) -> u128 {
        match self {
            Self::Missing => u128::MAX,
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => tensor.kernels(),
        }
    }
}

impl Routed for Any<Dispatch> {
    fn kernels(&self) -> u128 {
        match self {
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => tensor.kernels(),
        }
    }
}

impl<T: Routed, const N: usize> Routed for [&T; N] {
    fn kernels(&self) -> u128 {
        self.iter().fold(u128::MAX, |kernels, operand| kernels & operand.kernels())
    }
}
