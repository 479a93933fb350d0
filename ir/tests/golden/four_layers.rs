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
        /// `hidden`: float32[batch, words, 4]
        pub hidden: Tensor<3>,
        /// `mask`: float32[batch, 1, 1, words]
        pub mask: Tensor<4>,
    }
    printed!(ModelInput { hidden, mask });
    /// Compiled from `four_layers.onnx`: IR version 9, ai.onnx 20, produced by pytorch.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `hidden` | float32[batch, words, 4] |
    /// | input | `mask` | float32[batch, 1, 1, words] |
    /// | output | `y` | float32[batch, words, 4] |
    ///
    /// Its weights have 624 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let y = model.forward(ModelInput { hidden, mask });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        norm: layers::LayerNorm<1>,
        encoder: Encoder,
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
        /// Runs the model: `hidden`: float32[batch, words, 4], `mask`: float32[batch, 1, 1, words] → `y`: float32[batch, words, 4].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> Tensor<3> {
            let ModelInput { hidden, mask } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let hidden = entry.float("hidden", hidden);
            let mask = entry.float("mask", mask);
            if let Some(parts) = ops::batch::in_parts(
                &hidden,
                0,
                17,
                |rows| {
                    self
                        .forward(ModelInput {
                            hidden: rows.of(&hidden, 0),
                            mask: rows.of(&mask, 0),
                        })
                },
            ) {
                return ops::batch::joined(parts, 0);
            }
            let x = self.norm.forward(hidden);
            let x = self.encoder.forward(x, mask);
            ops::elementary::tanh(x)
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
                norm: layers::LayerNorm::load(
                    weights,
                    "norm.weight",
                    Some("norm.bias"),
                    2,
                    1e-12,
                ),
                encoder: Encoder::load(weights),
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
                    name: "hidden",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("words"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "mask",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(1),
                            Size::Fixed(1),
                            Size::Named("words"),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "y",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("words"),
                            Size::Fixed(4),
                        ],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            producer: "pytorch",
            graph: "encoder",
            opset: 20,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "norm.scale",
                name: "norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "norm.bias",
                name: "norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_query.weight",
                name: "onnx::MatMul_101",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_query.bias",
                name: "encoder.layer.0.attention.query.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_key.weight",
                name: "onnx::MatMul_105",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_key.bias",
                name: "encoder.layer.0.attention.key.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_value.weight",
                name: "onnx::MatMul_109",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_value.bias",
                name: "encoder.layer.0.attention.value.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_output.weight",
                name: "onnx::MatMul_120",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_output.bias",
                name: "encoder.layer.0.attention.output.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_norm.scale",
                name: "encoder.layer.0.attention.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.attention_norm.bias",
                name: "encoder.layer.0.attention.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.up.weight",
                name: "onnx::MatMul_124",
                shape: &[4, 6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.up.bias",
                name: "encoder.layer.0.up.bias",
                shape: &[6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.down.weight",
                name: "onnx::MatMul_131",
                shape: &[6, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.down.bias",
                name: "encoder.layer.0.down.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.norm.scale",
                name: "encoder.layer.0.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.0.norm.bias",
                name: "encoder.layer.0.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_query.weight",
                name: "onnx::MatMul_135",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_query.bias",
                name: "encoder.layer.1.attention.query.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_key.weight",
                name: "onnx::MatMul_139",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_key.bias",
                name: "encoder.layer.1.attention.key.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_value.weight",
                name: "onnx::MatMul_143",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_value.bias",
                name: "encoder.layer.1.attention.value.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_output.weight",
                name: "onnx::MatMul_154",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_output.bias",
                name: "encoder.layer.1.attention.output.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_norm.scale",
                name: "encoder.layer.1.attention.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.attention_norm.bias",
                name: "encoder.layer.1.attention.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.up.weight",
                name: "onnx::MatMul_158",
                shape: &[4, 6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.up.bias",
                name: "encoder.layer.1.up.bias",
                shape: &[6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.down.weight",
                name: "onnx::MatMul_165",
                shape: &[6, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.down.bias",
                name: "encoder.layer.1.down.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.norm.scale",
                name: "encoder.layer.1.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.1.norm.bias",
                name: "encoder.layer.1.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_query.weight",
                name: "onnx::MatMul_169",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_query.bias",
                name: "encoder.layer.2.attention.query.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_key.weight",
                name: "onnx::MatMul_173",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_key.bias",
                name: "encoder.layer.2.attention.key.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_value.weight",
                name: "onnx::MatMul_177",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_value.bias",
                name: "encoder.layer.2.attention.value.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_output.weight",
                name: "onnx::MatMul_188",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_output.bias",
                name: "encoder.layer.2.attention.output.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_norm.scale",
                name: "encoder.layer.2.attention.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.attention_norm.bias",
                name: "encoder.layer.2.attention.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.up.weight",
                name: "onnx::MatMul_192",
                shape: &[4, 6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.up.bias",
                name: "encoder.layer.2.up.bias",
                shape: &[6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.down.weight",
                name: "onnx::MatMul_199",
                shape: &[6, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.down.bias",
                name: "encoder.layer.2.down.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.norm.scale",
                name: "encoder.layer.2.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.2.norm.bias",
                name: "encoder.layer.2.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_query.weight",
                name: "onnx::MatMul_203",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_query.bias",
                name: "encoder.layer.3.attention.query.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_key.weight",
                name: "onnx::MatMul_207",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_key.bias",
                name: "encoder.layer.3.attention.key.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_value.weight",
                name: "onnx::MatMul_211",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_value.bias",
                name: "encoder.layer.3.attention.value.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_output.weight",
                name: "onnx::MatMul_222",
                shape: &[4, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_output.bias",
                name: "encoder.layer.3.attention.output.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_norm.scale",
                name: "encoder.layer.3.attention.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.attention_norm.bias",
                name: "encoder.layer.3.attention.norm.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.up.weight",
                name: "onnx::MatMul_226",
                shape: &[4, 6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.up.bias",
                name: "encoder.layer.3.up.bias",
                shape: &[6],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.down.weight",
                name: "onnx::MatMul_233",
                shape: &[6, 4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.down.bias",
                name: "encoder.layer.3.down.bias",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.norm.scale",
                name: "encoder.layer.3.norm.weight",
                shape: &[4],
                trained: true,
            },
            Parameter {
                path: "encoder.layers.3.norm.bias",
                name: "encoder.layer.3.norm.bias",
                shape: &[4],
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
            let device = device(&self.norm);
            let output = self
                .forward(ModelInput {
                    hidden: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    mask: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Modules `encoder.layer.0`, `encoder.layer.1`, `encoder.layer.2`, `encoder.layer.3` of the model.
    #[derive(Module, Debug)]
    struct EncoderLayer {
        attention_query: layers::Linear,
        attention_key: layers::Linear,
        attention_value: layers::Linear,
        attention_output: layers::Linear,
        attention_norm: layers::LayerNorm<1>,
        up: layers::Linear,
        down: layers::Linear,
        norm: layers::LayerNorm<1>,
    }
    impl EncoderLayer {
        #[inline(never)]
        fn forward(&self, x: Tensor<3>, mask: Tensor<4>) -> Tensor<3> {
            let query = self.attention_query.forward(x.clone());
            let key = self.attention_key.forward(x.clone());
            let value = self.attention_value.forward(x.clone());
            let attention = ops::attention::merge_heads(
                ops::attention::joined_attention(
                    ops::attention::split_heads(query, 2),
                    ops::attention::split_heads(key, 2),
                    ops::attention::split_heads(value, 2),
                    vec![ops::attention::ScoreMask::Added(mask)],
                    ops::attention::JoinedAttention {
                        scale: 0.70710677,
                        undefined_as_zero: false,
                    },
                ),
            );
            let x = self.attention_output.forward_add(attention, x);
            let x = self.attention_norm.forward(x);
            let up = self.up.forward(x.clone());
            let x = self.down.forward_add(up, x);
            self.norm.forward(x)
        }
        fn load(weights: &Weights<'_>, names: [&'static str; 16]) -> Self {
            let [attention_query_weight, attention_query_bias, attention_key_weight,
            attention_key_bias, attention_value_weight, attention_value_bias,
            attention_output_weight, attention_output_bias, attention_norm_weight,
            attention_norm_bias, up_weight, up_bias, down_weight, down_bias, norm_weight,
            norm_bias] = names;
            Self {
                attention_query: layers::Linear::load(
                    weights,
                    attention_query_weight,
                    Some(attention_query_bias),
                ),
                attention_key: layers::Linear::load(
                    weights,
                    attention_key_weight,
                    Some(attention_key_bias),
                ),
                attention_value: layers::Linear::load(
                    weights,
                    attention_value_weight,
                    Some(attention_value_bias),
                ),
                attention_output: layers::Linear::load(
                    weights,
                    attention_output_weight,
                    Some(attention_output_bias),
                ),
                attention_norm: layers::LayerNorm::load(
                    weights,
                    attention_norm_weight,
                    Some(attention_norm_bias),
                    2,
                    1e-12,
                ),
                up: layers::Linear::load(weights, up_weight, Some(up_bias))
                    .activation(Activation::Gelu),
                down: layers::Linear::load(weights, down_weight, Some(down_bias)),
                norm: layers::LayerNorm::load(
                    weights,
                    norm_weight,
                    Some(norm_bias),
                    2,
                    1e-12,
                ),
            }
        }
    }
    /// Module `encoder` of the model.
    #[derive(Module, Debug)]
    struct Encoder {
        layers: [EncoderLayer; 4],
    }
    impl Encoder {
        #[inline(never)]
        fn forward(&self, x: Tensor<3>, mask: Tensor<4>) -> Tensor<3> {
            let mut x = x;
            for layer in &self.layers {
                x = layer.forward(x, mask.clone());
            }
            x
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                layers: weights.each("onnx::MatMul_101", EncoderLayer::load),
            }
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/four_layers.onnx"), 15635)]
    }
}
