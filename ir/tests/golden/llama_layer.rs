#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Activation, Node, Outputs, attempt, attempt_async, device, embedded, entry,
        from_file, layers, ops, printed, take, vec,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `hidden_states`: float32[batch, sequence, 16]
        pub hidden_states: Tensor<3>,
        /// `attention_mask`: float32[batch, 1, sequence, total]
        pub attention_mask: Tensor<4>,
        /// `cos`: float32[batch, sequence, 4]
        pub cos: Tensor<3>,
        /// `sin`: float32[batch, sequence, 4]
        pub sin: Tensor<3>,
        /// `past_key`: float32[batch, 2, past, 4]
        pub past_key: Tensor<4>,
        /// `past_value`: float32[batch, 2, past, 4]
        pub past_value: Tensor<4>,
    }
    printed!(
        ModelInput { hidden_states, attention_mask, cos, sin, past_key, past_value }
    );
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `output`: float32[batch, sequence, 16]
        pub output: Tensor<3>,
        /// `present_key`: float32[batch, 2, sequence + past, 4]
        pub present_key: Tensor<4>,
        /// `present_value`: float32[batch, 2, sequence + past, 4]
        pub present_value: Tensor<4>,
    }
    printed!(ModelOutput { output, present_key, present_value });
    /// Compiled from `llama_layer.onnx`: IR version 8, ai.onnx 17, produced by pytorch.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `hidden_states` | float32[batch, sequence, 16] |
    /// | input | `attention_mask` | float32[batch, 1, sequence, total] |
    /// | input | `cos` | float32[batch, sequence, 4] |
    /// | input | `sin` | float32[batch, sequence, 4] |
    /// | input | `past_key` | float32[batch, 2, past, 4] |
    /// | input | `past_value` | float32[batch, 2, past, 4] |
    /// | output | `output` | float32[batch, sequence, 16] |
    /// | output | `present_key` | float32[batch, 2, sequence + past, 4] |
    /// | output | `present_value` | float32[batch, 2, sequence + past, 4] |
    ///
    /// Its weights have 1,952 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { output, present_key, present_value } = model.forward(ModelInput { hidden_states, attention_mask, cos, sin, past_key, past_value });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        input_layernorm: layers::RmsNorm<1>,
        self_attn: SelfAttn,
        post_attention_layernorm: layers::RmsNorm<1>,
        mlp: Mlp,
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
        /// Runs the model: `hidden_states`: float32[batch, sequence, 16], `attention_mask`: float32[batch, 1, sequence, total], `cos`: float32[batch, sequence, 4], `sin`: float32[batch, sequence, 4], `past_key`: float32[batch, 2, past, 4], `past_value`: float32[batch, 2, past, 4] → `output`: float32[batch, sequence, 16], `present_key`: float32[batch, 2, sequence + past, 4], `present_value`: float32[batch, 2, sequence + past, 4].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput {
                hidden_states,
                attention_mask,
                cos,
                sin,
                past_key,
                past_value,
            } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let hidden_states = entry.float("hidden_states", hidden_states);
            let attention_mask = entry.float("attention_mask", attention_mask);
            let cos = entry.float("cos", cos);
            let sin = entry.float("sin", sin);
            let past_key = entry.float("past_key", past_key);
            let past_value = entry.float("past_value", past_value);
            let x = self.input_layernorm.forward(hidden_states.clone());
            let (present_key, present_value, x) = self
                .self_attn
                .forward(
                    x,
                    cos,
                    sin,
                    past_key,
                    past_value,
                    attention_mask,
                    hidden_states,
                );
            let y = self.post_attention_layernorm.forward(x.clone());
            let output = self.mlp.forward(y, x);
            ModelOutput {
                output,
                present_key,
                present_value,
            }
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
                input_layernorm: layers::RmsNorm::load(
                    weights,
                    "layers.0.input_layernorm.weight",
                    2,
                    1e-6,
                ),
                self_attn: SelfAttn::load(weights),
                post_attention_layernorm: layers::RmsNorm::load(
                    weights,
                    "layers.0.post_attention_layernorm.weight",
                    2,
                    1e-6,
                ),
                mlp: Mlp::load(weights),
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
                            Size::Fixed(16),
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
                            Size::Named("sequence"),
                            Size::Named("total"),
                        ],
                    },
                },
                Port {
                    name: "cos",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("sequence"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "sin",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("sequence"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "past_key",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(2),
                            Size::Named("past"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "past_value",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(2),
                            Size::Named("past"),
                            Size::Fixed(4),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "output",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("sequence"),
                            Size::Fixed(16),
                        ],
                    },
                },
                Port {
                    name: "present_key",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(2),
                            Size::Named("sequence + past"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "present_value",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(2),
                            Size::Named("sequence + past"),
                            Size::Fixed(4),
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
                path: "input_layernorm.scale",
                name: "layers.0.input_layernorm.weight",
                shape: &[16],
                trained: true,
            },
            Parameter {
                path: "self_attn.q_proj.weight",
                name: "onnx::MatMul_q",
                shape: &[16, 16],
                trained: true,
            },
            Parameter {
                path: "self_attn.k_proj.weight",
                name: "onnx::MatMul_k",
                shape: &[16, 8],
                trained: true,
            },
            Parameter {
                path: "self_attn.v_proj.weight",
                name: "onnx::MatMul_v",
                shape: &[16, 8],
                trained: true,
            },
            Parameter {
                path: "self_attn.o_proj.weight",
                name: "onnx::MatMul_o",
                shape: &[16, 16],
                trained: true,
            },
            Parameter {
                path: "post_attention_layernorm.scale",
                name: "layers.0.post_attention_layernorm.weight",
                shape: &[16],
                trained: true,
            },
            Parameter {
                path: "mlp.gate_proj.weight",
                name: "onnx::MatMul_gate",
                shape: &[16, 24],
                trained: true,
            },
            Parameter {
                path: "mlp.up_proj.weight",
                name: "onnx::MatMul_up",
                shape: &[16, 24],
                trained: true,
            },
            Parameter {
                path: "mlp.down_proj.weight",
                name: "onnx::MatMul_down",
                shape: &[24, 16],
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
            let device = device(&self.input_layernorm);
            let output = self
                .forward(ModelInput {
                    hidden_states: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    attention_mask: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                    cos: take(inputs, &Self::SIGNATURE.inputs[2], &device)?,
                    sin: take(inputs, &Self::SIGNATURE.inputs[3], &device)?,
                    past_key: take(inputs, &Self::SIGNATURE.inputs[4], &device)?,
                    past_value: take(inputs, &Self::SIGNATURE.inputs[5], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.output)
                    .with(&Self::SIGNATURE.outputs[1], output.present_key)
                    .with(&Self::SIGNATURE.outputs[2], output.present_value),
            )
        }
    }
    /// Module `layers.0.self_attn` of the model.
    #[derive(Module, Debug)]
    struct SelfAttn {
        q_proj: layers::Linear,
        k_proj: layers::Linear,
        v_proj: layers::Linear,
        joined_attention: Node,
        o_proj: layers::Linear,
    }
    impl SelfAttn {
        #[inline(never)]
        fn forward(
            &self,
            x: Tensor<3>,
            cos: Tensor<3>,
            sin: Tensor<3>,
            past_key: Tensor<4>,
            past_value: Tensor<4>,
            attention_mask: Tensor<4>,
            residual: Tensor<3>,
        ) -> (Tensor<4>, Tensor<4>, Tensor<3>) {
            let [batch, sequence, _] = x.dims();
            let q = self
                .q_proj
                .forward(x.clone())
                .reshape([batch, sequence, 4, 4])
                .swap_dims(1, 2);
            let k = self
                .k_proj
                .forward(x.clone())
                .reshape([batch, sequence, 2, 4])
                .swap_dims(1, 2);
            let v = self
                .v_proj
                .forward(x)
                .reshape([batch, sequence, 2, 4])
                .swap_dims(1, 2);
            let cos = ops::shape::insert_axis::<_, 4, _>(cos, 1);
            let sin = ops::shape::insert_axis::<_, 4, _>(sin, 1);
            let q = ops::rotary::rotate_pairs(q, cos.clone(), sin.clone(), false);
            let k = ops::rotary::rotate_pairs(k, cos, sin, false);
            let present_key = ops::append::append(past_key, k, 2);
            let present_value = ops::append::append(past_value, v, 2);
            let attention = self
                .joined_attention
                .run(|| ops::attention::merge_heads(
                    ops::attention::joined_attention(
                        q,
                        present_key.clone(),
                        present_value.clone(),
                        vec![ops::attention::ScoreMask::Added(attention_mask)],
                        ops::attention::JoinedAttention {
                            scale: 0.5,
                            undefined_as_zero: false,
                        },
                    ),
                ));
            let x = self.o_proj.forward_add(attention, residual);
            (present_key, present_value, x)
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                q_proj: layers::Linear::load(weights, "onnx::MatMul_q", None),
                k_proj: layers::Linear::load(weights, "onnx::MatMul_k", None),
                v_proj: layers::Linear::load(weights, "onnx::MatMul_v", None),
                joined_attention: Node::new(
                    "/layers.0/self_attn/Reshape_5",
                    "JoinedAttention",
                ),
                o_proj: layers::Linear::load(weights, "onnx::MatMul_o", None),
            }
        }
    }
    /// Module `layers.0.mlp` of the model.
    #[derive(Module, Debug)]
    struct Mlp {
        gate_proj: layers::Linear,
        up_proj: layers::Linear,
        down_proj: layers::Linear,
    }
    impl Mlp {
        #[inline(never)]
        fn forward(&self, x: Tensor<3>, residual: Tensor<3>) -> Tensor<3> {
            let gate = self.gate_proj.forward(x.clone());
            self.down_proj.forward_add(gate * self.up_proj.forward(x), residual)
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                gate_proj: layers::Linear::load(weights, "onnx::MatMul_gate", None)
                    .activation(Activation::Silu),
                up_proj: layers::Linear::load(weights, "onnx::MatMul_up", None),
                down_proj: layers::Linear::load(weights, "onnx::MatMul_down", None),
            }
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/llama_layer.onnx"), 39589)]
    }
}
