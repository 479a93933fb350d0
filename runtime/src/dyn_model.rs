//! Models of any type behind one.

use alloc::boxed::Box;
use core::pin::Pin;

use crate::{Error, Metadata, OnnxModel, Parameter, Signature, Values};

/// Any model: a `Box<dyn DynModel>` has the [`Methods`] of [`OnnxModel`] for one that is loaded.
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
pub trait DynModel: Methods {}

impl<M: OnnxModel> DynModel for M {}

/// The methods of a [`DynModel`].
///
/// They are here so that `DynModel` and [`OnnxModel`] can be imported together: `model.run(..)` is then that of
/// `OnnxModel` where the type of the model is known, and this one of a `dyn DynModel`. This trait need not be imported.
///
/// ```
/// use onnx_embed::{DynModel, Error, OnnxModel, Values};
///
/// fn typed<M: OnnxModel>(model: &M, inputs: Values) -> Result<Values, Error> {
///     model.run(inputs)
/// }
///
/// fn any<M: DynModel + ?Sized>(model: &M, inputs: Values) -> Result<Values, Error> {
///     model.run(inputs)
/// }
/// ```
pub trait Methods: Send + Sync {
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
    fn run_async(&self, inputs: Values) -> Pin<Box<dyn Future<Output = Result<Values, Error>> + Send + '_>>;

    /// [`OnnxModel::warm_up`].
    fn warm_up(&self, sizes: &[(&str, usize)]) -> Result<(), Error>;

    /// [`OnnxModel::warm_up_async`].
    fn warm_up_async<'a>(
        &'a self,
        sizes: &'a [(&'a str, usize)],
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;
}

impl<M: OnnxModel> Methods for M {
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

    fn run_async(&self, inputs: Values) -> Pin<Box<dyn Future<Output = Result<Values, Error>> + Send + '_>> {
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
