//! Tensors that a model keeps from step to step.

use alloc::vec;

use burn::tensor::{DType, Device, Float, Tensor, TensorData, kind::Basic};
use onnx_embed_kernels::{dtype::stored, sizes::elements};

use crate::{Port, ValueType};

/// A tensor that a model keeps from step to step, a field of the state that `#[onnx(state(..))]` declares.
///
/// A clone continues independently. Memory is shared until one of them grows.
#[derive(Clone, Debug)]
pub struct Kept<const D: usize, K: Basic = Float> {
    /// `None` during a step, and after a step that failed.
    value: Option<Tensor<D, K>>,
    /// During a step, the value if no step replaces it.
    held: Option<Tensor<D, K>>,
    start: Start<D>,
}

/// Zeros.
#[derive(Clone, Debug)]
struct Start<const D: usize> {
    shape: [usize; D],
    /// The axis that grows.
    grows: Option<usize>,
    dtype: DType,
    device: Device,
}

impl<const D: usize, K: Basic> Kept<D, K> {
    /// Returns zeros of this shape in the type of a port of the model.
    #[doc(hidden)]
    pub fn new(port: &Port, shape: [usize; D], grows: Option<usize>, device: &Device) -> Self {
        let carrier = match port.kind {
            ValueType::Tensor { dtype, .. } => dtype.carrier(),
            _ => None,
        };
        let dtype = stored(device, carrier.unwrap_or(DType::F32));
        Self { value: None, held: None, start: Start { shape, grows, dtype, device: device.clone() } }
    }

    /// Returns the tensor. While it exists, the next step copies its elements.
    pub fn get(&self) -> Tensor<D, K> {
        self.value.clone().unwrap_or_else(|| self.start.tensor())
    }

    /// Replaces the tensor. The next step checks its shape.
    pub fn set(&mut self, value: Tensor<D, K>) {
        self.value = Some(value);
    }

    /// Returns the tensor for a step, after which [`Kept::set`] follows. A step that fails leaves the state before the first.
    #[doc(hidden)]
    pub fn take(&mut self) -> Tensor<D, K> {
        self.value.take().unwrap_or_else(|| self.start.tensor())
    }

    /// Returns the tensor for a step, after which [`Kept::set_first`] follows. A step that fails leaves the state before the
    /// first.
    #[doc(hidden)]
    pub fn take_first(&mut self) -> Tensor<D, K> {
        self.held = self.value.take();
        self.held.clone().unwrap_or_else(|| self.start.tensor())
    }

    /// Sets the result of the first step, and the value before the step again after any other.
    #[doc(hidden)]
    pub fn set_first(&mut self, value: Tensor<D, K>) {
        self.value = Some(self.held.take().unwrap_or(value));
    }

    /// Returns the number of elements along the axis that grows.
    #[doc(hidden)]
    pub fn length(&self) -> Option<usize> {
        let axis = self.start.grows?;
        self.value.as_ref().map_or(Some(0), |value| value.dims().get(axis).copied())
    }

    #[doc(hidden)]
    pub fn truncate(&mut self, length: usize) {
        let Some(axis) = self.start.grows.filter(|_| self.length().is_some_and(|now| now > length)) else {
            return;
        };
        self.value = match length {
            0 => None,
            _ => self.value.take().map(|value| value.narrow(axis, 0, length)),
        };
    }

    #[doc(hidden)]
    pub fn reset(&mut self) {
        self.value = None;
        self.held = None;
    }
}

impl<const D: usize> Start<D> {
    fn tensor<K: Basic>(&self) -> Tensor<D, K> {
        let bytes = elements(&self.shape, self.dtype.size()) * self.dtype.size();
        let zeros = TensorData::from_bytes_vec(vec![0; bytes], self.shape, self.dtype);
        Tensor::from_data(zeros, (&self.device, self.dtype))
    }
}

