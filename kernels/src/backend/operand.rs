//! Tensors as the methods of the trait take them.

// Only devices of CubeCL leave methods out.
#![cfg_attr(not(feature = "cube"), allow(unused_variables))]

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

/// A tensor, or none.
pub trait Operand {
    type Primitive;

    /// The tensor of Burn's dispatch; what is quantized becomes floats.
    fn into_primitive(self) -> Self::Primitive;
}

/// A tensor that may be missing: Burn's routing knows no `Option`.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub enum Optional<B: Backend> {
    None,
    Float(FloatTensor<B>),
    Int(IntTensor<B>),
    Bool(BoolTensor<B>),
}

/// A tensor of Burn's dispatch, or none.
pub trait Routed {
    /// Whether the backend of the tensor is to run its method of this name, and not primitives.
    fn has_body(&self, method: &str) -> bool;
}

/// Methods that CUDA and ROCm leave to Burn, whose products use tensor cores and are joined with what follows.
#[cfg(feature = "cube")]
const PRODUCTS: [&str; 6] = [
    "attention",
    "linear",
    "matmul",
    "conv1d",
    "conv2d",
    "conv3d",
];

impl<const D: usize, K: Basic> Operand for Tensor<D, K> {
    type Primitive = DispatchTensor;

    fn into_primitive(self) -> DispatchTensor {
        let mut tensor = self.into_dispatch();
        match tensor.dtype() {
            DType::QFloat(_) => TensorPrimitive::<Dispatch>::QFloat(tensor).tensor(),
            dtype if dtype.is_float() => tensor,
            _ => {
                // These have no gradients.
                tensor.autodiff = DispatchAutodiffContext::Disabled;
                tensor
            }
        }
    }
}

impl<const D: usize, K: Basic> Operand for Option<Tensor<D, K>> {
    type Primitive = Optional<Dispatch>;

    fn into_primitive(self) -> Optional<Dispatch> {
        match self.map(Tensor::into_primitive) {
            None => Optional::None,
            Some(tensor) if tensor.dtype().is_bool() => Optional::Bool(tensor),
            Some(tensor) if tensor.dtype().is_float() => Optional::Float(tensor),
            Some(tensor) => Optional::Int(tensor),
        }
    }
}

/// A tensor of Flex without gradients, for bodies that the trait cannot call.
#[cfg(feature = "flex")]
pub fn on_flex<const D: usize, K: Basic>(
    tensor: &Tensor<D, K>,
) -> Option<burn::backend::flex::FlexTensor> {
    use burn::backend::{BackendTensor, DispatchTensorKind};

    let tensor = tensor.clone().into_dispatch();
    match (tensor.kind, tensor.autodiff) {
        (
            DispatchTensorKind::Flex(
                BackendTensor::Float(tensor)
                | BackendTensor::Int(tensor)
                | BackendTensor::Bool(tensor),
            ),
            DispatchAutodiffContext::Disabled,
        ) if !switches::is_plain() => Some(tensor),
        _ => None,
    }
}

/// A tensor of Flex as one of Burn's, which has its rank and kind.
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

impl<B: Backend> Optional<B> {
    pub fn float(self) -> Option<FloatTensor<B>> {
        match self {
            Self::Float(tensor) => Some(tensor),
            Self::None | Self::Int(_) | Self::Bool(_) => None,
        }
    }

    pub fn int(self) -> Option<IntTensor<B>> {
        match self {
            Self::Int(tensor) => Some(tensor),
            Self::None | Self::Float(_) | Self::Bool(_) => None,
        }
    }

    pub fn of_int(tensor: Option<IntTensor<B>>) -> Self {
        tensor.map_or(Self::None, Self::Int)
    }

    pub fn bool(self) -> Option<BoolTensor<B>> {
        match self {
            Self::Bool(tensor) => Some(tensor),
            Self::None | Self::Float(_) | Self::Int(_) => None,
        }
    }
}

impl Optional<Dispatch> {
    /// The tensor of whatever kind.
    pub fn tensor(self) -> Option<DispatchTensor> {
        match self {
            Self::None => None,
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => Some(tensor),
        }
    }
}

impl Routed for DispatchTensor {
    fn has_body(&self, method: &str) -> bool {
        match (&self.kind, self.autodiff) {
            #[cfg(feature = "cube")]
            (burn::backend::DispatchTensorKind::Cube(_), DispatchAutodiffContext::Disabled) => {
                !PRODUCTS.contains(&method) || Runtime::of_dispatch(&self.device()) == Runtime::Wgpu
            }
            #[cfg(feature = "flex")]
            (burn::backend::DispatchTensorKind::Flex(_), DispatchAutodiffContext::Disabled) => true,
            _ => false,
        }
    }
}

impl Routed for Optional<Dispatch> {
    fn has_body(&self, method: &str) -> bool {
        match self {
            Self::None => true,
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => tensor.has_body(method),
        }
    }
}
