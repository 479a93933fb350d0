#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Activation, Outputs, attempt, attempt_async, device, embedded, entry, from_file,
        layers, ops, printed, take, vec,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `hidden_states`: float32[batch, sequence, 8]
        pub hidden_states: Tensor<3>,
        /// `attention_mask`: float32[batch, 1, 1, sequence]
        pub attention_mask: Tensor<4>,
    }
    printed!(ModelInput { hidden_states, attention_mask });
    /// Compiled from `bert_layer.onnx`: IR version 8, ai.onnx 17, produced by pytorch.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `hidden_states` | float32[batch, sequence, 8] |
    /// | input | `attention_mask` | float32[batch, 1, 1, sequence] |
    /// | output | `last_hidden_state` | float32[batch, sequence, 8] |
    ///
    /// Its weights have 600 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let last_hidden_state = model.forward(ModelInput { hidden_states, attention_mask });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        attention_self_query: layers::Linear,
        attention_self_key: layers::Linear,
        attention_self_value: layers::Linear,
        attention_output_dense: layers::Linear,
        attention_output_layer_norm: layers::LayerNorm<1>,
        intermediate_dense: layers::Linear,
        output_dense: layers::Linear,
        output_layer_norm: layers::LayerNorm<1>,
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
        /// Runs the model: `hidden_states`: float32[batch, sequence, 8], `attention_mask`: float32[batch, 1, 1, sequence] → `last_hidden_state`: float32[batch, sequence, 8].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> Tensor<3> {
            let ModelInput { hidden_states, attention_mask } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let hidden_states = entry.float("hidden_states", hidden_states);
            let attention_mask = entry.float("attention_mask", attention_mask);
            if let Some(parts) = ops::batch::in_parts(
                &hidden_states,
                0,
                17,
                |rows| {
                    self
                        .forward(ModelInput {
                            hidden_states: rows.of(&hidden_states, 0),
                            attention_mask: rows.of(&attention_mask, 0),
                        })
                },
            ) {
                return ops::batch::joined(parts, 0);
            }
            let query = self.attention_self_query.forward(hidden_states.clone());
            let key = self.attention_self_key.forward(hidden_states.clone());
            let value = self.attention_self_value.forward(hidden_states.clone());
            let attention = ops::attention::merge_heads(
                ops::attention::joined_attention(
                    ops::attention::split_heads(query, 2),
                    ops::attention::split_heads(key, 2),
                    ops::attention::split_heads(value, 2),
                    vec![ops::attention::ScoreMask::Added(attention_mask)],
                    ops::attention::JoinedAttention {
                        scale: 0.5,
                        undefined_as_zero: false,
                    },
                ),
            );
            let x = self.attention_output_dense.forward_add(attention, hidden_states);
            let x = self.attention_output_layer_norm.forward(x);
            let intermediate = self.intermediate_dense.forward(x.clone());
            let x = self.output_dense.forward_add(intermediate, x);
            self.output_layer_norm.forward(x)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub fn try_forward(&self, input: ModelInput) -> Result<Tensor<3>, Error> {
            attempt(|| Ok(self.forward(input)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, input: ModelInput) -> Tensor<3> {
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
        ) -> Result<Tensor<3>, Error> {
            attempt_async(async { Ok(self.forward_async(input).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                attention_self_query: layers::Linear::load(
                    weights,
                    "onnx::MatMul_100",
                    Some("layer.0.attention.self.query.bias"),
                ),
                attention_self_key: layers::Linear::load(
                    weights,
                    "onnx::MatMul_117",
                    Some("layer.0.attention.self.key.bias"),
                ),
                attention_self_value: layers::Linear::load(
                    weights,
                    "onnx::MatMul_134",
                    Some("layer.0.attention.self.value.bias"),
                ),
                attention_output_dense: layers::Linear::load(
                    weights,
                    "onnx::MatMul_171",
                    Some("layer.0.attention.output.dense.bias"),
                ),
                attention_output_layer_norm: layers::LayerNorm::load(
                    weights,
                    "layer.0.attention.output.LayerNorm.weight",
                    Some("layer.0.attention.output.LayerNorm.bias"),
                    2,
                    1e-12,
                ),
                intermediate_dense: layers::Linear::load(
                        weights,
                        "onnx::MatMul_185",
                        Some("layer.0.intermediate.dense.bias"),
                    )
                    .activation(Activation::Gelu),
                output_dense: layers::Linear::load(
                    weights,
                    "onnx::MatMul_195",
                    Some("layer.0.output.dense.bias"),
                ),
                output_layer_norm: layers::LayerNorm::load(
                    weights,
                    "layer.0.output.LayerNorm.weight",
                    Some("layer.0.output.LayerNorm.bias"),
                    2,
                    1e-12,
                ),
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
                    name: "hidden_states",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("sequence"),
                            Size::Fixed(8),
                        ],
                    },
                },
                Port {
                    name: "attention_mask",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(1),
                            Size::Fixed(1),
                            Size::Named("sequence"),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "last_hidden_state",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("sequence"),
                            Size::Fixed(8),
                        ],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            producer: "pytorch",
            graph: "main_graph",
            opset: 17,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "attention_self_query.weight",
                name: "onnx::MatMul_100",
                shape: &[8, 8],
                trained: true,
            },
            Parameter {
                path: "attention_self_query.bias",
                name: "layer.0.attention.self.query.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "attention_self_key.weight",
                name: "onnx::MatMul_117",
                shape: &[8, 8],
                trained: true,
            },
            Parameter {
                path: "attention_self_key.bias",
                name: "layer.0.attention.self.key.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "attention_self_value.weight",
                name: "onnx::MatMul_134",
                shape: &[8, 8],
                trained: true,
            },
            Parameter {
                path: "attention_self_value.bias",
                name: "layer.0.attention.self.value.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "attention_output_dense.weight",
                name: "onnx::MatMul_171",
                shape: &[8, 8],
                trained: true,
            },
            Parameter {
                path: "attention_output_dense.bias",
                name: "layer.0.attention.output.dense.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "attention_output_layer_norm.scale",
                name: "layer.0.attention.output.LayerNorm.weight",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "attention_output_layer_norm.bias",
                name: "layer.0.attention.output.LayerNorm.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "intermediate_dense.weight",
                name: "onnx::MatMul_185",
                shape: &[8, 16],
                trained: true,
            },
            Parameter {
                path: "intermediate_dense.bias",
                name: "layer.0.intermediate.dense.bias",
                shape: &[16],
                trained: true,
            },
            Parameter {
                path: "output_dense.weight",
                name: "onnx::MatMul_195",
                shape: &[16, 8],
                trained: true,
            },
            Parameter {
                path: "output_dense.bias",
                name: "layer.0.output.dense.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "output_layer_norm.scale",
                name: "layer.0.output.LayerNorm.weight",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "output_layer_norm.bias",
                name: "layer.0.output.LayerNorm.bias",
                shape: &[8],
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
            let device = device(&self.attention_self_query);
            let output = self
                .forward(ModelInput {
                    hidden_states: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    attention_mask: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/bert_layer.onnx"), 19175)]
    }
}