/// Implements the methods of a state, a struct of [`Kept`] tensors.
#[doc(hidden)]
#[macro_export]
macro_rules! state {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $name {
            /// Returns to the state before the first step.
            pub fn reset(&mut self) {
                $(self.$field.reset();)*
            }
        }
    };
    ($name:ident { $($field:ident),* $(,)? }, grows) => {
        $crate::state!($name { $($field),* });

        impl $name {
            /// Returns the number of elements along the axis of the first tensor that grows.
            pub fn len(&self) -> usize {
                let lengths = [$(self.$field.length()),*];
                lengths.into_iter().flatten().next().unwrap_or(0)
            }

            /// Returns `true` before the first step.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Removes all but the first `length` elements of the tensors that grow. The next steps use their memory again.
            ///
            /// Other tensors are as before.
            pub fn truncate(&mut self, length: usize) {
                $(self.$field.truncate(length);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use burn::tensor::Int;

    use super::*;
    use crate::{ElementType, Size};

    #[derive(Clone)]
    struct Cache {
        keys: Kept<2>,
        count: Kept<1, Int>,
    }

    crate::state!(Cache { keys, count }, grows);

    fn cache() -> Cache {
        let device = Device::flex();
        let sizes: &[Size] = &[Size::Named("past"), Size::Fixed(2)];
        let keys = Port { name: "keys", kind: ValueType::Tensor { dtype: ElementType::Float16, sizes } };
        let count = Port { name: "count", kind: ValueType::Tensor { dtype: ElementType::Int64, sizes: &[] } };
        Cache {
            keys: Kept::new(&keys, [0, 2], Some(0), &device),
            count: Kept::new(&count, [1], None, &device),
        }
    }

    fn step(cache: &mut Cache) {
        let keys = cache.keys.take();
        let more = Tensor::ones([3, 2], (&keys.device(), keys.dtype()));
        cache.keys.set(Tensor::cat(vec![keys, more], 0));
        let count = cache.count.take();
        cache.count.set(count + 1);
    }

    fn seen(cache: &Cache) -> (usize, i64) {
        (cache.len(), cache.count.get().into_scalar())
    }

    #[test]
    fn a_state_starts_with_zeros_of_the_models_type() {
        let cache = cache();
        assert!(cache.is_empty());
        assert_eq!((cache.keys.get().dims(), cache.keys.get().dtype()), ([0, 2], DType::F16));
        assert_eq!(cache.count.get().into_data(), TensorData::from([0i64]));
    }

    #[test]
    fn clones_continue_independently() {
        let mut first = cache();
        step(&mut first);
        let mut second = first.clone();
        step(&mut second);
        assert_eq!((seen(&first), seen(&second)), ((3, 1), (6, 2)));
    }

    #[test]
    fn what_grows_is_truncated() {
        let mut cache = cache();
        step(&mut cache);
        for (length, left) in [(5, 3), (3, 3), (2, 2), (0, 0)] {
            cache.truncate(length);
            assert_eq!(seen(&cache), (left, 1));
        }
        step(&mut cache);
        cache.reset();
        assert_eq!(seen(&cache), (0, 0));
    }

    #[test]
    fn only_the_first_step_sets_what_stays() {
        let mut cache = cache();
        let mut step = |count: i64| {
            let before: i64 = cache.count.take_first().into_scalar();
            cache.count.set_first(Tensor::from_ints([count], &Device::flex()));
            (before, cache.count.get().into_scalar::<i64>())
        };
        assert_eq!([step(3), step(4), step(5)], [(0, 3), (3, 3), (3, 3)]);
        // A step that fails forgets it.
        cache.count.take_first();
        assert_eq!(seen(&cache), (0, 0));
        let before: i64 = cache.count.take_first().into_scalar();
        cache.count.set_first(Tensor::from_ints([7], &Device::flex()));
        assert_eq!((before, seen(&cache)), (0, (0, 7)));
    }

    #[test]
    fn a_failed_step_leaves_the_first_state() {
        let mut cache = cache();
        step(&mut cache);
        cache.keys.take();
        cache.count.take();
        assert_eq!(seen(&cache), (0, 0));
    }
}
