#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, DType, Device, ElementType, Error, Int, Metadata, OnnxModel, Parameter,
        Port, Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Node, Outputs, attempt, attempt_async, device, embedded, entry, from_file, ops,
        printed, take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::{Module, Param};
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `input_ids`: int64[batch, length]
        pub input_ids: Tensor<2, Int>,
        /// `attention_mask`: int64[batch, length]
        pub attention_mask: Tensor<2, Int>,
    }
    printed!(ModelInput { input_ids, attention_mask });
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `sentence`: float32[batch, 2]
        pub sentence: Tensor<2>,
        /// `tokens`: float32[batch, length, 2]
        pub tokens: Tensor<3>,
    }
    printed!(ModelOutput { sentence, tokens });
    /// Compiled from `two_inputs.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `input_ids` | int64[batch, length] |
    /// | input | `attention_mask` | int64[batch, length] |
    /// | output | `sentence` | float32[batch, 2] |
    /// | output | `tokens` | float32[batch, length, 2] |
    ///
    /// Its weights have 8 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { sentence, tokens } = model.forward(ModelInput { input_ids, attention_mask });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        embeddings_weight: Param<Tensor<2>>,
        gather: Node,
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
        /// Runs the model: `input_ids`: int64[batch, length], `attention_mask`: int64[batch, length] → `sentence`: float32[batch, 2], `tokens`: float32[batch, length, 2].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput { input_ids, attention_mask } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let input_ids = entry.int("input_ids", input_ids);
            let attention_mask = entry.int("attention_mask", attention_mask);
            if let Some(parts) = ops::batch::in_parts(
                &input_ids,
                0,
                20,
                |rows| {
                    self
                        .forward(ModelInput {
                            input_ids: rows.of(&input_ids, 0),
                            attention_mask: rows.of(&attention_mask, 0),
                        })
                },
            ) {
                return ModelOutput {
                    sentence: ops::batch::joined(
                        parts.iter().map(|part| part.sentence.clone()),
                        0,
                    ),
                    tokens: ops::batch::joined(
                        parts.iter().map(|part| part.tokens.clone()),
                        0,
                    ),
                };
            }
            let held = self
                .gather
                .run(|| ops::gather::gather::<
                    _,
                    _,
                    3,
                    _,
                >(self.embeddings_weight.val(), 0, input_ids));
            let numbers = ops::cast::int_to_float(attention_mask, DType::F32);
            let column = numbers.unsqueeze_dim::<3>(2);
            let tokens = held * column.clone();
            let total = ops::reduce::reduce_sum::<_, 2, _>(tokens.clone(), &[1]);
            let sentence = total
                / ops::reduce::reduce_sum::<_, 2, _>(column, &[1]).clamp_min(1e-9);
            ModelOutput { sentence, tokens }
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub fn try_forward(&self, input: ModelInput) -> Result<ModelOutput, Error> {
            attempt(|| Ok(self.forward(input)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, input: ModelInput) -> ModelOutput {
            self.forward(input)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            input: ModelInput,
        ) -> Result<ModelOutput, Error> {
            attempt_async(async { Ok(self.forward_async(input).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                embeddings_weight: weights.float::<2>("embeddings.weight"),
                gather: Node::new("held", "Gather"),
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
                    name: "input_ids",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[Size::Named("batch"), Size::Named("length")],
                    },
                },
                Port {
                    name: "attention_mask",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[Size::Named("batch"), Size::Named("length")],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "sentence",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(2)],
                    },
                },
                Port {
                    name: "tokens",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("length"),
                            Size::Fixed(2),
                        ],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "two_inputs",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "embeddings_weight",
                name: "embeddings.weight",
                shape: &[4, 2],
                trained: true,
            },
        ];
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
            let device = device(&self.embeddings_weight);
            let output = self
                .forward(ModelInput {
                    input_ids: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    attention_mask: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.sentence)
                    .with(&Self::SIGNATURE.outputs[1], output.tokens),
            )
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/two_inputs.onnx"), 625)]
    }
}
