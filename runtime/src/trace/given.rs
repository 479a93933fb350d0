//! Values of any type that nodes compute.

use alloc::collections::BTreeMap;
use alloc::{string::String, vec::Vec};

use burn::tensor::Tensor;
use burn::tensor::kind::Basic;
use onnx_embed_kernels::reader::{Blocking, now};

use crate::outputs::Output;
use crate::{Array, Value, ValueType};

/// A value of a running model.
pub trait Given {
    /// Returns the sizes of a tensor.
    fn shape(&self) -> Option<Vec<usize>>;

    /// Returns a copy of the value as one of this kind, or why the device cannot be read.
    fn read(&self, kind: &ValueType) -> Result<Value, String>;
}

impl<const D: usize, K: Basic> Given for Tensor<D, K> {
    fn shape(&self) -> Option<Vec<usize>> {
        Some(self.dims().to_vec())
    }

    fn read(&self, kind: &ValueType) -> Result<Value, String> {
        read(self, kind)
    }
}

impl<T> Given for Array<T>
where
    Array<T>: Output + Clone,
{
    fn shape(&self) -> Option<Vec<usize>> {
        Some(Array::shape(self).to_vec())
    }

    fn read(&self, kind: &ValueType) -> Result<Value, String> {
        read(self, kind)
    }
}

macro_rules! containers {
    ($($($generic:ident)* : $container:ty;)*) => {$(
        impl<$($generic),*> Given for $container
        where
            $container: Output + Clone,
        {
            fn shape(&self) -> Option<Vec<usize>> {
                None
            }

            fn read(&self, kind: &ValueType) -> Result<Value, String> {
                read(self, kind)
            }
        }
    )*};
}

containers! {
    T: Vec<T>;
    T: Option<T>;
    K T: BTreeMap<K, T>;
}

fn read<T: Output + Clone + Given>(value: &T, kind: &ValueType) -> Result<Value, String> {
    let kind = &kind_of(value, kind);
    now(value.clone().into_value(kind, Blocking))
}

/// Returns the kind of a value. It differs from that of the file if the data of a run contradict it.
pub fn kind_of(value: &dyn Given, kind: &ValueType) -> ValueType {
    match (kind, value.shape()) {
        (ValueType::Tensor { dtype, sizes: [] }, Some(shape)) if shape.iter().product::<usize>() != 1 => {
            ValueType::Unranked(*dtype)
        }
        _ => *kind,
    }
}
