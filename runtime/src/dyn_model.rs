//! Models of any type behind one.

use alloc::boxed::Box;
use core::pin::Pin;

use crate::{Error, Metadata, OnnxModel, Parameter, Signature, Values};

/// Any model: what [`OnnxModel`] has of one that is loaded, for a `Box<dyn DynModel>`.
///
/// Every model is one, and may be used by several threads:
///
/// ```
/// use std::collections::HashMap;
/// use onnx_embed::{DynModel, Error, Values};
///
/// fn answer(models: &HashMap<String, Box<dyn DynModel>>, name: &str, inputs: Values) -> Result<Values, Error> {
///     models[name].run(inputs)
/// }
/// ```
///
/// `use onnx_embed::{DynModel, OnnxModel}` makes `model.run(..)` of a model whose type is known ambiguous:
/// there, import one of the two, or write `OnnxModel::run(&model, ..)`.
pub trait DynModel: Send + Sync {
    /// [`OnnxModel::SIGNATURE`].
    fn signature(&self) -> Signature;

    /// [`OnnxModel::METADATA`].
    fn metadata(&self) -> Metadata;

    /// [`OnnxModel::LABELS`].
    fn labels(&self) -> &'static [&'static str];

    /// [`OnnxModel::PARAMETERS`].
    fn parameters(&self) -> &'static [Parameter];

    /// [`OnnxModel::run`].
    fn run(&self, inputs: Values) -> Result<Values, Error>;

    /// [`OnnxModel::run_async`]. The future is `Send`, in browsers too, where what Burn waits in is so as elsewhere.
    fn run_async(
        &self,
        inputs: Values,
    ) -> Pin<Box<dyn Future<Output = Result<Values, Error>> + Send + '_>>;

    /// [`OnnxModel::warm_up`].
    fn warm_up(&self, sizes: &[(&str, usize)]) -> Result<(), Error>;

    /// [`OnnxModel::warm_up_async`].
    fn warm_up_async<'a>(
        &'a self,
        sizes: &'a [(&'a str, usize)],
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;
}

impl<M: OnnxModel> DynModel for M {
    fn signature(&self) -> Signature {
        M::SIGNATURE
    }

    fn metadata(&self) -> Metadata {
        M::METADATA
    }

    fn labels(&self) -> &'static [&'static str] {
        M::LABELS
    }

    fn parameters(&self) -> &'static [Parameter] {
        M::PARAMETERS
    }

    fn run(&self, inputs: Values) -> Result<Values, Error> {
        OnnxModel::run(self, inputs)
    }

    fn run_async(
        &self,
        inputs: Values,
    ) -> Pin<Box<dyn Future<Output = Result<Values, Error>> + Send + '_>> {
        Box::pin(OnnxModel::run_async(self, inputs))
    }

    fn warm_up(&self, sizes: &[(&str, usize)]) -> Result<(), Error> {
        OnnxModel::warm_up(self, sizes)
    }

    fn warm_up_async<'a>(
        &'a self,
        sizes: &'a [(&'a str, usize)],
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>> {
        Box::pin(OnnxModel::warm_up_async(self, sizes))
    }
}
