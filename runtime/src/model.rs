//! The interface that all embedded models share.

#[cfg(feature = "std")]
use std::path::Path;

use alloc::vec::Vec;

use burn::tensor::Device;
use onnx_embed_kernels::stored::SharedBytes;

#[cfg(feature = "std")]
use crate::Session;
use crate::attempt::{attempt, attempt_async};
use crate::outputs::Outputs;
use crate::warm_up::zeros;
#[cfg(feature = "structure")]
use crate::weights::or_adapted;
use crate::weights::{Table, WeightSource};
use crate::{Error, Metadata, Parameter, Signature, Values};

/// A model that [`onnx_model!`](crate::onnx_model) generated, with named values instead of typed inputs and outputs.
///
/// Code that is generic over this trait, such as a server, a test harness or a benchmark, works with every model.
pub trait OnnxModel: Sized + Send + Sync {
    /// Inputs and outputs of the model.
    const SIGNATURE: Signature;

    /// Parameters that the model has unchanged from its file.
    const PARAMETERS: &'static [Parameter];

    /// Metadata of the file: producer, description, properties by name.
    const METADATA: Metadata = Metadata::EMPTY;

    /// Class names by index, empty if the file has none.
    ///
    /// They come from the property `names`, `labels`, `classes`, `class_names`, `class_labels` or `id2label`: a list or
    /// dictionary in JSON or Python syntax, or names separated by lines or commas. If there is no such property, they
    /// come from the classifier of `ai.onnx.ml` that computes an output.
    const LABELS: &'static [&'static str] = &[];

    /// Public key of the signatures that files of the model must have, in minisign's form: that of the option `signature`.
    const PUBLIC_KEY: Option<&'static str> = None;

    /// Files of the compiled model without large weights, if files of other exporters are loaded.
    #[doc(hidden)]
    const COMPILED: Option<&'static [u8]> = None;

    /// Loads the model with the weights of the `.onnx` file at `path` and its external data files in the same folder.
    ///
    /// The files must contain the compiled graph; only weight values may differ. Values that the code depends on must
    /// be equal: shapes and other integers, scalars and, with embedded weights, constants that simplification used.
    ///
    /// Files are read, not mapped, and the model does not need them after this call. A file whose length differs from
    /// that of the compiled file is not read.
    ///
    /// A model with the option `match = "structure"` also loads files of other exporters whose simplified graph is equal. Such a
    /// file is read into memory as a whole; it may have four times the bytes of the compiled files, plus 64 MiB.
    ///
    /// If the model has a [public key](Self::PUBLIC_KEY), each file must have a signature next to it: `model.onnx.minisig`
    /// for `model.onnx`. The files are then read into memory as a whole, so that the weights are those that were signed.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, is truncated while it is read, or differs in more than weight values that may differ,
    /// or if a layer cannot be constructed from the weights. Pipes, devices and directories are errors, and so are
    /// links from external data to files outside the folder of the model; if `path` is a link, the folder of its target
    /// is allowed, too.
    #[cfg(feature = "std")]
    fn from_file(path: impl AsRef<Path>, device: &Device) -> Result<Self, Error> {
        let (table, path, key) = (Self::table(), path.as_ref(), Self::PUBLIC_KEY);
        let loaded = table.open(path, key, |source| Self::from_source(source, device));
        #[cfg(feature = "structure")]
        let loaded = or_adapted(loaded, Self::COMPILED, Some(path), |compiled| {
            table.open_other(compiled, path, key, |source| Self::from_source(source, device))
        });
        loaded
    }

    /// Loads the model with the weights in `files`: the `.onnx` file, then its external data files in the order of the
    /// model's references. If the model has a [public key](Self::PUBLIC_KEY), the signature of each file follows.
    ///
    /// # Errors
    ///
    /// If the files differ from the compiled files in more than weight values that may differ, see
    /// [`from_file`](Self::from_file), or if a file is not signed with the key.
    fn from_bytes(files: &[&[u8]], device: &Device) -> Result<Self, Error> {
        let (table, key) = (Self::table(), Self::PUBLIC_KEY);
        let verified = table.verified(key, files);
        let loaded = verified.and_then(|files| Self::from_source(WeightSource::Memory(files), device));
        #[cfg(feature = "structure")]
        let loaded = or_adapted(loaded, Self::COMPILED, None, |compiled| {
            table.load_other(compiled, files, key, |source| Self::from_source(source, device))
        });
        loaded
    }

    /// Loads the model with the weights in `files`, in the order of [`from_bytes`](Self::from_bytes), and keeps these bytes
    /// as long as it needs them.
    ///
    /// On a CPU, tensors that no kernel packs, such as the table of an embedding, read weights of 16 KiB or more in place.
    /// If the bytes are those of a mapped file, processes share the pages; pages of weights that are packed or copied
    /// return to the system. The crates `memmap2` and others map files by an `unsafe` function, because nobody may change
    /// the file while it is mapped: that is the caller's duty.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    fn from_shared(files: &[SharedBytes], device: &Device) -> Result<Self, Error> {
        let bytes: Vec<&[u8]> = files.iter().map(|file| (**file).as_ref()).collect();
        // Signatures follow the files.
        let count = Self::table().verified(Self::PUBLIC_KEY, &bytes)?.len();
        Self::from_source(WeightSource::Shared(&files[..count]), device)
    }

    /// Loads the model with the weights of a source.
    #[doc(hidden)]
    fn from_source(source: WeightSource<'_>, device: &Device) -> Result<Self, Error>;

    /// Checks whether [`from_file`](Self::from_file) would accept the file at `path`, without loading it. Use this
    /// before you drop the current model.
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file), except for weights from which a layer cannot be constructed, such as those of
    /// a tree with a cycle: only loading finds these.
    #[cfg(feature = "std")]
    fn check_file(path: impl AsRef<Path>) -> Result<(), Error> {
        let (table, path, key) = (Self::table(), path.as_ref(), Self::PUBLIC_KEY);
        let checked = table.open(path, key, |source| table.check(source).map(drop));
        #[cfg(feature = "structure")]
        let checked = or_adapted(checked, Self::COMPILED, Some(path), |compiled| {
            table.open_other(compiled, path, key, |source| table.check(source).map(drop))
        });
        checked
    }

    /// Returns the table of the model's weights.
    #[doc(hidden)]
    fn table() -> &'static Table;

    /// Computes the outputs for `inputs`. Both are named as in the file.
    ///
    /// GPUs are not queried for indices during a run. They use the nearest valid index, and `run` returns the error
    /// when it reads the outputs. The typed `forward` does not read its outputs, so its result is the one for the
    /// nearest index.
    ///
    /// # Errors
    ///
    /// If the inputs do not match the signature, or if a node cannot compute the data: an index is out of range, a
    /// block of audio is shorter than its window, sizes contradict each other. The error names the node, and the model
    /// can be used again. The typed `forward` panics with the same text.
    ///
    /// With `panic = "abort"`, an error of a node ends the process, because panics cannot be caught.
    fn run(&self, mut inputs: Values) -> Result<Values, Error> {
        Self::SIGNATURE.check(&inputs)?;
        attempt(|| self.start(&mut inputs)?.values())
    }

    /// Async version of [`run`](Self::run), for threads that must not block, as in a browser.
    ///
    /// The future awaits everything that is read from the device: the outputs, and values that nodes need during the
    /// run. Any executor may poll it, on any thread. The device receives work only while the future is polled.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    fn run_async(&self, mut inputs: Values) -> impl Future<Output = Result<Values, Error>> + Send {
        async move {
            Self::SIGNATURE.check(&inputs)?;
            attempt_async(async { self.start(&mut inputs)?.values_async().await }).await
        }
    }

    /// Submits the work of a run to the device.
    #[doc(hidden)]
    fn start(&self, inputs: &mut Values) -> Result<Outputs, Error>;

    /// Starts a session: calls with inputs of the same sizes, which use the memory of the call before.
    ///
    /// Inputs are zeros until they are set. `sizes` sets named sizes, as in [`warm_up`](Self::warm_up).
    ///
    /// # Errors
    ///
    /// If no input has a size with a specified name.
    #[cfg(feature = "std")]
    fn session(&self, sizes: &[(&str, usize)]) -> Result<Session<'_, Self>, Error> {
        Session::new(self, sizes)
    }

    /// Runs the model on zeros and waits for the device, so that its kernels are compiled before the first request.
    ///
    /// `sizes` sets named sizes of inputs, as in `[("batch", 8)]`, because kernels depend on them; other dynamic sizes
    /// are 1. Call this method with each combination of sizes that requests will have.
    ///
    /// # Errors
    ///
    /// If no input has a size with a specified name, or if zeros are not valid data for the model. In that case,
    /// kernels that ran before the error are compiled.
    fn warm_up(&self, sizes: &[(&str, usize)]) -> Result<(), Error> {
        self.run(zeros(&Self::SIGNATURE, sizes)?).map(drop)
    }

    /// Async version of [`warm_up`](Self::warm_up).
    ///
    /// # Errors
    ///
    /// As [`warm_up`](Self::warm_up).
    fn warm_up_async(&self, sizes: &[(&str, usize)]) -> impl Future<Output = Result<(), Error>> + Send {
        async { self.run_async(zeros(&Self::SIGNATURE, sizes)?).await.map(drop) }
    }
}

/// Method of a generated model that opens files, if the target has any.
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
            $crate::__private::vector_instructions();
            <Self as $crate::OnnxModel>::from_file(path, device)
        }
    };
}

/// Empty version: without `std` there are no files.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! from_file {
    () => {};
}
