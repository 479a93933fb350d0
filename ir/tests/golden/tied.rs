#[allow(unused_imports)]
pub use model_onnx::Model;
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Int, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Outputs, attempt, attempt_async, device, embedded, entry, from_file, layers, ops,
        take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::{Module, Param};
    /// Compiled from `tied.onnx`: IR version 10, ai.onnx 21, com.microsoft 1.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `ids` | int64[n] |
    /// | output | `scores` | float32[n, 1024] |
    ///
    /// Its weights have 33,792 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let scores = model.forward(ids);
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        rows: Tensor<2, Int>,
        head_scales: Param<Tensor<2>>,
        head: layers::MatMulNBits,
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
        /// Runs the model: `ids`: int64[n] → `scores`: float32[n, 1024].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `ids` does not have shape [n], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, ids: Tensor<1, Int>) -> Tensor<2> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let ids = entry.int("ids", ids);
            let x = ops::quantize::gather_int::<
                _,
                _,
                2,
            >(
                self.rows.clone(),
                ids,
                self.head_scales.val(),
                None,
                &ops::quantize::Gather {
                    axis: 0,
                    blocks_axis: 1,
                    block: 32,
                    bits: 8,
                    zero: 128,
                },
            );
            let x = ops::activation::relu(x);
            self.head.forward(x)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `ids` does not have shape [n], or if a node cannot process the data.
        pub fn try_forward(&self, ids: Tensor<1, Int>) -> Result<Tensor<2>, Error> {
            attempt(|| Ok(self.forward(ids)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, ids: Tensor<1, Int>) -> Tensor<2> {
            self.forward(ids)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If `ids` does not have shape [n], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            ids: Tensor<1, Int>,
        ) -> Result<Tensor<2>, Error> {
            attempt_async(async { Ok(self.forward_async(ids).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                rows: weights.int::<3>("head.codes").reshape([1024, 32]),
                head_scales: weights.float::<2>("head.scales"),
                head: layers::MatMulNBits::load(
                    weights,
                    ["head.codes", "head.scales"],
                    None,
                    None,
                    None,
                    ops::quantize::Blocks {
                        inputs: 32,
                        outputs: 1024,
                        bits: 8,
                        size: 32,
                    },
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
                    name: "ids",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[Size::Named("n")],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "scores",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(1024)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "tied",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "head_scales",
                name: "head.scales",
                shape: &[1024, 1],
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
            let device = device(&self.rows);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/tied.onnx"), 37361)]
    }
}
