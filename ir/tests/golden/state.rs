#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput, ModelState};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Kept, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Anchor, Outputs, attempt, attempt_async, device, embedded, entry, from_file, ops,
        printed, state, take,
    };
    use ::onnx_embed::__private::weights::{File, Table, WeightSource, Weights};
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `x`: float32[batch, n, 4]
        pub x: Tensor<3>,
        /// `cache`: float32[batch, past, 4]
        pub cache: Tensor<3>,
        /// `h`: float32[batch, 4]
        pub h: Tensor<2>,
    }
    printed!(ModelInput { x, cache, h });
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `next_cache`: float32[batch, past + n, 4]
        pub next_cache: Tensor<3>,
        /// `y`: float32[batch, n, 4]
        pub y: Tensor<3>,
        /// `hn`: float32[batch, 4]
        pub hn: Tensor<2>,
    }
    printed!(ModelOutput { next_cache, y, hn });
    /// State of [`Model`] between two calls of [`Model::step`].
    #[derive(Clone, Debug)]
    pub struct ModelState {
        /// `cache`: float32[batch, past, 4], then `next_cache`
        pub cache: Kept<3>,
        /// `h`: float32[batch, 4], then `hn`
        pub h: Kept<2>,
    }
    state!(ModelState { cache, h }, grows);
    /// Compiled from `state.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `x` | float32[batch, n, 4] |
    /// | input | `cache` | float32[batch, past, 4] |
    /// | input | `h` | float32[batch, 4] |
    /// | output | `next_cache` | float32[batch, past + n, 4] |
    /// | output | `y` | float32[batch, n, 4] |
    /// | output | `hn` | float32[batch, 4] |
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { next_cache, y, hn } = model.forward(ModelInput { x, cache, h });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
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
        /// Runs the model: `x`: float32[batch, n, 4], `cache`: float32[batch, past, 4], `h`: float32[batch, 4] → `next_cache`: float32[batch, past + n, 4], `y`: float32[batch, n, 4], `hn`: float32[batch, 4].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput { x, cache, h } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let x = entry.float("x", x);
            let cache = entry.float("cache", cache);
            let h = entry.float("h", h);
            let next_cache = ops::append::append(cache, x.clone(), 1);
            let mean = ops::reduce::reduce_mean::<_, 3, _>(next_cache.clone(), &[1]);
            let hn = ops::reduce::reduce_mean::<_, 2, _>(x.clone(), &[1]) + h;
            let row = hn.clone().unsqueeze_dim::<3>(1);
            let y = x + mean + row;
            ModelOutput { next_cache, y, hn }
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
        /// Returns the state before the first step: zeros, and nothing along axes that grow.
        pub fn state(&self, batch: usize) -> ModelState {
            let device = device(&self.anchor);
            ModelState {
                cache: Kept::new(
                    &Self::SIGNATURE.inputs[1],
                    [batch, 0, 4],
                    Some(1),
                    &device,
                ),
                h: Kept::new(&Self::SIGNATURE.inputs[2], [batch, 4], None, &device),
            }
        }
        /// Runs the model like [`forward`](Self::forward) with a state, which becomes that of the next step.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_step`](Self::try_step) returns an error instead.
        pub fn step(&self, state: &mut ModelState, x: Tensor<3>) -> Tensor<3> {
            let ModelOutput { next_cache, y, hn } = self
                .forward(ModelInput {
                    x,
                    cache: state.cache.take(),
                    h: state.h.take(),
                });
            state.cache.set(next_cache);
            state.h.set(hn);
            y
        }
        /// Runs the model like [`step`](Self::step) and returns an error instead of panicking. After an error, the
        /// state is that before the first step.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub fn try_step(
            &self,
            state: &mut ModelState,
            x: Tensor<3>,
        ) -> Result<Tensor<3>, Error> {
            attempt(|| Ok(self.step(state, x))).inspect_err(|_| state.reset())
        }
        /// Runs the model like [`step`](Self::step) on a thread that must not block, as in a browser.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_step_async`](Self::try_step_async) returns an error instead.
        pub async fn step_async(
            &self,
            state: &mut ModelState,
            x: Tensor<3>,
        ) -> Tensor<3> {
            let ModelOutput { next_cache, y, hn } = self
                .forward_async(ModelInput {
                    x,
                    cache: state.cache.take(),
                    h: state.h.take(),
                })
                .await;
            state.cache.set(next_cache);
            state.h.set(hn);
            y
        }
        /// Runs the model like [`step_async`](Self::step_async) and returns an error instead of panicking. After an
        /// error, the state is that before the first step.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub async fn try_step_async(
            &self,
            state: &mut ModelState,
            x: Tensor<3>,
        ) -> Result<Tensor<3>, Error> {
            let result = attempt_async(async { Ok(self.step_async(state, x).await) })
                .await;
            result.inspect_err(|_| state.reset())
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
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
                    name: "x",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Named("n"), Size::Fixed(4)],
                    },
                },
                Port {
                    name: "cache",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("past"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "h",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(4)],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "next_cache",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("past + n"),
                            Size::Fixed(4),
                        ],
                    },
                },
                Port {
                    name: "y",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Named("n"), Size::Fixed(4)],
                    },
                },
                Port {
                    name: "hn",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(4)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "streaming",
            opset: 21,
            ..Metadata::EMPTY
        };
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
                .forward(ModelInput {
                    x: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    cache: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                    h: take(inputs, &Self::SIGNATURE.inputs[2], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.next_cache)
                    .with(&Self::SIGNATURE.outputs[1], output.y)
                    .with(&Self::SIGNATURE.outputs[2], output.hn),
            )
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/state.onnx"), 485)]
    }
}
