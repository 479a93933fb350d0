#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Int, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Outputs, attempt, attempt_async, device, embedded, entry, from_file, layers, ops,
        printed, take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `x`: float32[n, 130]
        pub x: Tensor<2>,
        /// `a`: uint8[n_2, 130]
        pub a: Tensor<2, Int>,
        /// `b`: uint8[n_3, 130]
        pub b: Tensor<2, Int>,
    }
    printed!(ModelInput { x, a, b });
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `y`: float32[n, 130]
        pub y: Tensor<2>,
        /// `s`: int32[n_2, 130]
        pub s: Tensor<2, Int>,
        /// `t`: int32[n_3, 130]
        pub t: Tensor<2, Int>,
        /// `u`: int32[n_2, 130]
        pub u: Tensor<2, Int>,
        /// `v`: int32[n_3, 130]
        pub v: Tensor<2, Int>,
    }
    printed!(ModelOutput { y, s, t, u, v });
    /// Compiled from `shared_weights.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `x` | float32[n, 130] |
    /// | input | `a` | uint8[n_2, 130] |
    /// | input | `b` | uint8[n_3, 130] |
    /// | output | `y` | float32[n, 130] |
    /// | output | `s` | int32[n_2, 130] |
    /// | output | `t` | int32[n_3, 130] |
    /// | output | `u` | int32[n_2, 130] |
    /// | output | `v` | int32[n_3, 130] |
    ///
    /// Its weights have 67,600 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { y, s, t, u, v } = model.forward(ModelInput { x, a, b });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        first: layers::Linear,
        second: layers::Linear,
        third_weight: Tensor<2, Int>,
        third: layers::SharedQuantizedWeight,
        fourth_weight: Tensor<2, Int>,
        fourth: layers::SharedQuantizedWeight,
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
        /// Runs the model: `x`: float32[n, 130], `a`: uint8[n_2, 130], `b`: uint8[n_3, 130] → `y`: float32[n, 130], `s`: int32[n_2, 130], `t`: int32[n_3, 130], `u`: int32[n_2, 130], `v`: int32[n_3, 130].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput { x, a, b } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let x = entry.float("x", x);
            let a = entry.int("a", a);
            let b = entry.int("b", b);
            let x = self.first.forward(x);
            let x = self.first.forward(x);
            let x = self.second.forward(x);
            let y = self.second.forward(x);
            let s = ops::quantize::matmul_integer::<
                _,
                _,
                2,
            >(a.clone(), self.third.weight(self.third_weight.clone()), (None, None));
            let t = ops::quantize::matmul_integer::<
                _,
                _,
                2,
            >(b.clone(), self.third.weight(self.third_weight.clone()), (None, None));
            let u = ops::quantize::matmul_integer::<
                _,
                _,
                2,
            >(a, self.fourth.weight(self.fourth_weight.clone()), (None, None));
            let v = ops::quantize::matmul_integer::<
                _,
                _,
                2,
            >(b, self.fourth.weight(self.fourth_weight.clone()), (None, None));
            ModelOutput { y, s, t, u, v }
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
                first: layers::Linear::load(weights, "first.weight", None),
                second: layers::Linear::load(weights, "second.weight", None),
                third_weight: weights.int::<2>("third.weight"),
                third: layers::SharedQuantizedWeight::new(),
                fourth_weight: weights.int::<2>("fourth.weight"),
                fourth: layers::SharedQuantizedWeight::new(),
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
                    name: "x",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(130)],
                    },
                },
                Port {
                    name: "a",
                    kind: ValueType::Tensor {
                        dtype: ElementType::UInt8,
                        sizes: &[Size::Named("n_2"), Size::Fixed(130)],
                    },
                },
                Port {
                    name: "b",
                    kind: ValueType::Tensor {
                        dtype: ElementType::UInt8,
                        sizes: &[Size::Named("n_3"), Size::Fixed(130)],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "y",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(130)],
                    },
                },
                Port {
                    name: "s",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int32,
                        sizes: &[Size::Named("n_2"), Size::Fixed(130)],
                    },
                },
                Port {
                    name: "t",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int32,
                        sizes: &[Size::Named("n_3"), Size::Fixed(130)],
                    },
                },
                Port {
                    name: "u",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int32,
                        sizes: &[Size::Named("n_2"), Size::Fixed(130)],
                    },
                },
                Port {
                    name: "v",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int32,
                        sizes: &[Size::Named("n_3"), Size::Fixed(130)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "shared",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "first.weight",
                name: "first.weight",
                shape: &[130, 130],
                trained: true,
            },
            Parameter {
                path: "second.weight",
                name: "second.weight",
                shape: &[130, 130],
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
            let device = device(&self.first);
            let output = self
                .forward(ModelInput {
                    x: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    a: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                    b: take(inputs, &Self::SIGNATURE.inputs[2], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.y)
                    .with(&Self::SIGNATURE.outputs[1], output.s)
                    .with(&Self::SIGNATURE.outputs[2], output.t)
                    .with(&Self::SIGNATURE.outputs[3], output.u)
                    .with(&Self::SIGNATURE.outputs[4], output.v),
            )
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/shared_weights.onnx"), 169602)]
    }
}
