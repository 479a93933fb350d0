//! Models of different types as one type.

use alloc::boxed::Box;
use core::pin::Pin;

use crate::{Error, Metadata, OnnxModel, Parameter, Signature, Values};

/// A model of any type: `Box<dyn DynModel>` has the [`Methods`] of a loaded [`OnnxModel`].
///
/// All models implement this trait. Several threads may share one:
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
/// They are in a separate trait so that `DynModel` and [`OnnxModel`] can be imported together: `model.run(..)` is the
/// method of `OnnxModel` if the type of the model is known, and the method of this trait for a `dyn DynModel`. It is not
/// necessary to import this trait.
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
    /// Returns [`OnnxModel::SIGNATURE`].
    fn signature(&self) -> Signature;

    /// Returns [`OnnxModel::METADATA`].
    fn metadata(&self) -> Metadata;

    /// Returns [`OnnxModel::LABELS`].
    fn labels(&self) -> &'static [&'static str];

    /// Returns [`OnnxModel::PARAMETERS`].
    fn parameters(&self) -> &'static [Parameter];

    /// Runs the model, see [`OnnxModel::run`].
    ///
    /// # Errors
    ///
    /// As [`OnnxModel::run`].
    fn run(&self, inputs: Values) -> Result<Values, Error>;

    /// Async version of [`run`](Self::run), see [`OnnxModel::run_async`].
    ///
    /// The future is `Send`, also in browsers, if the future of Burn that it awaits is.
    ///
    /// # Errors
    ///
    /// As [`OnnxModel::run`].
    fn run_async(&self, inputs: Values) -> Pin<Box<dyn Future<Output = Result<Values, Error>> + Send + '_>>;

    /// Prepares the device for a run, see [`OnnxModel::warm_up`].
    ///
    /// # Errors
    ///
    /// As [`OnnxModel::warm_up`].
    fn warm_up(&self, sizes: &[(&str, usize)]) -> Result<(), Error>;

    /// Async version of [`warm_up`](Self::warm_up), see [`OnnxModel::warm_up_async`].
    ///
    /// # Errors
    ///
    /// As [`OnnxModel::warm_up`].
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
