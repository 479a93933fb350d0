#[allow(unused_imports)]
pub use model_onnx::{Model, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Array, Device, ElementType, Error, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Anchor, Outputs, String, attempt, attempt_async, device, embedded, entry,
        from_file, layers, ops, printed, take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `label`: string[batch]
        pub label: Array<String>,
        /// `probabilities`: float32[batch, 3]
        pub probabilities: Tensor<2>,
    }
    printed!(ModelOutput { label, probabilities });
    /// Compiled from `iris.onnx`: IR version 10, ai.onnx 21, ai.onnx.ml 3, produced by make.py 1.2.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `features` | float32[batch, 4] |
    /// | output | `label` | string[batch] |
    /// | output | `probabilities` | float32[batch, 3] |
    ///
    /// Its weights have 15 elements. `LABELS` contains the names of 3 classes: `setosa`, `versicolor`, `virginica`.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { label, probabilities } = model.forward(features);
    /// ```
    ///
    /// Documentation in the file:
    ///
    /// ````text
    /// Flowers by their leaves, in cm.
    /// ```
    /// assert!(false);
    /// ```
    /// ````
    #[derive(Module, Debug)]
    pub struct Model {
        ai_onnx_ml_linear_classifier: layers::LinearClassifier,
        anchor: Anchor,
    }
    impl Model {
        /// Creates the model with the embedded weights.
        pub fn new(device: &Device) -> Self {
            Self::load(&Weights::new(&WEIGHTS, &files(), device))
        }
        from_file!();
        /// Creates the model with the weights of another file with the same graph.
        ///
        /// # Errors
        ///
        /// If the bytes are not a file with the same graph.
        pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self, Error> {
            <Self as OnnxModel>::from_bytes(&[bytes], device)
        }
        /// Runs the model: `features`: float32[batch, 4] → `label`: string[batch], `probabilities`: float32[batch, 3].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `features` does not have shape [batch, 4], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, features: Tensor<2>) -> ModelOutput {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let features = entry.float("features", features);
            let (label, probabilities) = self
                .ai_onnx_ml_linear_classifier
                .forward_strings(features);
            ModelOutput {
                label,
                probabilities,
            }
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `features` does not have shape [batch, 4], or if a node cannot process the data.
        pub fn try_forward(&self, features: Tensor<2>) -> Result<ModelOutput, Error> {
            attempt(|| Ok(self.forward(features)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, features: Tensor<2>) -> ModelOutput {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let features = entry.float("features", features);
            let (label, probabilities) = self
                .ai_onnx_ml_linear_classifier
                .forward_strings_async(features)
                .await;
            ModelOutput {
                label,
                probabilities,
            }
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If `features` does not have shape [batch, 4], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            features: Tensor<2>,
        ) -> Result<ModelOutput, Error> {
            attempt_async(async { Ok(self.forward_async(features).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                ai_onnx_ml_linear_classifier: layers::LinearClassifier::load(
                    weights,
                    "label.coefficients",
                    Some("label.intercepts"),
                    3,
                    layers::Labels::strings(weights, "label.classlabels_strings"),
                    ops::scores::Transform::Softmax,
                ),
                anchor: Anchor::new(weights.device()),
            }
        }
    }
    impl Default for Model {
        fn default() -> Self {
            Self::new(&Device::default())
        }
    }
    impl OnnxModel for Model {
        const SIGNATURE: Signature = Signature {
            inputs: &[
                Port {
                    name: "features",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(4)],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "label",
                    kind: ValueType::Tensor {
                        dtype: ElementType::String,
                        sizes: &[Size::Named("batch")],
                    },
                },
                Port {
                    name: "probabilities",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(3)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            producer: "make.py",
            producer_version: "1.2",
            domain: "org.example",
            version: 7,
            doc: "Flowers by their leaves, in cm.\n```\nassert!(false);\n```\n",
            graph: "iris",
            opset: 21,
            entries: &[("author", "R. A. Fisher"), ("license", "CC0")],
            ..Metadata::EMPTY
        };
        const LABELS: &'static [&'static str] = &["setosa", "versicolor", "virginica"];
        const PARAMETERS: &'static [Parameter] = &[];
        fn from_source(
            source: WeightSource<'_>,
            device: &Device,
        ) -> Result<Self, Error> {
            WEIGHTS.load(source, device, Self::load)
        }
        fn table() -> &'static Table {
            &WEIGHTS
        }
        fn start(&self, inputs: &mut Values) -> Result<Outputs, Error> {
            let device = device(&self.anchor);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.label)
                    .with(&Self::SIGNATURE.outputs[1], output.probabilities),
            )
        }
        async fn run_async(&self, mut inputs: Values) -> Result<Values, Error> {
            Self::SIGNATURE.check(&inputs)?;
            let inputs = &mut inputs;
            let device = device(&self.anchor);
            attempt_async(async {
                    let output = self
                        .forward_async(
                            take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                        )
                        .await;
                    Outputs::new()
                        .with(&Self::SIGNATURE.outputs[0], output.label)
                        .with(&Self::SIGNATURE.outputs[1], output.probabilities)
                        .values_async()
                        .await
                })
                .await
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/iris.onnx"), 548)]
    }
}
