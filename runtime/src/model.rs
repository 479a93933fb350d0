//! What every embedded model can do, whatever its types.

#[cfg(feature = "std")]
use std::path::Path;

use burn::tensor::Device;

use crate::attempt::{attempt, attempt_async};
use crate::outputs::Outputs;
use crate::warm_up::zeros;
use crate::weights::{Table, WeightSource};
use crate::{Error, Metadata, Parameter, Signature, Values};

/// A model that [`onnx_model!`](crate::onnx_model) made, used by names instead of types.
///
/// A server, a test harness or a benchmark written against this trait works with every model.
pub trait OnnxModel: Sized + Send + Sync {
    /// The inputs and outputs of the model.
    const SIGNATURE: Signature;

    /// The parameters that the model has as its file has them.
    const PARAMETERS: &'static [Parameter];

    /// What the file says of itself: who wrote it, what it is about, properties by name.
    const METADATA: Metadata = Metadata::EMPTY;

    /// The names of classes by their index, where the file has them: in the property `names`, `labels`,
    /// `classes`, `class_names` or `id2label`, as a list or dictionary of JSON or Python, or separated by
    /// lines or commas; else those of the classifier of `ai.onnx.ml` that gives an output. Empty where there
    /// are none.
    const LABELS: &'static [&'static str] = &[];

    /// The model with the weights of the `.onnx` file at `path` and the external data files beside it.
    ///
    /// The files may differ in the values of the weights from those that were compiled, in nothing else, and
    /// not in values that the code depends on: those of shapes and other integers, of scalars, and, where the
    /// weights are embedded, whatever the model was simplified by.
    ///
    /// Pipes, devices and folders are refused, and so is external data that a link has outside of the model's
    /// folder. Files are read, not mapped: one that is cut meanwhile is an error, and values that the code
    /// depends on are those that were checked. Nothing is read of a file of another length than the compiled
    /// one, and after the call the model does not need its files.
    #[cfg(feature = "std")]
    fn from_file(path: impl AsRef<Path>, device: &Device) -> Result<Self, Error> {
        Self::table().open(path.as_ref(), |source| Self::from_source(source, device))
    }

    /// The model with the weights in `files`: the `.onnx` file, then its external data files in the order in
    /// which the model names them.
    fn from_bytes(files: &[&[u8]], device: &Device) -> Result<Self, Error> {
        Self::from_source(WeightSource::Memory(files), device)
    }

    /// The model with the weights of a source.
    #[doc(hidden)]
    fn from_source(source: WeightSource<'_>, device: &Device) -> Result<Self, Error>;

    /// Whether [`from_file`](Self::from_file) takes the file at `path`, which is read and not loaded: before
    /// a program lets go of the model that it has.
    ///
    /// Weights that a layer cannot be made of, as those of a tree with a loop, only loading finds.
    #[cfg(feature = "std")]
    fn check_file(path: impl AsRef<Path>) -> Result<(), Error> {
        let table = Self::table();
        table.open(path.as_ref(), |source| table.check(source).map(drop))
    }

    /// Where its weights lie.
    #[doc(hidden)]
    fn table() -> &'static Table;

    /// The outputs for `inputs`, both by the names in the file.
    ///
    /// Inputs that are not those of the model are an error, and so is data that a node cannot be run on: an
    /// index outside of its table, a block of audio shorter than its window, sizes that contradict each
    /// other. The error names the node, and the model can be run again. The typed `forward` panics with the
    /// same text.
    ///
    /// Devices other than the CPU are not asked about indices while the model runs. They take the nearest
    /// index that exists, and the error comes when the outputs are read, which `run` does and `forward`
    /// leaves to its caller: there the result counts.
    ///
    /// Panics are caught to this end, so where they abort (`panic = "abort"`) `run` does so too.
    fn run(&self, mut inputs: Values) -> Result<Values, Error> {
        Self::SIGNATURE.check(&inputs)?;
        attempt(|| self.start(&mut inputs)?.values())
    }

    /// [`run`](Self::run) for threads that must not block, as in a browser: whatever is read from the device
    /// is awaited, the outputs and what nodes need on their way. Any executor may poll it, from whatever
    /// thread.
    ///
    /// The work is given to the device as the future is polled, and nothing before.
    fn run_async(&self, mut inputs: Values) -> impl Future<Output = Result<Values, Error>> + Send {
        async move {
            Self::SIGNATURE.check(&inputs)?;
            attempt_async(async { self.start(&mut inputs)?.values_async().await }).await
        }
    }

    /// Gives the work of a run to the device.
    #[doc(hidden)]
    fn start(&self, inputs: &mut Values) -> Result<Outputs, Error>;

    /// Runs the model on zeros and waits for the device, so that the first request finds its kernels compiled.
    ///
    /// `sizes` gives sizes of inputs by name, as `[("batch", 8)]`, as kernels depend on them; others that are
    /// open are 1. Call it with each choice of sizes that requests will have.
    ///
    /// An error says that zeros are no data of the model, or that no input has a size of this name. What ran
    /// until then is compiled.
    fn warm_up(&self, sizes: &[(&str, usize)]) -> Result<(), Error> {
        self.run(zeros(&Self::SIGNATURE, sizes)?).map(drop)
    }

    /// [`warm_up`](Self::warm_up) for threads that must not block.
    fn warm_up_async(&self, sizes: &[(&str, usize)]) -> impl Future<Output = Result<(), Error>> + Send {
        async { self.run_async(zeros(&Self::SIGNATURE, sizes)?).await.map(drop) }
    }
}

/// The function of a model that opens files, where there are any.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! from_file {
    () => {
        /// The model with the weights of another file of the same graph.
        ///
        /// # Errors
        ///
        /// If the file cannot be read, or is not one of the same graph.
        pub fn from_file(
            path: impl AsRef<std::path::Path>,
            device: &$crate::Device,
        ) -> Result<Self, $crate::Error> {
            <Self as $crate::OnnxModel>::from_file(path, device)
        }
    };
}

/// Without `std` there are no files.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! from_file {
    () => {};
}
