#[allow(unused_imports)]
pub use model_onnx::Model;
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Activation, Outputs, attempt, attempt_async, device, embedded, entry, from_file,
        layers, ops, take, vec,
    };
    use ::onnx_embed::__private::ops::window::Window;
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Compiled from `yolo_head.onnx`: IR version 8, ai.onnx 17, produced by pytorch.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `features` | float32[batch, 8, 4, 4] |
    /// | output | `output0` | float32[batch, 7, 16] |
    ///
    /// Its weights have 1,407 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let output0 = model.forward(features);
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        cv2_0_0_conv: layers::Conv2d,
        cv2_0_2: layers::Conv2d,
        cv3_0_0_conv: layers::Conv2d,
        cv3_0_2: layers::Conv2d,
        dfl: Dfl,
        constant: Tensor<3>,
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
        /// Runs the model: `features`: float32[batch, 8, 4, 4] → `output0`: float32[batch, 7, 16].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `features` does not have shape [batch, 8, 4, 4], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, features: Tensor<4>) -> Tensor<3> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let features = entry.float("features", features);
            if let Some(parts) = ops::batch::in_parts(
                &features,
                0,
                19,
                |rows| self.forward(rows.of(&features, 0)),
            ) {
                return ops::batch::joined(parts, 0);
            }
            let [batch, _, _, _] = features.dims();
            let x = self.cv2_0_0_conv.forward(features.clone());
            let x = self.cv2_0_2.forward(x);
            let y = self.cv3_0_0_conv.forward(features);
            let y = self.cv3_0_2.forward(y);
            let x = ops::stack::concat(vec![x, y], 1).reshape([batch, 19, 16]);
            let [x, y] = ops::slice::split(x, 1, [16, 3]);
            let x = self.dfl.forward(x);
            let z = x.clone().slice_dim(1, ..2);
            let x = x.slice_dim(1, 2..4);
            let z = self.constant.clone() - z;
            let x = self.constant.clone() + x;
            let w = (z.clone() + x.clone()) / 2.0;
            let x = ops::stack::concat(vec![w, x - z], 1) * 8.0;
            let y = ops::elementary::sigmoid(y);
            ops::stack::concat(vec![x, y], 1)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `features` does not have shape [batch, 8, 4, 4], or if a node cannot process the data.
        pub fn try_forward(&self, features: Tensor<4>) -> Result<Tensor<3>, Error> {
            attempt(|| Ok(self.forward(features)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, features: Tensor<4>) -> Tensor<3> {
            self.forward(features)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If `features` does not have shape [batch, 8, 4, 4], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            features: Tensor<4>,
        ) -> Result<Tensor<3>, Error> {
            attempt_async(async { Ok(self.forward_async(features).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                cv2_0_0_conv: layers::Conv2d::load(
                        weights,
                        "model.22.cv2.0.0.conv.weight",
                        Some("model.22.cv2.0.0.conv.bias"),
                        Window::new([3, 3]).pads([(1, 1), (1, 1)]),
                        1,
                    )
                    .activation(Activation::Silu),
                cv2_0_2: layers::Conv2d::load(
                    weights,
                    "model.22.cv2.0.2.weight",
                    Some("model.22.cv2.0.2.bias"),
                    Window::new([1, 1]),
                    1,
                ),
                cv3_0_0_conv: layers::Conv2d::load(
                        weights,
                        "model.22.cv3.0.0.conv.weight",
                        Some("model.22.cv3.0.0.conv.bias"),
                        Window::new([3, 3]).pads([(1, 1), (1, 1)]),
                        1,
                    )
                    .activation(Activation::Silu),
                cv3_0_2: layers::Conv2d::load(
                    weights,
                    "model.22.cv3.0.2.weight",
                    Some("model.22.cv3.0.2.bias"),
                    Window::new([1, 1]),
                    1,
                ),
                dfl: Dfl::load(weights),
                constant: weights.tensor::<3>("/model.22/Constant_11_output_0"),
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
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(8),
                            Size::Fixed(4),
                            Size::Fixed(4),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "output0",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(7), Size::Fixed(16)],
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
                path: "cv2_0_0_conv.weight",
                name: "model.22.cv2.0.0.conv.weight",
                shape: &[8, 8, 3, 3],
                trained: true,
            },
            Parameter {
                path: "cv2_0_0_conv.bias",
                name: "model.22.cv2.0.0.conv.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "cv2_0_2.weight",
                name: "model.22.cv2.0.2.weight",
                shape: &[16, 8, 1, 1],
                trained: true,
            },
            Parameter {
                path: "cv2_0_2.bias",
                name: "model.22.cv2.0.2.bias",
                shape: &[16],
                trained: true,
            },
            Parameter {
                path: "cv3_0_0_conv.weight",
                name: "model.22.cv3.0.0.conv.weight",
                shape: &[8, 8, 3, 3],
                trained: true,
            },
            Parameter {
                path: "cv3_0_0_conv.bias",
                name: "model.22.cv3.0.0.conv.bias",
                shape: &[8],
                trained: true,
            },
            Parameter {
                path: "cv3_0_2.weight",
                name: "model.22.cv3.0.2.weight",
                shape: &[3, 8, 1, 1],
                trained: true,
            },
            Parameter {
                path: "cv3_0_2.bias",
                name: "model.22.cv3.0.2.bias",
                shape: &[3],
                trained: true,
            },
            Parameter {
                path: "dfl.conv.weight",
                name: "model.22.dfl.conv.weight",
                shape: &[1, 4, 1, 1],
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
            let device = device(&self.cv2_0_0_conv);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Module `model.22.dfl` of the model.
    #[derive(Module, Debug)]
    struct Dfl {
        conv: layers::Conv2d,
    }
    impl Dfl {
        #[inline(never)]
        fn forward(&self, x: Tensor<3>) -> Tensor<3> {
            let [batch, _, _] = x.dims();
            let x = ops::shape::reshape(x, [batch, 4, 4, 16]).swap_dims(1, 2);
            let x = ops::softmax::softmax(x, 1);
            self.conv.forward(x).reshape([batch, 4, 16])
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                conv: layers::Conv2d::load(
                    weights,
                    "model.22.dfl.conv.weight",
                    None,
                    Window::new([1, 1]),
                    1,
                ),
            }
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/yolo_head.onnx"), 14851)]
    }
}
