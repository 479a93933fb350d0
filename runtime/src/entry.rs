//! Checks of the inputs of a typed `forward`.

mod item;

use alloc::{string::String, vec::Vec};
use burn::tensor::{Bool, Int, IntDType, Tensor};
use onnx_embed_kernels::cast::float_to_float;
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::memory_limit::memory_limit;
use onnx_embed_kernels::sizes::extent;
use onnx_embed_kernels::threads;

use crate::{Array, ElementType, Error, Signature, Size, ValueType};

pub use item::Item;

/// Check of the inputs of one call, port by port.
#[derive(Debug)]
pub struct Entry {
    signature: Signature,
    sizes: Sizes,
}

impl Entry {
    pub fn new(signature: Signature) -> Self {
        threads::enter();
        Self { signature, sizes: Sizes::new() }
    }

    /// Returns a float input in the dtype of the model.
    ///
    /// # Panics
    ///
    /// If its sizes are not those of the signature.
    #[track_caller]
    pub fn float<const D: usize>(&mut self, name: &str, tensor: Tensor<D>) -> Tensor<D> {
        let dims = tensor.dims();
        float(tensor, self.check(name, &dims))
    }

    /// Returns an integer input in the dtype of the model; panics like [`Entry::float`].
    #[track_caller]
    pub fn int<const D: usize>(&mut self, name: &str, tensor: Tensor<D, Int>) -> Tensor<D, Int> {
        let dims = tensor.dims();
        int(tensor, self.check(name, &dims))
    }

    /// Checks a boolean input; panics like [`Entry::float`].
    #[track_caller]
    pub fn boolean<const D: usize>(&mut self, name: &str, tensor: &Tensor<D, Bool>) {
        self.check(name, &tensor.dims());
    }

    /// Checks a host input; panics like [`Entry::float`].
    #[track_caller]
    pub fn array<T>(&mut self, name: &str, array: &Array<T>) {
        self.check(name, array.shape());
    }

    /// Returns a sequence, an optional or a map in the dtypes of the model; panics like [`Entry::float`].
    #[track_caller]
    pub fn items<T: Item>(&mut self, name: &str, value: T) -> T {
        let port = self.signature.inputs.iter().find(|port| port.name == name);
        match port {
            Some(port) => expect(value.enter(port.name, &port.kind, &mut self.sizes)),
            None => panic!("the model has no input `{name}`"),
        }
    }

    /// Checks the sizes of an input and returns the element type of its port.
    #[track_caller]
    fn check(&mut self, name: &str, found: &[usize]) -> ElementType {
        let port = self.signature.inputs.iter().find(|port| port.name == name);
        let Some((port, ValueType::Tensor { dtype, sizes })) = port.map(|port| (port, port.kind)) else {
            panic!("the model has no tensor input `{name}`");
        };
        expect(bounded(port.name, found, dtype, memory_limit()));
        // A scalar of the model is a tensor of one element here.
        match sizes {
            [] if found == [1] => {}
            _ => expect(self.sizes.check(port.name, found, sizes)),
        }
        dtype
    }
}

/// Named sizes of the inputs of one call.
#[derive(Debug, Default)]
pub struct Sizes {
    seen: Vec<Seen>,
}

#[derive(Debug)]
struct Seen {
    size: &'static str,
    input: &'static str,
    value: usize,
}

impl Sizes {
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks that an input of shape `found` matches `expected` and agrees with previously checked inputs.
    ///
    /// The expected size of a scalar's tensor is `Size::Fixed(1)`.
    pub fn check(
        &mut self,
        input: &'static str,
        found: &[usize],
        expected: &'static [Size],
    ) -> Result<(), Error> {
        let wrong =
            |(&found, &expected): (&usize, &Size)| matches!(expected, Size::Fixed(size) if size != found);
        if found.len() != expected.len() || found.iter().zip(expected).any(wrong) {
            return Err(Error::WrongShape { name: input, expected, found: found.to_vec() });
        }
        found.iter().zip(expected).try_for_each(|(&found, &expected)| match expected {
            Size::Named(size) => self.note(size, input, found),
            Size::Fixed(_) | Size::Unknown => Ok(()),
        })
    }

    /// Returns the size with a name that a previously checked input has.
    ///
    /// # Panics
    ///
    /// If no checked input has it.
    #[track_caller]
    pub fn size(&self, name: &str) -> usize {
        match self.seen.iter().find(|seen| seen.size == name) {
            Some(seen) => seen.value,
            None => panic!("the model has no size `{name}`"),
        }
    }

    fn note(&mut self, size: &'static str, input: &'static str, value: usize) -> Result<(), Error> {
        match self.seen.iter().find(|seen| seen.size == size) {
            Some(seen) if seen.value != value => {
                Err(Error::UnequalSizes { size, first: (seen.input, seen.value), second: (input, value) })
            }
            Some(_) => Ok(()),
            None => {
                self.seen.push(Seen { size, input, value });
                Ok(())
            }
        }
    }
}

/// Checks that a tensor of shape `found` has at most `limit` bytes, and can be addressed.
///
/// Sizes of 0 count as 1, because models also multiply sizes of tensors without elements and create other tensors of
/// these sizes.
pub fn bounded(name: &'static str, found: &[usize], dtype: ElementType, limit: usize) -> Result<(), Error> {
    let bytes = dtype.carrier().map_or(size_of::<String>(), |carrier| carrier.size());
    match extent(found, bytes) {
        Some(extent) if extent <= limit => Ok(()),
        _ => Err(Error::InputTooLarge { name, found: found.to_vec(), limit }),
    }
}

/// Converts to the nearest values of `dtype`, in the dtype in which the tensor's device computes.
pub fn float<const D: usize>(tensor: Tensor<D>, dtype: ElementType) -> Tensor<D> {
    match dtype.carrier() {
        Some(carrier) => float_to_float(tensor, carrier),
        None => tensor,
    }
}

/// Converts to the dtype that carries `dtype` on the tensor's device.
pub fn int<const D: usize>(tensor: Tensor<D, Int>, dtype: ElementType) -> Tensor<D, Int> {
    match dtype.carrier() {
        Some(carrier) => {
            let device_dtype = lowered(&tensor.device(), carrier);
            tensor.cast(IntDType::from(device_dtype))
        }
        None => tensor,
    }
}

/// Returns the value, or ends the step with the error: a panic with its text unless an attempt catches it.
#[track_caller]
pub fn expect<T>(result: Result<T, Error>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => error.end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{DType, Device, TensorData};

    #[test]
    fn a_named_size_is_known_after_the_check() {
        let mut sizes = Sizes::new();
        sizes.check("x", &[2, 3], &[Size::Named("batch"), Size::Fixed(3)]).unwrap();
        assert_eq!(sizes.size("batch"), 2);
    }

    #[test]
    fn inputs_that_disagree_are_both_named() {
        let mut sizes = Sizes::new();
        sizes.check("ids", &[2], &[Size::Named("batch")]).unwrap();
        let error = sizes.check("mask", &[3], &[Size::Named("batch")]).unwrap_err();
        assert_eq!(error.to_string(), "size `batch` is 2 in `ids` but 3 in `mask`");
    }

    #[test]
    fn a_fixed_size_must_match() {
        let error = Sizes::new().check("x", &[1, 4], &[Size::Unknown, Size::Fixed(3)]);
        assert_eq!(error.unwrap_err().to_string(), "`x` has shape [1, 4], expected [?, 3]");
    }

    #[test]
    fn sizes_of_tensors_without_elements_are_bounded_too() {
        let check = |found: &[usize]| {
            let checked = bounded("x", found, ElementType::Float32, 1 << 20);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check(&[512, 512]), Ok(()));
        assert_eq!(check(&[0, 1 << 18]), Ok(()));
        assert_eq!(
            check(&[512, 513]).unwrap_err(),
            "`x` has shape [512, 513], which exceeds the memory limit of 1.0 MiB"
        );
        assert_eq!(
            check(&[(1 << 62) + 1, 0]).unwrap_err(),
            "`x` has shape [4611686018427387905, 0], which exceeds the memory limit of 1.0 MiB (sizes of 0 \
             count as 1)"
        );
        let wrapped = bounded("x", &[1 << 62, 4], ElementType::Bool, usize::MAX);
        assert!(wrapped.is_err());
    }

    #[test]
    fn floats_of_16_bits_are_rounded_on_entry_and_computed_in_single_precision() {
        let x = Tensor::<1>::from_data([2049.0], (&Device::flex(), DType::F32));
        let computed = TensorData::from([2048f32]);
        let half = x.clone().cast(DType::F16);
        assert_eq!(float(half, ElementType::Float16).into_data(), computed);
        assert_eq!(float(x, ElementType::Float16).into_data(), computed);
    }

    #[test]
    fn an_input_of_burns_default_dtype_becomes_the_models() {
        let device = Device::flex();
        let ids = Tensor::<1, Int>::from_data([1, 2], (&device, DType::I32));
        assert_eq!(int(ids, ElementType::Int64).dtype(), DType::I64);
        let x = Tensor::<1>::from_data([1.5], (&device, DType::F32));
        assert_eq!(float(x, ElementType::Float64).dtype(), DType::F64);
    }
}
